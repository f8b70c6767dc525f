//go:build !linux

package bundle

import (
	"errors"
	"os"
)

// unnamedFile is not supported here.
func unnamedFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }
