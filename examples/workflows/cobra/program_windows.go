// Copyright the authors of Runner.

package commands

import (
	"path/filepath"
	"strings"
)

// programName is the name by which the user knows the program: without its directory, and
// without the ending that Windows does not ask for.
func programName(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".EXE")
}
