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

// MakeRoot creates the state directory, the mark that it is ours first.
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
	if there, err := l.Exists(ignore); err != nil || there {
		return err
	}
	return store.WriteFile(l.FS, ignore, []byte("*\n"))
}

// MissingRoot returns what MakeRoot, and the lock on all of it, would have to
// make, each directory before what is in it.
func (l *Layout) MissingRoot() ([]string, error) {
	paths := []string{l.Path, filepath.Join(l.Path, LocksDir), filepath.Join(l.Path, IgnoreName), l.StoreLockPath()}
	for dir := filepath.Dir(l.Path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		paths = slices.Insert(paths, 0, dir)
	}
	var missing []string
	for _, path := range paths {
		there, err := l.Exists(path)
		if err != nil {
			return nil, fmt.Errorf("look for the state directory: %w", err)
		}
		if !there {
			missing = append(missing, path)
		}
	}
	return missing, nil
}

// UnmakeRoot removes what MissingRoot missed, and was made since, unless somebody
// else uses it by now. Who is about to is refused the lock.
func (l *Layout) UnmakeRoot(made []string) error {
	only, err := l.FS.TryLock(l.StoreLockPath(), false)
	switch {
	case errors.Is(err, store.ErrLocked):
		return nil
	case errors.Is(err, fs.ErrNotExist): // it was not made whole
	case err != nil:
		return fmt.Errorf("remove the state directory that was made: %w", err)
	}
	err = nil
	for _, path := range slices.Backward(made) {
		failed := l.FS.Remove(path)
		if failed == nil || errors.Is(failed, fs.ErrNotExist) {
			continue
		}
		if len(path) >= len(l.Path) { // something came into it
			err = l.MakeRoot()
		}
		break
	}
	if only != nil {
		err = errors.Join(err, only.Unlock())
	}
	return err
}

// CheckLayout refuses a state directory in which something that is to be a
// directory is none of its own: what would be listed, written or removed behind
// a link is somebody else's. It looks at what all PRDs share and, unless prd is
// "", at what the owner of that one works on. It makes none; the caller holds a
// lock.
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

// CheckDir refuses a directory that somebody else could have a hand in: the
// state directory, or one in it.
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
