package workspace

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint/workspace/tree"
)

// SaveCache writes the cache if it has changed. A failure only costs time later, so that
// callers may ignore it.
func (w *Workspace) SaveCache() error {
	if !w.cache.HasNews() {
		return nil
	}
	err := w.forgetGone()
	if err == nil {
		err = w.forgetHidden()
	}
	if err == nil {
		err = w.cache.Save()
	}
	if err != nil {
		return fmt.Errorf("save the cache: %w", err)
	}
	return nil
}

// forgetGone drops the entries of files that no longer exist.
func (w *Workspace) forgetGone() error {
	paths := w.cache.Unseen()
	gone := make([]bool, len(paths))
	err := w.Each(context.Background(), len(paths), chunkSize, func(_ context.Context, _ *tree.Cursor, i int) error {
		_, err := w.Lstat(paths[i])
		gone[i] = tree.IsAbsent(err)
		return nil
	})
	n := 0
	w.cache.Drop(slices.DeleteFunc(paths, func(string) bool {
		n++
		return !gone[n-1]
	}))
	return err
}

// forgetHidden drops the entries of files whose names may not be recorded.
func (w *Workspace) forgetHidden() error {
	if w.refusal == nil {
		return nil
	}
	var hidden []string
	for _, path := range w.cache.Paths() {
		found, err := w.refusal.finds(path)
		if err != nil {
			return err
		}
		if found {
			hidden = append(hidden, path)
		}
	}
	w.cache.Drop(hidden)
	return nil
}
