package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Blobs are named bytes that never change: a name is put once. Names are of
// letters, digits and ".", "_", "-", "%".
type Blobs interface {
	// Put stores blobs in their order, each whole or not at all, all durable
	// when it returns. If a name is taken, neither that blob is stored nor what
	// follows: fs.ErrExist. It is a *WriteError that one of them could not be put;
	// those before it may have their names, which are not known to be durable.
	Put(blobs ...Blob) error
	// Get returns the bytes, or fs.ErrNotExist.
	Get(name string) ([]byte, error)
	// List returns the names that begin with the prefix, sorted.
	List(prefix string) ([]string, error)
	// Delete removes a name. One that is not there is no error.
	Delete(name string) error
}

// Blob is bytes, in parts that follow one another, and their name.
type Blob struct {
	Name string
	Data [][]byte
}

// NewBlobs returns the blobs in a directory, which is made with the first Put.
func NewBlobs(fsys FS, dir string) Blobs { return &fileBlobs{fs: fsys, dir: dir} }

type fileBlobs struct {
	fs  FS
	dir string
}

func (b *fileBlobs) Put(blobs ...Blob) error {
	paths, temps := make([]string, len(blobs)), make([]string, len(blobs))
	for i, blob := range blobs {
		var err error
		if paths[i], err = b.path(blob.Name); err != nil {
			return err
		}
	}
	if len(blobs) == 0 {
		return nil
	}
	if err := MkdirAll(b.fs, b.dir); err != nil {
		return err
	}
	i, err := sideBySide(len(blobs), func(i int) (err error) {
		temps[i], err = writeTemp(b.fs, paths[i], blobs[i].Data...)
		return err
	})
	if err != nil {
		return withdraw(b.fs, temps, &WriteError{paths[i], err})
	}
	for i, path := range paths {
		if err := b.give(temps[i], path); err != nil {
			return withdraw(b.fs, temps[i+1:], &WriteError{path, err})
		}
	}
	if err := b.fs.SyncDir(b.dir); err != nil {
		return &WriteError{paths[len(paths)-1], err}
	}
	return nil
}

// give gives a temporary file its name, if nothing has that yet. Nothing is left under
// the other one.
func (b *fileBlobs) give(temp, path string) error {
	err := b.fs.Link(temp, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = b.renameNew(temp, path)
	}
	// After a successful rename there is nothing left to remove.
	if removed := b.fs.Remove(temp); err == nil && !errors.Is(removed, fs.ErrNotExist) {
		err = removed
	}
	return err
}

// renameNew is for file systems without hard links. Between its two steps
// another process could take the name; there, the lock must keep it away.
func (b *fileBlobs) renameNew(temp, path string) error {
	if _, err := b.fs.Lstat(path); err == nil {
		return fs.ErrExist
	}
	return b.fs.Rename(temp, path)
}

func (b *fileBlobs) Get(name string) ([]byte, error) {
	path, err := b.path(name)
	if err != nil {
		return nil, err
	}
	return ReadFile(b.fs, path)
}

func (b *fileBlobs) List(prefix string) ([]string, error) {
	entries, err := b.fs.ReadDir(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", b.dir, err)
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !IsTemp(e.Name()) && strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (b *fileBlobs) Delete(name string) error {
	path, err := b.path(name)
	if err != nil {
		return err
	}
	if err := b.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	return nil
}

func (b *fileBlobs) path(name string) (string, error) {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`+"\x00") {
		return "", fmt.Errorf("%q cannot be the name of a blob", name)
	}
	return filepath.Join(b.dir, name), nil
}
