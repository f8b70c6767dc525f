package bundle

import (
	"os"

	"golang.org/x/sys/unix"
)

// unnamedFile makes a file that never has a name, so that not even its
// directory changes. Not every file system can.
func unnamedFile(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
}
