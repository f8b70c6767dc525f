package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"

	"prdrunner/checkpoint/store"
)

// All yields every object, sorted by name.
func (s *Store) All(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := s.yieldAll(ctx, yield); err != nil {
			yield(Info{}, fmt.Errorf("list objects: %w", err))
		}
	}
}

func (s *Store) yieldAll(ctx context.Context, yield func(Info, error) bool) error {
	root, err := s.listDir("")
	if err != nil {
		return err
	}
	for _, dir := range root.dirs {
		l, err := s.listDir(dir)
		if err != nil {
			return err
		}
		for _, o := range l.objects {
			if err := ctx.Err(); err != nil {
				return err
			}
			size, err := o.storedSize()
			if errors.Is(err, fs.ErrNotExist) { // removed after the directory was listed
				continue
			}
			if err != nil {
				return err
			}
			if !yield(Info{Digest: o.name.digest(), Stored: size}, nil) {
				return nil
			}
		}
	}
	return nil
}

// listing holds the entries of a directory, sorted. Entries that are neither objects nor
// temporary files are left out.
type listing struct {
	dir     string
	dirs    []string      // subdirectories, if dir is the root of the store
	objects []object      // objects, if dir is a subdirectory
	temps   []fs.DirEntry // temporary files of batches that did not finish
}

// object is a listed object with its one or two files.
type object struct {
	name  name
	files []fs.DirEntry
}

func (o object) storedSize() (int64, error) { return totalSize(o.files) }

func totalSize(files []fs.DirEntry) (int64, error) {
	var total int64
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}

// listDir lists a subdirectory, or the root of the store for "". A missing directory is
// empty.
func (s *Store) listDir(sub string) (listing, error) {
	l := listing{dir: filepath.Join(s.dir, sub)}
	entries, err := s.fs.ReadDir(l.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l, err
	}
	for _, e := range entries {
		n, isObject := nameOfFile(sub, e.Name())
		switch {
		case sub == "" && e.IsDir() && isSubdirectory(e.Name()):
			l.dirs = append(l.dirs, e.Name())
		case !e.Type().IsRegular():
		case store.IsTemp(e.Name()):
			l.temps = append(l.temps, e)
		case sub != "" && isObject:
			l.addFile(n, e)
		}
	}
	return l, nil
}

// addFile adds a file. The compressed form of an object directly follows the uncompressed
// one.
func (l *listing) addFile(n name, e fs.DirEntry) {
	if last := len(l.objects) - 1; last >= 0 && l.objects[last].name == n {
		l.objects[last].files = append(l.objects[last].files, e)
		return
	}
	l.objects = append(l.objects, object{name: n, files: []fs.DirEntry{e}})
}
