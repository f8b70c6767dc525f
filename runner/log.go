package runner

import (
	"errors"
	"fmt"
	"os"

	"prdrunner/checkpoint/workspace"
)

// OpenLog opens the log of an attempt to read it. A process may have put
// anything in its place: what is no file, and may have no end, is an error.
func OpenLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|workspace.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
