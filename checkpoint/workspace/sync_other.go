//go:build !unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"prdrunner/checkpoint/failpoint"
)

// NonBlock is 0, since named pipes are not files on this system.
const NonBlock = 0

// syncDir does nothing, since directories can't be synced on this system.
func syncDir(*os.Root) error { return nil }

// syncNamed does nothing, since on this system a file must be open for writing to be
// synced.
func syncNamed(*os.Root, string, failpoint.Op) error { return nil }

// isNotEmpty reports whether an error says that a directory is not empty.
func isNotEmpty(err error) bool {
	const errorDirNotEmpty = syscall.Errno(145) // of Windows
	return errors.Is(err, errorDirNotEmpty) || errors.Is(err, fs.ErrExist)
}

// isInUse reports whether an error says that a directory can't be removed since it is in
// use, such as the working directory of a process.
func isInUse(err error) bool {
	const errorSharingViolation = syscall.Errno(32) // of Windows
	return errors.Is(err, errorSharingViolation)
}
