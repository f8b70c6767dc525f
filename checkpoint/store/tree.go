package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Exists reports whether a path exists. An error means that this is not known; callers
// must not take it for "no", since they remove or replace things.
func Exists(fsys FS, path string) (bool, error) {
	_, err := fsys.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}

// FreePath returns the path wish if nothing exists there, else wish with a number
// appended.
func FreePath(fsys FS, wish string) (string, error) {
	path := wish
	for n := 2; ; n++ {
		there, err := Exists(fsys, path)
		if !there {
			return path, err
		}
		path = fmt.Sprintf("%s-%d", wish, n)
	}
}

// RemoveAll removes a directory with its contents. It follows no link.
func RemoveAll(fsys FS, path string) error {
	info, err := fsys.Lstat(path)
	if err == nil && info.IsDir() {
		err = RemoveEntries(fsys, path)
	}
	if err == nil {
		err = fsys.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// RemoveEntries removes what is in a directory, and keeps the directory.
func RemoveEntries(fsys FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := RemoveAll(fsys, filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// RemoveDurably removes a file, if it exists, so that it does not reappear after a power
// cut.
func RemoveDurably(fsys FS, path string) error {
	if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if err := fsys.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// TreeSize returns the sum of the sizes of all files below a directory.
func TreeSize(fsys FS, dir string) (int64, error) {
	var total int64
	err := EachSize(fsys, dir, "", func(_ string, size int64) { total += size })
	return total, err
}

// EachSize calls tell with the name and size of each entry of a directory, except one. A
// missing directory is empty.
func EachSize(fsys FS, dir, except string, tell func(name string, size int64)) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look how large %s is: %w", dir, err)
	}
	for _, e := range entries {
		if e.Name() == except {
			continue
		}
		size, err := EntrySize(fsys, dir, e)
		if err != nil {
			return err
		}
		tell(e.Name(), size)
	}
	return nil
}

// EntrySize returns the size of an entry of a directory, of all files below it if it is a
// directory.
func EntrySize(fsys FS, dir string, e fs.DirEntry) (int64, error) {
	if e.IsDir() {
		return TreeSize(fsys, filepath.Join(dir, e.Name()))
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

// CopyTree copies a directory and everything in it, durably.
func CopyTree(fsys FS, from, to string) error {
	if err := RemoveAll(fsys, to); err != nil { // a move was cut short
		return err
	}
	if err := fsys.Mkdir(to, DirPerm); err != nil {
		return err
	}
	entries, err := fsys.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyEntry(fsys, e, filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return fmt.Errorf("copy %s: %w", e.Name(), err)
		}
	}
	return fsys.SyncDir(to)
}

func copyEntry(fsys FS, e fs.DirEntry, from, to string) error {
	switch e.Type() {
	case fs.ModeDir:
		return CopyTree(fsys, from, to)
	case fs.ModeSymlink:
		target, err := fsys.Readlink(from)
		if err != nil {
			return err
		}
		return fsys.Symlink(target, to)
	}
	return copyFile(fsys, from, to)
}

func copyFile(fsys FS, from, to string) (err error) {
	in, err := OpenRegular(fsys, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := fsys.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, FilePerm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
