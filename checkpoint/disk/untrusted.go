package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"prdrunner/checkpoint/store"
)

// MoveUntrusted moves all state of a PRD to a new directory in untrusted/. The files keep
// their names relative to the state directory.
func (l *Layout) MoveUntrusted(prd string, now time.Time) (string, error) {
	to, err := store.FreePath(l.FS, filepath.Join(l.Path, UntrustedDir, EncodeName(prd)+"-"+now.Format(StampFormat)))
	if err == nil {
		err = store.MkdirAll(l.FS, filepath.Join(to, FailedDir))
	}
	if err != nil {
		return "", err
	}
	names, err := l.stateNames(prd)
	for _, name := range names {
		if err == nil {
			err = l.Move(prd, filepath.Join(l.Path, name), filepath.Join(to, name))
		}
	}
	return to, err
}

// stateNames returns the files and directories of a PRD's state, relative to the state
// directory.
func (l *Layout) stateNames(prd string) ([]string, error) {
	var names []string
	for _, dir := range []string{"", FailedDir} {
		entries, err := l.FS.ReadDir(filepath.Join(l.Path, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list what there is of %s: %w", prd, err)
		}
		for _, e := range entries {
			name := filepath.Join(dir, e.Name())
			if IsStateOf(prd, filepath.ToSlash(name)) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}
