package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

// osFS is the file system of the operating system.
type osFS struct{}

func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := openFile(name, flag, perm)
	if err != nil { // a nil *os.File must not become a File
		return nil, err
	}
	return f, nil
}

func (osFS) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }

func (osFS) Link(from, to string) error { return os.Link(from, to) }

func (osFS) Symlink(target, name string) error { return os.Symlink(target, name) }

func (osFS) Readlink(name string) (string, error) { return os.Readlink(name) }

func (osFS) Remove(name string) error { return remove(name) }

func (osFS) SyncDir(name string) error { return syncDir(name) }

func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

func (osFS) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// relocks bounds how often TryLock starts again because the file was replaced
// between opening and locking it.
const relocks = 16

// TryLock compares the locked file with the one that has the name now: a lock
// on a file that was deleted and made anew meanwhile would exclude nobody.
func (osFS) TryLock(name string, shared bool) (Lock, error) {
	for range relocks {
		if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("lock %s: %w (%s)", name, ErrNotRegular, info.Mode().Type()) // to open a pipe would wait for its other end
		}
		lock := flock.New(name, flock.SetPermissions(FilePerm))
		try := lock.TryLock
		if shared {
			try = lock.TryRLock
		}
		ok, err := try()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		if !ok {
			return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
		}
		info, err := lock.Stat()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), lock.Unlock())
		}
		if held := (osLock{lock, name, info}); held.Check() == nil {
			return held, nil
		}
		if err := lock.Unlock(); err != nil {
			return nil, fmt.Errorf("unlock %s: %w", name, err)
		}
	}
	return nil, fmt.Errorf("lock %s: the file is replaced again and again", name)
}

type osLock struct {
	*flock.Flock
	name string
	file fs.FileInfo // that is locked; open, so that no other can be taken for it
}

func (l osLock) Check() error {
	named, err := os.Lstat(l.name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(l.file, named) {
		err = ErrLockLost
	}
	if err != nil {
		return fmt.Errorf("check the lock %s: %w", l.name, err)
	}
	return nil
}
