package bundle

import (
	"os"

	"golang.org/x/sys/unix"
)

// unnamedFile creates a file that never has a name, so that its directory does not change.
// Not every file system supports that.
func unnamedFile(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
}
