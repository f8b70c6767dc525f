package workspace

import (
	"context"
	"errors"
	"fmt"
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
		at := w.place(e.Path)
		f, err := w.look(at, e.Path, w.wantsBlob)
		if err == nil {
			f.forget()
			err = w.keepObject(ctx, batch, at, &f, w.wantsBlob)
		}
		if err != nil && !absent(err) {
			return fmt.Errorf("keep again what was lost: %w", failed(e.Path, err))
		}
		if err != nil || f.entry.Digest != e.Digest {
			return &ChangedError{Path: e.Path}
		}
	}
	return batch.Commit(ctx)
}
