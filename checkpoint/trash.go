package checkpoint

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/store"
)

// What is deleted whole is renamed into the trash first: that is the moment at
// which it is gone, and a crash later leaves nothing half there. Collecting
// empties the trash, last of all: the journals in it tell which git references
// go with them.

func (s *Store) trashPath() string { return filepath.Join(s.dir, trashDir) }

// discard moves a directory into the trash.
func (s *Store) discard(prd, dir string) error {
	if err := store.MkdirAll(s.fs, s.trashPath()); err != nil {
		return err
	}
	return s.move(prd, dir, filepath.Join(s.trashPath(), rand.Text()))
}

// emptyTrash removes what was discarded. Nobody else may do so meanwhile.
func (s *Store) emptyTrash() error {
	there, err := s.exists(s.trashPath())
	if err == nil && !there {
		return nil
	}
	if err == nil {
		err = s.removeAll(s.trashPath())
	}
	if err == nil {
		err = s.fs.SyncDir(s.dir)
	}
	if err != nil {
		return fmt.Errorf("empty the trash: %w", err)
	}
	return nil
}

// removeAll removes a directory and what is in it. It follows no link.
func (s *Store) removeAll(path string) error {
	info, err := s.fs.Lstat(path)
	if err == nil && info.IsDir() {
		err = s.removeEntries(path)
	}
	if err == nil {
		err = s.fs.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *Store) removeEntries(dir string) error {
	entries, err := s.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.removeAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// treeSize returns how many bytes the files in a directory have.
func (s *Store) treeSize(dir string) (int64, error) {
	var total int64
	err := s.eachSize(dir, "", func(_ string, size int64) { total += size })
	return total, err
}

// eachSize tells how large what is in a directory is, but for one name. A
// directory that is not there is empty.
func (s *Store) eachSize(dir, except string, tell func(name string, size int64)) error {
	entries, err := s.fs.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look how large %s is: %w", dir, err)
	}
	for _, e := range entries {
		if e.Name() == except {
			continue
		}
		size, err := s.entrySize(dir, e)
		if err != nil {
			return err
		}
		tell(e.Name(), size)
	}
	return nil
}

func (s *Store) entrySize(dir string, e fs.DirEntry) (int64, error) {
	if e.IsDir() {
		return s.treeSize(filepath.Join(dir, e.Name()))
	}
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) { // gone since it was listed
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look how large %s is: %w", e.Name(), err)
	}
	return info.Size(), nil
}
