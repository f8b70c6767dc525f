package cli

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// inForeground returns true: on Windows, no console stops a process that reads from it.
func inForeground(*os.File) bool { return true }

// ReaderGone reports whether output was lost because its reader has closed the pipe, as
// with `| head`.
func ReaderGone(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
