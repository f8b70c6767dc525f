package workspace

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint/workspace/tree"
)

// Secure makes sure that the bytes of a capture's entries are available. If bytes are
// missing, it makes an object of the file at the path, durable when it returns. With deep
// it reads all bytes, and damaged bytes count as missing; callers that are about to
// overwrite or remove the files need that. If a file no longer matches its entry, Secure
// returns a *ChangedError.
func (w *Workspace) Secure(ctx context.Context, entries []Entry, deep bool) (err error) {
	missing, err := w.contents.Missing(ctx, entries, deep)
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
		at := w.tree.Place(e.Path)
		f, err := w.files.inspect(at, e.Path, w.files.wantsBlob)
		if err == nil {
			f.dropDigest()
			err = w.files.keepObject(ctx, batch, at, &f, w.files.wantsBlob)
		}
		if err != nil && !tree.IsAbsent(err) {
			return fmt.Errorf("keep again what was lost: %w", withPath(e.Path, err))
		}
		if err != nil || f.entry.Digest != e.Digest {
			return &ChangedError{Path: e.Path}
		}
	}
	return batch.Commit(ctx)
}

// Invalidate makes the next reader of the files read them again, even if stat shows no
// change: a write through a memory map may not change a file's times. Callers call it for
// files that they are about to overwrite or remove.
func (w *Workspace) Invalidate(paths []string) { w.cache.Invalidate(paths) }

// StartSecuring starts to check the bytes of a listing (nil: none) whose files are about to
// be captured again. The caller must call Stop.
func (w *Workspace) StartSecuring(ctx context.Context, before *Listing) *Securing {
	if before == nil {
		before = &Listing{}
	}
	ctx, cancel := context.WithCancel(ctx)
	missing := runAsync(func() ([]Missing, error) { return w.contents.Missing(ctx, before.Entries, false) })
	return &Securing{w: w, before: before, missing: missing, cancel: cancel}
}

// Securing is a running call of Secure, without deep, that overlaps with a capture. Only
// one goroutine may use it.
type Securing struct {
	w       *Workspace
	before  *Listing
	missing func() ([]Missing, error)
	cancel  context.CancelFunc
}

// Stop cancels the check and waits for its end.
func (s *Securing) Stop() {
	s.cancel()
	_, _ = s.missing() // Finish has returned the error, if it was called
}

// Finish secures the entries of the new capture, like Secure. It skips entries that have
// not changed since the earlier listing, which have been checked already.
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
		if was, there := s.before.entryAt(e.Path); !there || was != e || lost[e.Path] {
			rest = append(rest, e)
		}
	}
	return s.w.Secure(ctx, rest, false)
}
