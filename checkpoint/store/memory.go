package store

import (
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Memory is a file system in memory. It has two planes: what the running
// programs see, and what is there after a power cut whatever happens. Sync moves
// the content of a file to the second plane, SyncDir the names in a directory;
// nothing else does. What lies between the two may survive a power cut or not:
// CrashStates yields all that could be there. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	root    *node
	tick    int64    // counts changes, and stands for the time of each
	pending []change // of names, which no sync has covered
}

// node is a file, directory or symbolic link.
type node struct {
	mode    fs.FileMode
	data    []byte // of a file; the target of a link
	synced  []byte
	dirty   int              // from where on data may differ from synced
	cut     bool             // to nothing, since it was synced
	lent    bool             // data and synced are also those of another Memory's node
	names   map[string]*node // of a directory
	durable map[string]*node
	changed int64
	number  int64 // of its own, which no other has

	locked bool // exclusively
	shared int
}

// NewMemory returns an empty file system.
func NewMemory() *Memory { return &Memory{root: newDir(fs.ModeDir | DirPerm)} }

func newDir(mode fs.FileMode) *node {
	return &node{mode: mode, names: map[string]*node{}, durable: map[string]*node{}}
}

// lookup finds a node; the caller holds the mutex.
func (m *Memory) lookup(name string) (*node, error) {
	n := m.root
	for _, part := range split(name) {
		if !n.mode.IsDir() {
			return nil, syscall.ENOTDIR
		}
		if n = n.names[part]; n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}

// parent finds the directory that a name lies in.
func (m *Memory) parent(name string) (*node, string, error) {
	dir, err := m.lookup(filepath.Dir(name))
	if err != nil {
		return nil, "", err
	}
	if !dir.mode.IsDir() {
		return nil, "", syscall.ENOTDIR
	}
	return dir, filepath.Base(name), nil
}

func split(name string) []string {
	clean := strings.Trim(filepath.ToSlash(filepath.Clean(name)), "/")
	if clean == "" || clean == "." {
		return nil
	}
	return strings.Split(clean, "/")
}

func (m *Memory) touch(n *node) {
	m.tick++
	n.changed = m.tick
}

// memoryInfo describes a node as it was.
type memoryInfo struct {
	name    string
	size    int64
	mode    fs.FileMode
	changed int64
	node    *node
}

func describe(name string, n *node) *memoryInfo {
	return &memoryInfo{name: name, size: int64(len(n.data)), mode: n.mode, changed: n.changed, node: n}
}

func (i *memoryInfo) Name() string               { return i.name }
func (i *memoryInfo) Size() int64                { return i.size }
func (i *memoryInfo) Mode() fs.FileMode          { return i.mode }
func (i *memoryInfo) ModTime() time.Time         { return time.Unix(0, i.changed).UTC() }
func (i *memoryInfo) IsDir() bool                { return i.mode.IsDir() }
func (i *memoryInfo) Sys() any                   { return nil }
func (i *memoryInfo) Type() fs.FileMode          { return i.mode.Type() }
func (i *memoryInfo) Info() (fs.FileInfo, error) { return i, nil }
