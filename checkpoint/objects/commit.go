package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint/store"
)

// Commit makes all added objects durable under their names. If it fails, the caller must
// assume that no object is stored, although some may be.
func (b *Batch) Commit(ctx context.Context) error {
	b.syncs.Wait()
	if err := ctx.Err(); err != nil {
		b.setError(err)
	}
	err := b.lastError()
	if err == nil {
		err = b.publish(ctx)
	}
	if err != nil {
		err = fmt.Errorf("commit objects: %w", err)
		b.setError(err)
	}
	b.setError(errEnded)
	_ = b.removeTemps() // the next Sweep removes those that remain
	return err
}

// Abandon removes the temporary files of a batch. After Commit it does nothing.
func (b *Batch) Abandon() error {
	b.setError(errEnded)
	b.syncs.Wait()
	if err := b.removeTemps(); err != nil {
		return fmt.Errorf("abandon objects: %w", err)
	}
	return nil
}

// removeTemps removes all temporary files of the batch, and returns the errors.
func (b *Batch) removeTemps() error {
	b.mu.Lock()
	temps := slices.Collect(maps.Keys(b.temps))
	b.mu.Unlock()
	var all []error
	for _, temp := range temps {
		all = append(all, b.removeTemp(temp))
	}
	return errors.Join(all...)
}

// publish renames the temporary files to their final names, and syncs the directories.
func (b *Batch) publish(ctx context.Context) error {
	dirs := slices.Sorted(maps.Keys(b.dirs))
	paths := make([]string, 0, len(dirs)+1)
	for _, dir := range dirs {
		path := filepath.Join(b.s.dir, dir)
		if err := b.s.makeSubdirectory(path); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	for _, n := range slices.Sorted(maps.Keys(b.added)) {
		if err := b.rename(ctx, n, b.added[n]); err != nil {
			return err
		}
	}
	if !b.s.areDurable(dirs) {
		paths = append(paths, b.s.dir)
	}
	if err := b.s.syncDirs(paths); err != nil {
		return err
	}
	b.s.markDurable(dirs)
	return nil
}

// makeSubdirectory creates a subdirectory, or accepts an existing one. It refuses a
// symbolic link, because Sweep would not follow it.
func (s *Store) makeSubdirectory(path string) error {
	err := s.fs.Mkdir(path, store.DirPerm)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := s.fs.Lstat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory; remove it", path)
	}
	return err
}

// rename gives a temporary file its final name. If the rename fails, but a valid object has
// that name, another batch wrote it first: some systems do not replace a file that is open.
func (b *Batch) rename(ctx context.Context, n name, p pending) error {
	if err := b.s.fs.Rename(p.temp, p.path); err != nil {
		if b.s.Verify(ctx, n.digest()) != nil {
			return err
		}
		return b.removeTemp(p.temp)
	}
	b.mu.Lock()
	delete(b.temps, p.temp)
	b.mu.Unlock()
	if p.invalid == "" || p.invalid == p.path {
		return nil
	}
	if err := b.s.fs.Remove(p.invalid); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDirs syncs directories, at most maxSyncs at once. It returns the first error.
func (s *Store) syncDirs(paths []string) error {
	var all errgroup.Group
	all.SetLimit(maxSyncs)
	for _, path := range paths {
		all.Go(func() error { return s.fs.SyncDir(path) })
	}
	return all.Wait()
}

// areDurable reports whether the names of all these subdirectories are known to be durable.
func (s *Store) areDurable(dirs []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(dirs, func(dir string) bool { return !s.durable[dir] })
}

func (s *Store) markDurable(dirs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, dir := range dirs {
		s.durable[dir] = true
	}
}
