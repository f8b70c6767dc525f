package runner

import (
	"errors"
	"fmt"
	"os"

	"prdrunner/checkpoint/workspace"
)

// nextLog returns the number of the next attempt at a hook: the first one of which there
// is no log. The journal does not count these attempts, and no attempt may overwrite the
// log of another one, which a killed Runner may have started.
func (l *loop) nextLog(name string) int {
	for attempt := 1; ; attempt++ {
		if _, err := os.Lstat(l.opts.Store.Layout().LogPath(l.pipeline.ID, name, attempt)); err != nil {
			return attempt
		}
	}
}

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
