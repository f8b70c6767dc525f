//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// writable returns an error if files can't be made in a directory. It makes none: it asks for
// the permissions.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
