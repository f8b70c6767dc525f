//go:build unix

package workspace

import (
	"errors"
	"os"
	"syscall"

	"prdrunner/checkpoint/failpoint"
)

// NonBlock keeps an open from waiting for the writer of a named pipe that has replaced a
// file.
const NonBlock = syscall.O_NONBLOCK

// syncDir makes the names in a directory durable.
func syncDir(dir *os.Root) error { return syncNamed(dir, ".", failpoint.SyncDir) }

// syncNamed makes the content of a file or directory durable, whichever process wrote it.
func syncNamed(dir *os.Root, name string, op failpoint.Op) error {
	f, err := dir.OpenFile(name, os.O_RDONLY|NonBlock, 0)
	if err != nil {
		return err
	}
	if name == "." {
		name = dir.Name()
	}
	if err = failpoint.Before(op, name); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// isNotEmpty reports whether an error says that a directory is not empty.
func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}

// isInUse reports whether an error says that a directory can't be removed since it is in
// use, such as a mount point.
func isInUse(err error) bool { return errors.Is(err, syscall.EBUSY) }
