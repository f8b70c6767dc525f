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

// All yields every object, in the order of the names.
func (s *Store) All(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := s.all(ctx, yield); err != nil {
			yield(Info{}, fmt.Errorf("list objects: %w", err))
		}
	}
}

func (s *Store) all(ctx context.Context, yield func(Info, error) bool) error {
	root, err := s.list("")
	if err != nil {
		return err
	}
	for _, dir := range root.dirs {
		l, err := s.list(dir)
		if err != nil {
			return err
		}
		for _, o := range l.objects {
			if err := ctx.Err(); err != nil {
				return err
			}
			size, err := o.size()
			if errors.Is(err, fs.ErrNotExist) { // removed since it was listed
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

// listing is what a directory holds, sorted. It leaves out what is none of ours.
type listing struct {
	dir     string
	dirs    []string      // in the store's own directory
	objects []object      // in a subdirectory
	temps   []fs.DirEntry // left behind by batches
}

// object is an object as it was listed, with its one or two files.
type object struct {
	name  name
	files []fs.DirEntry
}

func (o object) size() (int64, error) { return size(o.files) }

func size(files []fs.DirEntry) (int64, error) {
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

// list lists a subdirectory, or the store's own directory. One that is not
// there is empty.
func (s *Store) list(sub string) (listing, error) {
	l := listing{dir: filepath.Join(s.dir, sub)}
	entries, err := s.fs.ReadDir(l.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l, err
	}
	for _, e := range entries {
		n, isObject := inDir(sub, e.Name())
		switch {
		case sub == "" && e.IsDir() && isDir(e.Name()):
			l.dirs = append(l.dirs, e.Name())
		case !e.Type().IsRegular():
		case store.IsTemp(e.Name()):
			l.temps = append(l.temps, e)
		case sub != "" && isObject:
			l.add(n, e)
		}
	}
	return l, nil
}

// add adds a file, of which the compressed form follows the other.
func (l *listing) add(n name, e fs.DirEntry) {
	if last := len(l.objects) - 1; last >= 0 && l.objects[last].name == n {
		l.objects[last].files = append(l.objects[last].files, e)
		return
	}
	l.objects = append(l.objects, object{name: n, files: []fs.DirEntry{e}})
}
