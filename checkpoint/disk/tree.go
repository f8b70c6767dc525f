package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"prdrunner/checkpoint/store"
)

// EmptyTrash removes the discarded directories. The caller holds the lock on the whole
// state directory.
func (l *Layout) EmptyTrash() error {
	there, err := l.Exists(l.TrashPath())
	if err == nil && !there {
		return nil
	}
	if err == nil {
		err = l.RemoveAll(l.TrashPath())
	}
	if err == nil {
		err = l.FS.SyncDir(l.Path)
	}
	if err != nil {
		return fmt.Errorf("empty the trash: %w", err)
	}
	return nil
}

// RemoveAll removes a directory with its contents. It follows no link.
func (l *Layout) RemoveAll(path string) error {
	info, err := l.FS.Lstat(path)
	if err == nil && info.IsDir() {
		err = l.RemoveEntries(path)
	}
	if err == nil {
		err = l.FS.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (l *Layout) RemoveEntries(dir string) error {
	entries, err := l.FS.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := l.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// TreeSize returns the sum of the sizes of all files below a directory.
func (l *Layout) TreeSize(dir string) (int64, error) {
	var total int64
	err := l.EachSize(dir, "", func(_ string, size int64) { total += size })
	return total, err
}

// EachSize calls tell with the name and size of each entry of a directory, except one. A
// missing directory is empty.
func (l *Layout) EachSize(dir, except string, tell func(name string, size int64)) error {
	entries, err := l.FS.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look how large %s is: %w", dir, err)
	}
	for _, e := range entries {
		if e.Name() == except {
			continue
		}
		size, err := l.EntrySize(dir, e)
		if err != nil {
			return err
		}
		tell(e.Name(), size)
	}
	return nil
}

func (l *Layout) EntrySize(dir string, e fs.DirEntry) (int64, error) {
	if e.IsDir() {
		return l.TreeSize(filepath.Join(dir, e.Name()))
	}
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) { // gone since it was listed
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look how large %s is: %w", e.Name(), err)
	}
	return info.Size(), nil
}

// Below returns a path relative to the state directory.
func (l *Layout) Below(path string) string {
	rel, err := filepath.Rel(l.Path, path)
	if err != nil {
		return path
	}
	return rel
}

// CopyTree copies a directory and everything in it, durably.
func (l *Layout) CopyTree(from, to string) error {
	if err := l.RemoveAll(to); err != nil { // a move was cut short
		return err
	}
	if err := l.FS.Mkdir(to, store.DirPerm); err != nil {
		return err
	}
	entries, err := l.FS.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := l.copyEntry(e, filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return fmt.Errorf("copy %s: %w", e.Name(), err)
		}
	}
	return l.FS.SyncDir(to)
}

func (l *Layout) copyEntry(e fs.DirEntry, from, to string) error {
	switch e.Type() {
	case fs.ModeDir:
		return l.CopyTree(from, to)
	case fs.ModeSymlink:
		target, err := l.FS.Readlink(from)
		if err != nil {
			return err
		}
		return l.FS.Symlink(target, to)
	}
	return l.copyFile(from, to)
}

func (l *Layout) copyFile(from, to string) (err error) {
	in, err := store.OpenRegular(l.FS, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := l.FS.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, store.FilePerm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// Exists reports whether a path exists. An error means that this is not known; callers
// must not take it for "no", since they remove or replace things.
func (l *Layout) Exists(path string) (bool, error) {
	_, err := l.FS.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}

// FreePath returns the path wish if nothing exists there, else wish with a number
// appended.
func (l *Layout) FreePath(wish string) (string, error) {
	path := wish
	for n := 2; ; n++ {
		there, err := l.Exists(path)
		if !there {
			return path, err
		}
		path = fmt.Sprintf("%s-%d", wish, n)
	}
}

// Directories lists the directories in dir. A missing dir has none.
func (l *Layout) Directories(dir string) ([]string, error) {
	entries, err := l.FS.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the sessions: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Journals returns the journal in dir, and the journals that it was compacted from.
func (l *Layout) Journals(dir string) ([]string, error) {
	entries, err := l.FS.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the journals in %s: %w", dir, err)
	}
	paths := []string{filepath.Join(dir, JournalName)}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, "journal.") && strings.HasSuffix(name, ".jsonl") && name != JournalName {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, nil
}

// RemoveDurably removes a file, if it exists, so that it does not reappear after a power
// cut.
func (l *Layout) RemoveDurably(path string) error {
	if err := l.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if err := l.FS.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}
