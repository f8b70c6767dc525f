//go:build unix

package tree

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonBlock keeps an open from waiting for the writer of a named pipe that has replaced a
// file.
const nonBlock = syscall.O_NONBLOCK

// RenameBetween moves the file name from the current directory of one cursor to newName in
// that of another. Both are names and no paths, so that no link is followed.
func RenameBetween(from *Cursor, name string, to *Cursor, newName string) error {
	source, err := from.directory()
	if err != nil {
		return err
	}
	target, err := to.directory()
	if err != nil {
		return err
	}
	for {
		err = unix.Renameat(int(source.Fd()), name, int(target.Fd()), newName)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return &os.LinkError{Op: "renameat", Old: name, New: newName, Err: err}
		}
	}
}
