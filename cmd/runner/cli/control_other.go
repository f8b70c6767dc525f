//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package cli

import (
	"os"

	"prdrunner/runner/view"
)

// newControl returns nil: here single keys can't be read without taking Ctrl+C from the user, and no key stops a
// process.
func newControl(*os.File) (c view.Control, end func()) { return nil, func() {} }
