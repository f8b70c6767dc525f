//go:build unix

package workspace

import "syscall"

// openNonblock keeps an open from waiting for the writer of a named pipe that
// took a file's place.
const openNonblock = syscall.O_NONBLOCK
