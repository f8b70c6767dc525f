// Copyright the authors of Runner.

//go:build unix

package commands

import "path/filepath"

// programName is the name by which the user knows the program: without its directory.
func programName(path string) string { return filepath.Base(path) }
