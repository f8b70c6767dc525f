//go:build failpoint

package store

import (
	"io/fs"
	"os"

	"prdrunner/checkpoint/failpoint"
)

// OS returns the file system of the operating system, with a failpoint before each
// operation.
func OS() FS { return failFS{osFS{}} }

type failFS struct{ os osFS }

func (f failFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	op := failpoint.Open
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		op = failpoint.Create
	}
	if err := failpoint.Before(op, name); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	file, err := f.os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &failFile{File: file, name: name, writes: flag&(os.O_WRONLY|os.O_RDWR) != 0}, nil
}

func (f failFS) Mkdir(name string, perm fs.FileMode) error {
	return f.runUnlessFailing(failpoint.Mkdir, name, func() error { return f.os.Mkdir(name, perm) })
}

func (f failFS) Rename(from, to string) error {
	return f.runUnlessFailing(failpoint.Rename, to, func() error { return f.os.Rename(from, to) })
}

func (f failFS) Link(from, to string) error {
	return f.runUnlessFailing(failpoint.Link, to, func() error { return f.os.Link(from, to) })
}

func (f failFS) Symlink(target, name string) error {
	return f.runUnlessFailing(failpoint.Symlink, name, func() error { return f.os.Symlink(target, name) })
}

func (f failFS) Readlink(name string) (string, error) { return f.os.Readlink(name) }

func (f failFS) Remove(name string) error {
	return f.runUnlessFailing(failpoint.Remove, name, func() error { return f.os.Remove(name) })
}

func (f failFS) SyncDir(name string) error {
	return f.runUnlessFailing(failpoint.SyncDir, name, func() error { return f.os.SyncDir(name) })
}

func (f failFS) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = f.runUnlessFailing(failpoint.ReadDir, name, func() error { entries, err = f.os.ReadDir(name); return err })
	return entries, err
}

func (f failFS) Lstat(name string) (info fs.FileInfo, err error) {
	err = f.runUnlessFailing(failpoint.Lstat, name, func() error { info, err = f.os.Lstat(name); return err })
	return info, err
}

func (f failFS) TryLock(name string, shared bool) (lock Lock, err error) {
	err = f.runUnlessFailing(failpoint.Lock, name, func() error { lock, err = f.os.TryLock(name, shared); return err })
	return lock, err
}

// runUnlessFailing performs an operation unless its failpoint fails.
func (failFS) runUnlessFailing(op failpoint.Op, name string, do func() error) error {
	if err := failpoint.Before(op, name); err != nil {
		return &fs.PathError{Op: string(op), Path: name, Err: err}
	}
	return do()
}

// failFile is an open file with a failpoint before each operation.
type failFile struct {
	File
	name   string
	writes bool
}

func (f *failFile) Read(p []byte) (int, error) {
	if err := f.before(failpoint.Read); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *failFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.before(failpoint.Read); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *failFile) Write(p []byte) (int, error) {
	return f.writeWith(p, f.File.Write)
}

func (f *failFile) WriteAt(p []byte, off int64) (int, error) {
	return f.writeWith(p, func(p []byte) (int, error) { return f.File.WriteAt(p, off) })
}

func (f *failFile) writeWith(p []byte, write func([]byte) (int, error)) (n int, err error) {
	failed := failpoint.BeforeWrite(f.name, func() { n, err = write(p[:len(p)/2]) })
	switch {
	case err != nil:
		return n, err
	case failed != nil:
		return n, &fs.PathError{Op: "write", Path: f.name, Err: failed}
	}
	return write(p)
}

func (f *failFile) Sync() error {
	if err := f.before(failpoint.Sync); err != nil {
		return err
	}
	return f.File.Sync()
}

// Close closes the file even if its failpoint fails, as the system does.
func (f *failFile) Close() error {
	if !f.writes {
		return f.File.Close()
	}
	failed := f.before(failpoint.Close)
	if err := f.File.Close(); err != nil {
		return err
	}
	return failed
}

func (f *failFile) before(op failpoint.Op) error {
	if err := failpoint.Before(op, f.name); err != nil {
		return &fs.PathError{Op: string(op), Path: f.name, Err: err}
	}
	return nil
}
