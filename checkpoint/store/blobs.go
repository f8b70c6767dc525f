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
	// Put stores the bytes under the name, whole or not at all, durable when
	// it returns; they are given in parts that follow one another. If the name
	// is taken, it changes nothing: fs.ErrExist.
	Put(name string, data ...[]byte) error
	// Get returns the bytes, or fs.ErrNotExist.
	Get(name string) ([]byte, error)
	// List returns the names that begin with the prefix, sorted.
	List(prefix string) ([]string, error)
	// Delete removes a name. One that is not there is no error.
	Delete(name string) error
}

// NewBlobs returns the blobs in a directory, which is made with the first Put.
func NewBlobs(fsys FS, dir string) Blobs { return &fileBlobs{fs: fsys, dir: dir} }

type fileBlobs struct {
	fs  FS
	dir string
}

func (b *fileBlobs) Put(name string, data ...[]byte) error {
	path, err := b.path(name)
	if err != nil {
		return err
	}
	if err := MkdirAll(b.fs, b.dir); err != nil {
		return err
	}
	temp, err := writeTemp(b.fs, path, data...)
	if err != nil {
		return fmt.Errorf("put %s: %w", path, err)
	}
	err = b.fs.Link(temp, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = b.renameNew(temp, path)
	}
	// After a successful rename there is nothing left to remove.
	if removed := b.fs.Remove(temp); err == nil && !errors.Is(removed, fs.ErrNotExist) {
		err = removed
	}
	if err == nil {
		err = b.fs.SyncDir(b.dir)
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", path, err)
	}
	return nil
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
