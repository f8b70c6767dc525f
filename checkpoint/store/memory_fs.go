package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// OpenFile implements FS. It follows a symbolic link once.
func (m *Memory) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.openNode(name, flag, perm)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &memoryFile{fs: m, node: n, name: filepath.Base(name), flag: flag}, nil
}

func (m *Memory) openNode(name string, flag int, perm fs.FileMode) (*node, error) {
	dir, base, err := m.parent(name)
	if err != nil {
		return nil, err
	}
	n := dir.names[base]
	if n != nil && flag&os.O_EXCL != 0 {
		return nil, fs.ErrExist
	}
	if n != nil && n.mode.Type() == fs.ModeSymlink {
		if n, err = m.lookup(filepath.Join(filepath.Dir(name), string(n.data))); err != nil {
			return nil, err
		}
	}
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, fs.ErrNotExist
	case n == nil:
		n = &node{mode: perm.Perm()}
		m.applyPending(change{sets: []entry{{dir, base, n}}})
		n.number = m.tick
	case n.mode.IsDir() && flag&(os.O_WRONLY|os.O_RDWR) != 0:
		return nil, syscall.EISDIR
	case flag&os.O_TRUNC != 0:
		n.data, n.dirty, n.truncated = nil, 0, true
		m.markChanged(n)
	}
	return n, nil
}

// Mkdir implements FS.
func (m *Memory) Mkdir(name string, perm fs.FileMode) error {
	return m.addNode("mkdir", name, newDir(fs.ModeDir|perm.Perm()))
}

// Symlink implements FS.
func (m *Memory) Symlink(target, name string) error {
	return m.addNode("symlink", name, &node{mode: fs.ModeSymlink | 0o777, data: []byte(target)})
}

// Link implements FS.
func (m *Memory) Link(from, to string) error {
	m.mu.Lock()
	n, err := m.lookup(from)
	m.mu.Unlock()
	if err != nil {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: err}
	}
	return m.addNode("link", to, n)
}

func (m *Memory) addNode(op, name string, n *node) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent(name)
	if err == nil && dir.names[base] != nil {
		err = fs.ErrExist
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	m.applyPending(change{sets: []entry{{dir, base, n}}})
	if n.number == 0 { // not a second name
		n.number = m.tick
	}
	return nil
}

// Readlink implements FS.
func (m *Memory) Readlink(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(name)
	if err == nil && n.mode.Type() != fs.ModeSymlink {
		err = fs.ErrInvalid
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return string(n.data), nil
}

// Rename implements FS.
func (m *Memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.rename(from, to); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func (m *Memory) rename(from, to string) error {
	source, old, err := m.parent(from)
	if err != nil {
		return err
	}
	n := source.names[old]
	if n == nil {
		return fs.ErrNotExist
	}
	target, name, err := m.parent(to)
	if err != nil {
		return err
	}
	if had := target.names[name]; had != nil && (had.mode.IsDir() || n.mode.IsDir()) {
		return fs.ErrExist // as os.Rename, which replaces no directory
	}
	if n.mode.IsDir() && slices.Contains(ancestors(m, to), n) {
		return fs.ErrInvalid
	}
	m.applyPending(change{sets: []entry{{source, old, nil}, {target, name, n}}})
	return nil
}

func ancestors(m *Memory, name string) []*node {
	found := []*node{m.root}
	n := m.root
	for _, part := range splitPath(name) {
		if n = n.names[part]; n == nil {
			break
		}
		found = append(found, n)
	}
	return found
}

// Remove implements FS.
func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent(name)
	var n *node
	if err == nil {
		switch n = dir.names[base]; {
		case n == nil:
			err = fs.ErrNotExist
		case len(n.names) > 0:
			err = syscall.ENOTEMPTY
		}
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	m.applyPending(change{sets: []entry{{dir, base, nil}}, gone: n})
	return nil
}

// SyncDir implements FS.
func (m *Memory) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(name)
	if err == nil && !n.mode.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: err}
	}
	m.syncNames(n)
	return nil
}

// ReadDir implements FS.
func (m *Memory) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(name)
	if err == nil && !n.mode.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	entries := make([]fs.DirEntry, 0, len(n.names))
	for name, child := range n.names {
		entries = append(entries, describe(name, child))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Lstat implements FS.
func (m *Memory) Lstat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(name)
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return describe(filepath.Base(name), n), nil
}
