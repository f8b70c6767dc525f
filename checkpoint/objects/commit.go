package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"prdrunner/checkpoint/store"
)

// Commit makes all that was added durable, under its names. When it fails,
// nothing of the batch counts as kept, though some of it may be there.
func (b *Batch) Commit(ctx context.Context) error {
	b.syncs.Wait()
	if err := ctx.Err(); err != nil {
		b.fail(err)
	}
	err := b.failed()
	if err == nil {
		err = b.publish(ctx)
	}
	if err != nil {
		err = fmt.Errorf("commit objects: %w", err)
		b.fail(err)
	}
	b.fail(errEnded)
	_ = b.clear() // what is left even so goes with the next sweep
	return err
}

// Abandon drops what was added and not committed. After Commit it does nothing.
func (b *Batch) Abandon() error {
	b.fail(errEnded)
	b.syncs.Wait()
	if err := b.clear(); err != nil {
		return fmt.Errorf("abandon objects: %w", err)
	}
	return nil
}

// clear removes every temporary file that it can.
func (b *Batch) clear() error {
	b.mu.Lock()
	temps := slices.Collect(maps.Keys(b.temps))
	b.mu.Unlock()
	var all []error
	for _, temp := range temps {
		all = append(all, b.remove(temp))
	}
	return errors.Join(all...)
}

// publish gives the files their names, and makes these durable.
func (b *Batch) publish(ctx context.Context) error {
	dirs := slices.Sorted(maps.Keys(b.dirs))
	paths := make([]string, 0, len(dirs)+1)
	for _, dir := range dirs {
		path := filepath.Join(b.s.dir, dir)
		if err := b.s.mkdir(path); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	for _, n := range slices.Sorted(maps.Keys(b.added)) {
		if err := b.rename(ctx, n, b.added[n]); err != nil {
			return err
		}
	}
	if !b.s.areSettled(dirs) {
		paths = append(paths, b.s.dir)
	}
	if err := b.s.syncDirs(paths); err != nil {
		return err
	}
	b.s.settle(dirs)
	return nil
}

// mkdir makes a subdirectory, unless it is there. One that is a link leads to
// what is not ours, and Sweep passes it over.
func (s *Store) mkdir(path string) error {
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

// rename gives a file its name. Where it cannot, another batch may have been
// first: some systems do not replace a file that is being read.
func (b *Batch) rename(ctx context.Context, n name, p pending) error {
	if err := b.s.fs.Rename(p.temp, p.path); err != nil {
		if b.s.Verify(ctx, n.digest()) != nil {
			return err
		}
		return b.remove(p.temp)
	}
	b.mu.Lock()
	delete(b.temps, p.temp)
	b.mu.Unlock()
	if p.wrong == "" || p.wrong == p.path {
		return nil
	}
	if err := b.s.fs.Remove(p.wrong); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDirs syncs directories, some at a time.
func (s *Store) syncDirs(paths []string) error {
	errs := make([]error, len(paths))
	slots := make(chan struct{}, flushes)
	var all sync.WaitGroup
	for i, path := range paths {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = s.fs.SyncDir(path)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// areSettled reports whether the names of subdirectories are known to be durable.
func (s *Store) areSettled(dirs []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(dirs, func(dir string) bool { return !s.settled[dir] })
}

func (s *Store) settle(dirs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, dir := range dirs {
		s.settled[dir] = true
	}
}
