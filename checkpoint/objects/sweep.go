package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Swept counts what Sweep removed, or would remove.
type Swept struct {
	Objects   int
	Leftovers int   // temporary files of batches that did not finish
	Bytes     int64 // on disk, of objects and leftovers
	Kept      int
}

// Sweep removes the objects for which keep returns false, and the temporary files of
// batches that did not finish. The caller must hold a lock that keeps writers away. With
// dryRun it only counts. If it returns an error, Swept counts the files removed before
// the error.
func (s *Store) Sweep(ctx context.Context, keep func(digest string) bool, dryRun bool) (Swept, error) {
	w := sweeper{s: s, keep: keep, dryRun: dryRun}
	if err := w.sweepAll(ctx); err != nil {
		return w.swept, fmt.Errorf("sweep objects: %w", err)
	}
	return w.swept, nil
}

type sweeper struct {
	s      *Store
	keep   func(digest string) bool
	dryRun bool
	swept  Swept
}

func (w *sweeper) sweepAll(ctx context.Context) error {
	root, err := w.s.listDir("")
	if err != nil {
		return err
	}
	if err := w.sweepDir(ctx, root); err != nil {
		return err
	}
	for _, dir := range root.dirs {
		l, err := w.s.listDir(dir)
		if err != nil {
			return err
		}
		if err := w.sweepDir(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// sweepDir sweeps one directory, and syncs it once if it removed any file.
func (w *sweeper) sweepDir(ctx context.Context, l listing) error {
	before := w.swept
	for _, temp := range l.temps {
		if err := w.remove(ctx, l.dir, []fs.DirEntry{temp}); err != nil {
			return err
		}
		w.swept.Leftovers++
	}
	for _, o := range l.objects {
		if w.keep(o.name.digest()) {
			w.swept.Kept++
			continue
		}
		if err := w.remove(ctx, l.dir, o.files); err != nil {
			return err
		}
		w.swept.Objects++
	}
	gone := w.swept.Objects + w.swept.Leftovers - before.Objects - before.Leftovers
	if w.dryRun || gone == 0 {
		return nil
	}
	return w.s.fs.SyncDir(l.dir)
}

func (w *sweeper) remove(ctx context.Context, dir string, files []fs.DirEntry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	bytes, err := totalSize(files)
	if err != nil {
		return err
	}
	for _, f := range files {
		if w.dryRun {
			break
		}
		if err := w.s.fs.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	w.swept.Bytes += bytes
	return nil
}
