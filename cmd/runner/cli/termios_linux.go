package cli

import "golang.org/x/sys/unix"

// The requests that read and set the settings of a terminal.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

// noKey in the settings says that no key has a function.
const noKey = 0
