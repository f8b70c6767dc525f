package store

import (
	"io"
	"io/fs"
	"path/filepath"
)

// Dir reads metadata of many files in one directory. On Linux and macOS it avoids the work
// that package os does per file. It belongs to one goroutine, and must be closed.
type Dir struct {
	fs   FS
	path string
	open *openDir // nil if this FS or system offers no faster way than the path
}

// OpenDir opens a directory. Where files are found by their paths, a missing directory
// shows only with the first call of Lstat or Begin.
func OpenDir(fsys FS, path string) (*Dir, error) {
	d := &Dir{fs: fsys, path: path}
	if _, ok := fsys.(osFS); !ok { // a wrapper of the system's FS must see each operation
		return d, nil
	}
	var err error
	d.open, err = newOpenDir(path)
	return d, err
}

// Lstat returns the mode and the size of a file.
func (d *Dir) Lstat(name string) (mode fs.FileMode, size int64, err error) {
	if d.open != nil {
		return d.open.lstatIn(name)
	}
	info, err := d.fs.Lstat(filepath.Join(d.path, name))
	if err != nil {
		return 0, 0, err
	}
	return info.Mode(), info.Size(), nil
}

// Begin fills buf with the first bytes of a regular file. It returns io.ErrUnexpectedEOF or
// io.EOF for a shorter file, and ErrNotRegular for anything but a file.
func (d *Dir) Begin(name string, buf []byte) error {
	if d.open != nil {
		return d.open.readStart(name, buf)
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
	return d.open.closeDir()
}
