package store

import (
	"io"
	"io/fs"
	"path/filepath"
)

// Dir looks at many files of one directory. In one of the operating system that
// costs the system calls that it must and nothing else. It belongs to one goroutine,
// and is to be closed.
type Dir struct {
	fs   FS
	path string
	open *openDir // nil: names are looked at by their paths
}

// OpenDir opens a directory to look at names in it. One that is not there may
// show only when that is done.
func OpenDir(fsys FS, path string) (*Dir, error) {
	d := &Dir{fs: fsys, path: path}
	if _, ok := fsys.(osFS); !ok { // whatever stands before the system is to be asked
		return d, nil
	}
	var err error
	d.open, err = newOpenDir(path)
	return d, err
}

// Lstat returns the mode and the size of what has a name in the directory.
func (d *Dir) Lstat(name string) (mode fs.FileMode, size int64, err error) {
	if d.open != nil {
		return d.open.lstat(name)
	}
	info, err := d.fs.Lstat(filepath.Join(d.path, name))
	if err != nil {
		return 0, 0, err
	}
	return info.Mode(), info.Size(), nil
}

// Begin fills a buffer with the beginning of a regular file. One that is shorter
// is an io.ErrUnexpectedEOF or io.EOF, and what is no file an ErrNotRegular.
func (d *Dir) Begin(name string, buf []byte) error {
	if d.open != nil {
		return d.open.begin(name, buf)
	}
	f, err := OpenRegular(d.fs, filepath.Join(d.path, name))
	if err != nil {
		return err
	}
	_, err = io.ReadFull(f, buf)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// Close closes the directory.
func (d *Dir) Close() error {
	if d.open == nil {
		return nil
	}
	return d.open.close()
}
