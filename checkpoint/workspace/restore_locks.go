package workspace

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"

	"prdrunner/checkpoint/failpoint"
	"prdrunner/checkpoint/workspace/tree"
)

// locks are directories whose modes forbid changes. They are made writable as needed, and
// their modes are reset at the end.
type locks struct {
	mu    sync.Mutex
	modes map[string]fs.FileMode
}

// change calls do with a directory. If do fails for lack of permission, change makes the
// directory writable and calls do again.
func (l *locks) change(c *tree.Cursor, path string, do func(dir *os.Root) error) error {
	dir, err := c.Enter(path)
	if err != nil {
		return err
	}
	if err := failpoint.Before(failpoint.Change, path); err != nil {
		return err
	}
	err = do(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	opened, failure := l.openWritable(dir, path)
	if failure != nil || !opened {
		return errors.Join(err, failure)
	}
	return do(dir)
}

// openWritable makes a directory writable if its mode forbids changes.
func (l *locks) openWritable(dir *os.Root, path string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.modes[path]; ok {
		return true, nil // another goroutine has made it writable
	}
	info, err := dir.Stat(".")
	if err != nil || info.Mode().Perm()&0o300 == 0o300 {
		return false, err
	}
	if err := failpoint.Before(failpoint.Chmod, path); err != nil {
		return false, err
	}
	if err := dir.Chmod(".", info.Mode().Perm()|0o700); err != nil {
		return false, err
	}
	if l.modes == nil {
		l.modes = map[string]fs.FileMode{}
	}
	l.modes[path] = info.Mode().Perm()
	return true, nil
}

// restore resets the modes of the directories.
func (l *locks) restore(w *Workspace) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := w.tree.Cursor()
	defer c.Close()
	var all []error
	for path, mode := range l.modes {
		dir, err := c.Enter(path)
		if tree.IsAbsent(err) {
			continue
		}
		if err == nil {
			err = failpoint.Before(failpoint.Chmod, path)
		}
		if err == nil {
			err = dir.Chmod(".", mode)
		}
		all = append(all, err)
	}
	return errors.Join(slices.DeleteFunc(all, func(err error) bool { return err == nil })...)
}
