package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"prdrunner/checkpoint/workspace/tree"
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
	all      bool // it finds everything that may not be kept
	mu       sync.Mutex
	found    map[string]bool // by digest: what was scanned, and whether it is refused
}

// Refuse has Keep and Capture leave out files in which a detector finds
// something: nothing of them is kept, and they are named with what was left
// out. Bytes that git has already, or that were kept before, stay. It is to be
// called before the workspace is used.
//
// What was left out once for what it holds stays left out, whatever is looked
// for: the detector may not know of all that was looked for then.
func (w *Workspace) Refuse(detector func() Detector) {
	w.refusal = &refusal{detector: detector, found: map[string]bool{}}
}

// RefuseAll is Refuse with a detector that knows all that may not be kept now. A
// file that was left out is taken in again if it is known to hold something
// else than then, and nothing is found in that.
func (w *Workspace) RefuseAll(detector func() Detector) {
	w.Refuse(detector)
	w.refusal.all = true
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
func (w *Workspace) scan(ctx context.Context, at tree.Place, f *found, withBlob func(int64) bool) (refused bool, err error) {
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

// refuse moves the files that may not be kept to what is left out: those in
// which something is found, and those that were left out for what they hold.
func (c *capture) refuse(ctx context.Context, excluded []string) error {
	before := c.refusedBefore(excluded)
	found, err := c.look(ctx)
	if err != nil {
		return fmt.Errorf("look for sensitive values: %w", err)
	}
	s := c.survey
	kept := s.files[:0]
	for i, f := range s.files {
		switch path := f.entry.Path; {
		case f.state == vanished:
			kept = append(kept, f) // until it is dropped
		case found[i]:
			c.w.cache.Refuse(path, f.entry.Digest)
			s.exclude(path)
		case before.holds(c, &f):
			s.exclude(path)
		default:
			kept = append(kept, f)
		}
	}
	s.files = kept
	return s.dropUnreadable()
}

// look returns in which files something is found. Those that need no scan are
// the ones whose bytes git's index or the last capture has.
func (c *capture) look(ctx context.Context) (found []bool, err error) {
	s, w := c.survey, c.w
	found = make([]bool, len(s.files))
	if w.refusal == nil {
		return found, nil
	}
	err = w.Each(ctx, len(s.files), 1+min(chunkSize, len(s.files)/16), func(ctx context.Context, dirs *tree.Cursor, i int) error {
		f := &s.files[i]
		if c.isKept(f) {
			return nil
		}
		if is, scanned := w.refusal.of(f.entry.Digest); scanned {
			found[i] = is
			return nil
		}
		err := patient(ctx, func() error {
			var err error
			found[i], err = w.scan(ctx, dirs.Place(f.entry.Path), &f.found, f.wantsBlob(w))
			return err
		})
		found[i] = err == nil && found[i] && !c.isKept(f)
		return s.giveUp(f, err)
	})
	return found, err
}

// isKept reports whether a file's bytes are known, and kept already.
func (c *capture) isKept(f *surveyed) bool {
	if !f.known() {
		return false
	}
	return f.index != "" && f.blob == f.index || f.last != nil && f.last.Digest == f.entry.Digest
}
