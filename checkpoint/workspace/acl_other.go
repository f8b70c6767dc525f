//go:build !linux

package workspace

import (
	"io/fs"
	"os"

	"prdrunner/checkpoint/workspace/tree"
)

// maskOnly returns 0: on this system, a mode shows no bits of an ACL.
func maskOnly(*os.File, fs.FileMode) (uint32, error) { return 0, nil }

func maskOnlyAt(tree.Place, fs.FileMode) (uint32, error) { return 0, nil }

// setMode sets the mode of a file or directory.
func setMode(f *os.File, mode fs.FileMode) error { return f.Chmod(mode) }
