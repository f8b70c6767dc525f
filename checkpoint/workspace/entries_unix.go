//go:build unix && !linux

package workspace

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// entriesOf lists an open directory, in no order. Package os looks at every name
// of one that was opened in a Root; a copy of its descriptor is only a directory.
func entriesOf(dir *os.File) ([]dirEntry, error) { return entriesAt(int(dir.Fd()), dir.Name()) }

// entriesAt is entriesOf a descriptor.
func entriesAt(fd int, path string) ([]dirEntry, error) {
	copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "dup", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(copied), path)
	entries, err := f.ReadDir(-1)
	return plainEntries(entries), errors.Join(err, f.Close())
}
