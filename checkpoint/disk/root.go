package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/text"
)

// MakeRoot creates the state directory. The file that marks it as Runner's comes first.
func (l *Layout) MakeRoot() error {
	locks := filepath.Join(l.Path, LocksDir)
	if err := store.MkdirAll(l.FS, locks); err != nil {
		return err
	}
	for _, dir := range []string{l.Path, locks} {
		if err := l.CheckDir(dir); err != nil {
			return err
		}
	}
	ignore := filepath.Join(l.Path, IgnoreName)
	if there, err := store.Exists(l.FS, ignore); err != nil || there {
		return err
	}
	return store.WriteFile(l.FS, ignore, []byte("*\n"))
}

// MissingRoot returns the paths that MakeRoot and the lock on the state directory would
// create, parents first.
func (l *Layout) MissingRoot() ([]string, error) {
	paths := []string{l.Path, filepath.Join(l.Path, LocksDir), filepath.Join(l.Path, IgnoreName), l.StoreLockPath()}
	for dir := filepath.Dir(l.Path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		paths = slices.Insert(paths, 0, dir)
	}
	var missing []string
	for _, path := range paths {
		there, err := store.Exists(l.FS, path)
		if err != nil {
			return nil, fmt.Errorf("look for the state directory: %w", err)
		}
		if !there {
			missing = append(missing, path)
		}
	}
	return missing, nil
}

// UnmakeRoot removes the paths that MissingRoot returned, if no other process uses the
// state directory by now. While it works, other processes can't lock it.
func (l *Layout) UnmakeRoot(made []string) error {
	only, err := l.FS.TryLock(l.StoreLockPath(), false)
	switch {
	case errors.Is(err, store.ErrLocked):
		return nil
	case errors.Is(err, fs.ErrNotExist): // it was not created completely
	case err != nil:
		return fmt.Errorf("remove the state directory that was made: %w", err)
	}
	err = nil
	for _, path := range slices.Backward(made) {
		failed := l.FS.Remove(path)
		if failed == nil || errors.Is(failed, fs.ErrNotExist) {
			continue
		}
		if len(path) >= len(l.Path) { // another process has put something there
			err = l.MakeRoot()
		}
		break
	}
	if only != nil {
		err = errors.Join(err, only.Unlock())
	}
	return err
}

// CheckLayout refuses a state directory in which a link stands in the place of a
// directory: what Runner lists, writes or removes behind it may belong to someone else. It
// checks the directories that all PRDs share and, if prd is not "", those of that PRD. It
// creates nothing. The caller holds a lock.
func (l *Layout) CheckLayout(prd string) error {
	var dirs []string
	for _, name := range []string{ObjectsDir, FailedDir, TrashDir, SafetyDir, UntrustedDir} {
		dirs = append(dirs, filepath.Join(l.Path, name))
	}
	if prd != "" {
		for _, dir := range []string{l.PRDDir(prd), l.ArchivingPath(prd), l.DeletingPath(prd), l.ImportingPath(prd)} {
			dirs = append(dirs, dir)
			for _, name := range []string{CheckpointsDir, HistoryDir, LogsDir, RunDir, InboxDir} {
				dirs = append(dirs, filepath.Join(dir, name))
			}
		}
	}
	for _, dir := range dirs {
		if err := l.CheckDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// CheckDir refuses a directory that another user could change.
func (l *Layout) CheckDir(dir string) error {
	info, err := l.FS.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the state directory: %w", err)
	}
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		if dir != l.Path {
			return &DirError{dir, "it is a symbolic link, and what lies behind it is not touched; remove it, or put what it names in its place"}
		}
		return &DirError{dir, "it is a symbolic link; name the directory itself: set checkpoint.storage.location to what `readlink -f " + text.ShellWord(dir) + "` prints"}
	case !info.IsDir():
		return &DirError{dir, "it is not a directory"}
	case IsForeign(info):
		return &DirError{dir, fmt.Sprintf("it belongs to another user, who could change what is in it; as root, chown -R %d %s makes it yours", os.Geteuid(), text.ShellWord(dir))}
	case isWorldWritable(info):
		return &DirError{dir, "everybody may write to it; chmod o-w " + text.ShellWord(dir)}
	}
	return nil
}

// DirError says why a directory cannot be the state directory.
type DirError struct {
	Path   string
	Detail string
}

func (e *DirError) Error() string { return fmt.Sprintf("state directory %s: %s", e.Path, e.Detail) }
