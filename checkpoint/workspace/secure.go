package workspace

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint/workspace/tree"
)

// Secure makes sure that the bytes of files can be had, as the entries of a
// capture say where they are: what is lost is kept again, as an object, from the
// file at the path. deep: all bytes are read, and what is damaged is lost, too,
// as who is about to overwrite or remove the files must know. What it kept is
// durable when it returns. A file that is not as its entry says any more is
// a *ChangedError.
func (w *Workspace) Secure(ctx context.Context, entries []Entry, deep bool) (err error) {
	missing, err := w.Missing(ctx, entries, deep)
	if err != nil || len(missing) == 0 {
		return err
	}
	if w.o.Objects == nil {
		return fmt.Errorf("keep files: %w", errNoObjects)
	}
	lost := make(map[string]bool, len(missing))
	for _, m := range missing {
		lost[m.Path] = true
	}
	batch := w.o.Objects.Begin()
	defer func() { err = errors.Join(err, batch.Abandon()) }()
	for _, e := range entries {
		if !lost[e.Path] {
			continue
		}
		at := w.Place(e.Path)
		f, err := w.look(at, e.Path, w.wantsBlob)
		if err == nil {
			f.forget()
			err = w.keepObject(ctx, batch, at, &f, w.wantsBlob)
		}
		if err != nil && !tree.IsAbsent(err) {
			return fmt.Errorf("keep again what was lost: %w", failed(e.Path, err))
		}
		if err != nil || f.entry.Digest != e.Digest {
			return &ChangedError{Path: e.Path}
		}
	}
	return batch.Commit(ctx)
}

// Distrust has files read again by who looks at them next, though stat may say that
// they are as they were: what was written through a memory map need not show there.
// It is for what is about to be overwritten or removed.
func (w *Workspace) Distrust(paths []string) { w.cache.Distrust(paths) }

// SecureAhead begins to look for the bytes of a listing (nil: there is none) whose files
// are about to be captured again. Whoever calls it calls Stop when it is done with it.
func (w *Workspace) SecureAhead(ctx context.Context, before *Listing) *Securing {
	if before == nil {
		before = &Listing{}
	}
	ctx, cancel := context.WithCancel(ctx)
	missing := beside(func() ([]Missing, error) { return w.Missing(ctx, before.Entries, false) })
	return &Securing{w: w, before: before, missing: missing, cancel: cancel}
}

// Securing is Secure of the files of a capture, not deep, of which most has been looked
// for while the capture was made. It belongs to one goroutine.
type Securing struct {
	w       *Workspace
	before  *Listing
	missing func() ([]Missing, error)
	cancel  context.CancelFunc
}

// Stop ends it, and waits for that.
func (s *Securing) Stop() {
	s.cancel()
	_, _ = s.missing() // whoever wanted it has it, or its error
}

// Finish is Secure of what was captured: what is there as before was looked for.
func (s *Securing) Finish(ctx context.Context, now *Listing) error {
	missing, err := s.missing()
	if err != nil {
		return err
	}
	if now == s.before && len(missing) == 0 {
		return nil
	}
	lost := make(map[string]bool, len(missing))
	for _, m := range missing {
		lost[m.Path] = true
	}
	var rest []Entry
	for _, e := range now.Entries {
		if was, there := s.before.at(e.Path); !there || was != e || lost[e.Path] {
			rest = append(rest, e)
		}
	}
	return s.w.Secure(ctx, rest, false)
}
