package mask

import (
	"errors"
	"io"
)

// errClosed is returned for a write after Close.
var errClosed = errors.New("write to a closed mask")

// writer masks a stream. Offsets count from the beginning of the stream.
//
// The automaton knows the longest prefix of a pattern that the input ends with. A later
// match cannot begin before that prefix, so that all bytes before it are written at once.
type writer struct {
	w         io.Writer
	masker    *Masker
	automaton *automaton // of the masker, when something was last written

	at      int32  // the automaton's node
	read    int64  // bytes read
	written int64  // bytes processed: written, or replaced
	held    []byte // bytes from written to read, at the end of buffer
	buffer  []byte
	spans   []span // matches not processed yet, sorted, without overlap
	out     []byte // output that is not written yet
	err     error  // the first error; every later call returns it
}

// span is a part of the stream that overlapping matches cover.
type span struct {
	from, to int64
	replaced bool // its replacement is written, even if the span grows
}

// Write implements io.Writer. A short write of the underlying writer is an error for all of
// p, because the written part of p is unknown.
func (w *writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.adoptValues()
	w.findMatches(p)
	w.buffer = append(append(w.buffer[:0], w.held...), p...)
	w.held = w.buffer
	w.processUpTo(w.read - int64(w.automaton.nodes[w.at].open))
	if w.flush(); w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close writes the bytes that were held back.
func (w *writer) Close() error {
	if errors.Is(w.err, errClosed) {
		return nil
	}
	if w.err != nil {
		return w.err
	}
	w.adoptValues()
	w.processUpTo(w.read)
	if w.flush(); w.err != nil {
		return w.err
	}
	w.err = errClosed
	return nil
}

// findMatches runs the automaton over p and records the matches.
func (w *writer) findMatches(p []byte) {
	a, at := w.automaton, w.at
	for i, b := range p {
		if at == 0 {
			if at = a.root[b]; at == 0 {
				continue
			}
		} else {
			at = a.advance(at, b)
		}
		if length := a.nodes[at].longest; length > 0 {
			end := w.read + int64(i) + 1
			w.addMatch(end-int64(length), end)
		}
	}
	w.at = at
	w.read += int64(len(p))
}

// adoptValues searches the bytes that are held back again, if values were added to the
// masker. It keeps the match whose replacement is written, because that match begins before
// these bytes.
func (w *writer) adoptValues() {
	current := w.masker.automaton.Load()
	if current == w.automaton {
		return
	}
	if len(w.spans) > 0 && w.spans[0].replaced {
		w.spans = w.spans[:1]
	} else {
		w.spans = nil
	}
	w.automaton, w.at, w.read = current, 0, w.written
	w.findMatches(w.held)
}

// addMatch adds a match that ends after all others, except after the one that adoptValues
// keeps. Overlapping matches become one span, so that no part of either is written.
func (w *writer) addMatch(from, to int64) {
	replaced := false
	for n := len(w.spans); n > 0 && w.spans[n-1].to > from; n-- {
		from, to = min(from, w.spans[n-1].from), max(to, w.spans[n-1].to)
		replaced = replaced || w.spans[n-1].replaced
		w.spans = w.spans[:n-1]
	}
	w.spans = append(w.spans, span{from, to, replaced})
}

// processUpTo processes the bytes before the offset end.
func (w *writer) processUpTo(end int64) {
	for len(w.spans) > 0 && w.spans[0].from < end {
		first := &w.spans[0]
		if !first.replaced {
			w.writeUpTo(first.from)
			w.out = append(w.out, Replacement...)
			first.replaced = true
		}
		w.skipUpTo(min(first.to, end))
		if first.to > end {
			return
		}
		w.spans = w.spans[1:]
	}
	w.writeUpTo(end)
}

// writeUpTo outputs the bytes before the offset to unchanged.
func (w *writer) writeUpTo(to int64) {
	if to > w.written {
		w.out = append(w.out, w.held[:to-w.written]...)
		w.skipUpTo(to)
	}
}

// skipUpTo omits the bytes before the offset to.
func (w *writer) skipUpTo(to int64) {
	if to > w.written {
		w.held = w.held[to-w.written:]
		w.written = to
	}
}

func (w *writer) flush() {
	if len(w.out) == 0 {
		return
	}
	n, err := w.w.Write(w.out)
	if err == nil && n < len(w.out) {
		err = io.ErrShortWrite
	}
	w.err = err
	w.out = w.out[:0]
}
