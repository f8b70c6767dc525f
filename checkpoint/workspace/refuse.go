package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"prdrunner/checkpoint/workspace/tree"
)

// Detector searches the bytes that are written to it for sensitive values.
type Detector interface {
	io.Writer
	Found() bool // whether the bytes so far hold a sensitive value
}

// errRefused says that the content of a file may not be kept.
var errRefused = errors.New("holds what may not be kept")

// refusal knows which contents may not be kept.
type refusal struct {
	detector func() Detector
	all      bool // the detector knows all values that may not be kept now
	mu       sync.Mutex
	found    map[string]bool // for each scanned content, by digest: whether it is refused
}

// Refuse makes Keep and Capture exclude files in which a detector finds a value. Their
// bytes are not kept, and their names are reported as excluded. Bytes that git or an
// earlier capture already has stay there. Refuse must be called before the workspace is
// used.
//
// A file that was excluded for its content stays excluded, whatever the detector finds,
// since the detector may not know all the values that were sensitive then.
func (w *Workspace) Refuse(detector func() Detector) {
	w.refusal = &refusal{detector: detector, found: map[string]bool{}}
}

// RefuseAll is Refuse with a detector that knows all values that may not be kept now. An
// excluded file is captured again if its content is known to have changed since and the
// detector finds nothing in it.
func (w *Workspace) RefuseAll(detector func() Detector) {
	w.Refuse(detector)
	w.refusal.all = true
}

// note records whether a scan found a value in a content.
func (r *refusal) note(digest string, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found[digest] = found
}

// of returns the result of the scan of a content, if it was scanned.
func (r *refusal) of(digest string) (found, scanned bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, scanned = r.found[digest]
	return found, scanned
}

// guarded is a reader that fails once the detector finds a value. It does not return the
// piece that completes the value, so that no complete value is passed on.
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

// guard returns a reader that fails if the bytes may not be kept.
func (w *Workspace) guard(r io.Reader) io.Reader {
	if w.refusal == nil {
		return r
	}
	return &guarded{r, w.refusal.detector()}
}

// scan reads a file, describes it, and records whether it may be kept.
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

// refuse excludes the files that may not be kept: those in which the detector finds a
// value, and those that must stay excluded for their content.
func (c *capture) refuse(ctx context.Context, excluded []string) error {
	before := c.refusedBefore(excluded)
	found, err := c.detect(ctx)
	if err != nil {
		return fmt.Errorf("look for sensitive values: %w", err)
	}
	s := c.survey
	kept := s.files[:0]
	for i, f := range s.files {
		switch path := f.entry.Path; {
		case f.state == vanished:
			kept = append(kept, f) // dropUnreadable removes it
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

// detect returns in which files the detector finds a value. It does not scan files whose
// bytes are already in git's index or in the last capture.
func (c *capture) detect(ctx context.Context) (found []bool, err error) {
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

// isKept reports whether git's index or the last capture already has the bytes of a file.
func (c *capture) isKept(f *surveyed) bool {
	if !f.known() {
		return false
	}
	return f.index != "" && f.blob == f.index || f.last != nil && f.last.Digest == f.entry.Digest
}
