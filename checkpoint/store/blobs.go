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
	// Names returns what Put writes, for who has Write write more with it, and
	// makes the directory.
	Names(blobs ...Blob) ([]Name, error)
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

// NewBlobs returns the blobs in a directory, which Put and Names make.
func NewBlobs(fsys FS, dir string) Blobs { return &fileBlobs{fs: fsys, dir: dir} }

type fileBlobs struct {
	fs  FS
	dir string
}

func (b *fileBlobs) Put(blobs ...Blob) error {
	names, err := b.Names(blobs...)
	if err != nil {
		return err
	}
	return Write(b.fs, names...)
}

func (b *fileBlobs) Names(blobs ...Blob) ([]Name, error) {
	names := make([]Name, len(blobs))
	for i, blob := range blobs {
		path, err := b.path(blob.Name)
		if err != nil {
			return nil, err
		}
		names[i] = Name{Path: path, Data: blob.Data, New: true}
	}
	if len(blobs) == 0 {
		return nil, nil
	}
	if err := MkdirAll(b.fs, b.dir); err != nil {
		return nil, &WriteError{names[0].Path, err}
	}
	return names, nil
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
