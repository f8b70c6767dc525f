package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Detector looks for something in the bytes that are written to it.
type Detector interface {
	io.Writer
	Found() bool // in what was written so far
}

// errRefused says that a file holds what may not be kept.
var errRefused = errors.New("holds what may not be kept")

// refusal knows which contents may not be kept.
type refusal struct {
	detector func() Detector
	mu       sync.Mutex
	found    map[string]bool // by digest: what was scanned, and whether it is refused
}

// Refuse has Keep and Capture leave out files in which a detector finds
// something: nothing of them is kept, and they are named with what was left
// out. Bytes that git has already, or that were kept before, stay. It is to be
// called before the workspace is used.
func (w *Workspace) Refuse(detector func() Detector) {
	w.refusal = &refusal{detector: detector, found: map[string]bool{}}
}

// note remembers what a scan of a content found.
func (r *refusal) note(digest string, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found[digest] = found
}

// of returns what a scan of a content found, if there was one.
func (r *refusal) of(digest string) (found, scanned bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, scanned = r.found[digest]
	return found, scanned
}

// guarded reads until something is found. The piece in which it is found is
// not passed on, so that nothing complete ever is.
type guarded struct {
	r io.Reader
	d Detector
}

func (g *guarded) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	if n > 0 {
		if _, failed := g.d.Write(p[:n]); failed != nil {
			return 0, failed
		}
		if g.d.Found() {
			clear(p[:n])
			return 0, errRefused
		}
	}
	return n, err
}

// guard makes a reader one that does not pass on what may not be kept.
func (w *Workspace) guard(r io.Reader) io.Reader {
	if w.refusal == nil {
		return r
	}
	return &guarded{r, w.refusal.detector()}
}

// scan reads a file, describes it, and remembers whether it may be kept.
func (w *Workspace) scan(ctx context.Context, at place, f *found, withBlob func(int64) bool) (refused bool, err error) {
	d := w.refusal.detector()
	if f.isLink() {
		_, err = io.WriteString(d, f.target)
		return d.Found(), err
	}
	err = w.hashInto(ctx, at, f, withBlob, d)
	if err == nil {
		w.refusal.note(f.entry.Digest, d.Found())
	}
	return d.Found(), err
}

// refuse moves the files that may not be kept to what is left out. Those that
// need no scan are the ones whose bytes git's index or the last capture has.
func (c *capture) refuse(ctx context.Context, leftOut []string) error {
	s, w := c.survey, c.w
	if w.refusal == nil {
		c.leaveOutAgain(leftOut)
		return nil
	}
	refused := make([]bool, len(s.files))
	err := w.each(ctx, len(s.files), 1+min(chunkSize, len(s.files)/16), func(ctx context.Context, dirs *cursor, i int) error {
		f := &s.files[i]
		if c.isKept(f) {
			return nil
		}
		if found, scanned := w.refusal.of(f.entry.Digest); scanned {
			refused[i] = found
			return nil
		}
		err := patient(ctx, func() error {
			dir, name, err := dirs.at(f.entry.Path)
			if err == nil {
				refused[i], err = w.scan(ctx, place{dir, native(name)}, &f.found, f.wantsBlob(w))
			}
			return err
		})
		refused[i] = err == nil && refused[i] && !c.isKept(f)
		return s.giveUp(f, err)
	})
	if err != nil {
		return fmt.Errorf("look for sensitive values: %w", err)
	}
	kept := s.files[:0]
	for i, f := range s.files {
		if refused[i] {
			s.leaveOut(f.entry.Path)
		} else {
			kept = append(kept, f)
		}
	}
	s.files = kept
	s.dropLost()
	return nil
}

// leaveOutAgain leaves out what the last capture refused, where nothing tells
// any more what to look for.
func (c *capture) leaveOutAgain(before []string) {
	s := c.survey
	s.files = slices.DeleteFunc(s.files, func(f surveyed) bool {
		path := f.entry.Path
		again := !c.w.secret.match(path) && slices.Contains(before, path) && !c.isKept(&f)
		if again {
			s.leaveOut(path)
		}
		return again
	})
}

// isKept reports whether a file's bytes are known, and kept already.
func (c *capture) isKept(f *surveyed) bool {
	if !f.known() {
		return false
	}
	last, ok := c.last[f.entry.Path]
	return f.index != "" && f.blob == f.index || ok && last.Digest == f.entry.Digest
}
