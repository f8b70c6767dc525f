package checkpoint

import (
	"io/fs"
	"sync/atomic"

	"prdrunner/checkpoint/store"
)

// failingOnce is a file system on which one operation fails, of those that
// read and those that write, and all others work.
type failingOnce struct {
	store.FS
	at    int64
	count atomic.Int64
}

func (f *failingOnce) fails() bool { return f.count.Add(1) == f.at }

func (f *failingOnce) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if f.fails() {
		return nil, errDisk
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &onceFile{file, f}, nil
}

func (f *failingOnce) Mkdir(name string, perm fs.FileMode) error {
	if f.fails() {
		return errDisk
	}
	return f.FS.Mkdir(name, perm)
}

func (f *failingOnce) Link(from, to string) error {
	if f.fails() {
		return errDisk
	}
	return f.FS.Link(from, to)
}

func (f *failingOnce) Symlink(target, name string) error {
	if f.fails() {
		return errDisk
	}
	return f.FS.Symlink(target, name)
}

func (f *failingOnce) Lstat(name string) (fs.FileInfo, error) {
	if f.fails() {
		return nil, errDisk
	}
	return f.FS.Lstat(name)
}

func (f *failingOnce) Rename(from, to string) error {
	if f.fails() {
		return errDisk
	}
	return f.FS.Rename(from, to)
}

func (f *failingOnce) Remove(name string) error {
	if f.fails() {
		return errDisk
	}
	return f.FS.Remove(name)
}

func (f *failingOnce) SyncDir(name string) error {
	if f.fails() {
		return errDisk
	}
	return f.FS.SyncDir(name)
}

func (f *failingOnce) ReadDir(name string) ([]fs.DirEntry, error) {
	if f.fails() {
		return nil, errDisk
	}
	return f.FS.ReadDir(name)
}

type onceFile struct {
	store.File
	fs *failingOnce
}

func (f *onceFile) Read(p []byte) (int, error) {
	if f.fs.fails() {
		return 0, errDisk
	}
	return f.File.Read(p)
}

func (f *onceFile) Write(p []byte) (int, error) {
	if f.fs.fails() {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, errDisk
	}
	return f.File.Write(p)
}

func (f *onceFile) Sync() error {
	if f.fs.fails() {
		return errDisk
	}
	return f.File.Sync()
}
