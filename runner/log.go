package runner

import (
	"errors"
	"fmt"
	"os"

	"prdrunner/checkpoint/workspace"
)

// OpenLog opens the log of an attempt for reading. A process may have replaced the log:
// if it is no regular file, reading it might never end, so OpenLog returns an error.
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
