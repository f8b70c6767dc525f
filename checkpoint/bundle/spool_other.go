//go:build !linux

package bundle

import (
	"errors"
	"os"
)

// unnamedFile makes a file that never has a name.
func unnamedFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }
