//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package cli

import (
	"context"
	"os"
)

// awaitLine returns at once: the read waits.
func awaitLine(context.Context, *os.File, func()) error { return nil }
