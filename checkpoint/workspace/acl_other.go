//go:build !linux

package workspace

import (
	"io/fs"
	"os"

	"prdrunner/checkpoint/workspace/tree"
)

// maskOnly returns the permission bits that a file's mode shows for its group, and
// that the group does not have: a mode has none here.
func maskOnly(*os.File, fs.FileMode) (uint32, error) { return 0, nil }

func maskOnlyAt(tree.Place, fs.FileMode) (uint32, error) { return 0, nil }

// setMode gives a file or directory a mode.
func setMode(f *os.File, mode fs.FileMode) error { return f.Chmod(mode) }
