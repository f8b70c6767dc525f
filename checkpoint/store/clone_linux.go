package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// Clone has an empty file share the bytes of another one, where the file system
// can do that, and reports whether it does. It is no error that it does not:
// bytes can be copied everywhere.
func Clone(to *os.File, from File) bool {
	source, ok := from.(*os.File)
	return ok && unix.IoctlFileClone(int(to.Fd()), int(source.Fd())) == nil
}
