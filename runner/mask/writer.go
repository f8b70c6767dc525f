package mask

import (
	"errors"
	"io"
)

// errClosed is returned for a write after Close.
var errClosed = errors.New("write to a closed mask")

// writer masks a stream. Offsets count from its beginning.
//
// A match that is yet to come begins at the earliest where the longest beginning
// of a pattern begins that the automaton has recognised; everything before that
// offset is settled and is written at once.
type writer struct {
	w         io.Writer
	automaton *automaton

	at      int32  // the automaton's node
	read    int64  // bytes read
	written int64  // bytes dealt with: written, or replaced
	held    []byte // bytes from written to read, at the end of buffer
	buffer  []byte
	spans   []span // that are not dealt with, in order, without overlap
	out     []byte // to be written
	err     error  // the first; every later call returns it
}

// span is a part of the stream that is covered by matches which overlap.
type span struct {
	from, to int64
	replaced bool // its replacement is written, though it may still grow
}

// Write implements io.Writer. A short write of the underlying writer is an error
// for all of p: what of it came through can't be told.
func (w *writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.scan(p)
	w.buffer = append(append(w.buffer[:0], w.held...), p...)
	w.held = w.buffer
	w.settle(w.read - int64(w.automaton.nodes[w.at].open))
	if w.flush(); w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close writes what was held back.
func (w *writer) Close() error {
	if errors.Is(w.err, errClosed) {
		return nil
	}
	if w.err != nil {
		return w.err
	}
	w.settle(w.read)
	if w.flush(); w.err != nil {
		return w.err
	}
	w.err = errClosed
	return nil
}

// scan runs the automaton over p and notes the matches.
func (w *writer) scan(p []byte) {
	a, at := w.automaton, w.at
	for i, b := range p {
		if at == 0 {
			if at = a.root[b]; at == 0 {
				continue
			}
		} else {
			at = a.next(at, b)
		}
		if length := a.nodes[at].longest; length > 0 {
			end := w.read + int64(i) + 1
			w.cover(end-int64(length), end)
		}
	}
	w.at = at
	w.read += int64(len(p))
}

// cover adds a match, which ends behind all others. Matches that overlap become
// one span, so that no part of either shows.
func (w *writer) cover(from, to int64) {
	replaced := false
	for n := len(w.spans); n > 0 && w.spans[n-1].to > from; n-- {
		from = min(from, w.spans[n-1].from)
		replaced = replaced || w.spans[n-1].replaced
		w.spans = w.spans[:n-1]
	}
	w.spans = append(w.spans, span{from, to, replaced})
}

// settle deals with the bytes before the offset end.
func (w *writer) settle(end int64) {
	for len(w.spans) > 0 && w.spans[0].from < end {
		first := &w.spans[0]
		if !first.replaced {
			w.pass(first.from)
			w.out = append(w.out, Replacement...)
			first.replaced = true
		}
		w.drop(min(first.to, end))
		if first.to > end {
			return
		}
		w.spans = w.spans[1:]
	}
	w.pass(end)
}

// pass takes the bytes before the offset to over as they are.
func (w *writer) pass(to int64) {
	if to > w.written {
		w.out = append(w.out, w.held[:to-w.written]...)
		w.drop(to)
	}
}

// drop leaves the bytes before the offset to out.
func (w *writer) drop(to int64) {
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
