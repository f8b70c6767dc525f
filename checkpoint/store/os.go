package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

// osFS is the FS of the operating system.
type osFS struct{}

func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := openFile(name, flag, perm)
	if err != nil { // a nil *os.File in a File would not equal nil
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

// maxRelocks bounds how often TryLock starts again because the file was replaced between
// opening and locking.
const maxRelocks = 16

// TryLock compares the locked file with the file that has the name now. A lock on a file
// that was deleted and created again in between would exclude no other process.
func (osFS) TryLock(name string, shared bool) (Lock, error) {
	for range maxRelocks {
		if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("lock %s: %w (%s)", name, ErrNotRegular, info.Mode().Type()) // opening a named pipe would block
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
	file fs.FileInfo // the locked file; it is open, so that its number is not used again
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
