package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Swept is what a Sweep removed, or would.
type Swept struct {
	Objects   int
	Leftovers int   // of batches that were cut short
	Bytes     int64 // on disk, of both
	Kept      int
}

// Sweep removes the objects that keep does not want, and what was left behind
// by batches that were cut short. The caller makes sure that nobody writes
// meanwhile. With dryRun it only counts. What it returns beside an error was
// removed nevertheless.
func (s *Store) Sweep(ctx context.Context, keep func(digest string) bool, dryRun bool) (Swept, error) {
	w := sweeper{s: s, keep: keep, dryRun: dryRun}
	if err := w.sweep(ctx); err != nil {
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

func (w *sweeper) sweep(ctx context.Context) error {
	root, err := w.s.list("")
	if err != nil {
		return err
	}
	if err := w.directory(ctx, root); err != nil {
		return err
	}
	for _, dir := range root.dirs {
		l, err := w.s.list(dir)
		if err != nil {
			return err
		}
		if err := w.directory(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// directory sweeps one directory, and syncs it once if anything went.
func (w *sweeper) directory(ctx context.Context, l listing) error {
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
	bytes, err := size(files)
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
