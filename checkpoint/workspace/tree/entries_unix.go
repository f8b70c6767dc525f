//go:build unix

package tree

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// entriesOf lists an open directory, in no order. Package os calls lstat for every name in
// a directory that was opened in a Root. A copy of the descriptor avoids these calls.
func entriesOf(dir *os.File) ([]Entry, error) {
	copied, err := unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "dup", Path: dir.Name(), Err: err}
	}
	f := os.NewFile(uintptr(copied), dir.Name())
	entries, err := f.ReadDir(-1)
	return plainEntries(entries), errors.Join(err, f.Close())
}
