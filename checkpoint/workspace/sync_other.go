//go:build !unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"prdrunner/checkpoint/failpoint"
)

// NonBlock is not needed where named pipes are not files.
const NonBlock = 0

// syncDir has nothing to do where directories can't be synced.
func syncDir(*os.Root) error { return nil }

// syncNamed has nothing to do where only who may write to a file can sync it.
func syncNamed(*os.Root, string, failpoint.Op) error { return nil }

// isNotEmpty reports whether an error says that a directory is not empty.
func isNotEmpty(err error) bool {
	const errorDirNotEmpty = syscall.Errno(145) // of Windows
	return errors.Is(err, errorDirNotEmpty) || errors.Is(err, fs.ErrExist)
}

// isInUse reports whether an error says that a directory can't be removed since
// it is in use, as one is that a process works in.
func isInUse(err error) bool {
	const errorSharingViolation = syscall.Errno(32) // of Windows
	return errors.Is(err, errorSharingViolation)
}
