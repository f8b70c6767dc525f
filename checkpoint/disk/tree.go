package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/store"
)

// EmptyTrash removes the discarded directories. The caller holds the lock on the whole
// state directory.
func (l *Layout) EmptyTrash() error {
	there, err := store.Exists(l.FS, l.TrashPath())
	if err == nil && !there {
		return nil
	}
	if err == nil {
		err = store.RemoveAll(l.FS, l.TrashPath())
	}
	if err == nil {
		err = l.FS.SyncDir(l.Path)
	}
	if err != nil {
		return fmt.Errorf("empty the trash: %w", err)
	}
	return nil
}

// Below returns a path relative to the state directory.
func (l *Layout) Below(path string) string {
	rel, err := filepath.Rel(l.Path, path)
	if err != nil {
		return path
	}
	return rel
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
