package store

import (
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Memory is a file system in memory. It holds two states: the live one, which programs see,
// and the durable one, which a power cut leaves in any case. Sync moves the content of a
// file to the durable state, SyncDir the names in a directory; nothing else does. A power
// cut may keep or lose any difference: CrashStates yields the possible results. Memory is
// safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	root    *node
	tick    int64    // counts changes, and serves as their time
	pending []change // changes of names that no SyncDir made durable
}

// node is a file, directory or symbolic link.
type node struct {
	mode       fs.FileMode
	data       []byte // content of a file, or target of a link
	synced     []byte
	dirty      int              // offset from which data may differ from synced
	truncated  bool             // it was truncated to nothing after the last Sync
	dataShared bool             // another Memory's node has the same data and synced
	names      map[string]*node // entries of a directory
	durable    map[string]*node
	changed    int64
	number     int64 // unique in this Memory

	locked bool // exclusively
	shared int
}

// NewMemory returns an empty file system.
func NewMemory() *Memory { return &Memory{root: newDir(fs.ModeDir | DirPerm)} }

func newDir(mode fs.FileMode) *node {
	return &node{mode: mode, names: map[string]*node{}, durable: map[string]*node{}}
}

// lookup finds a node. The caller holds the mutex.
func (m *Memory) lookup(name string) (*node, error) {
	n := m.root
	for _, part := range splitPath(name) {
		if !n.mode.IsDir() {
			return nil, syscall.ENOTDIR
		}
		if n = n.names[part]; n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}

// parent returns the directory of a path, and the last element.
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

func splitPath(name string) []string {
	clean := strings.Trim(filepath.ToSlash(filepath.Clean(name)), "/")
	if clean == "" || clean == "." {
		return nil
	}
	return strings.Split(clean, "/")
}

func (m *Memory) markChanged(n *node) {
	m.tick++
	n.changed = m.tick
}

// memoryInfo describes a node at one moment.
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

// SameFile reports whether another description is of the same node.
func (i *memoryInfo) SameFile(other fs.FileInfo) bool {
	o, ok := other.(*memoryInfo)
	return ok && i.node == o.node
}

// Identity returns the identity of the node.
func (i *memoryInfo) Identity() Identity {
	return Identity{Device: 1, Number: uint64(i.node.number)}
}

func (i *memoryInfo) Name() string               { return i.name }
func (i *memoryInfo) Size() int64                { return i.size }
func (i *memoryInfo) Mode() fs.FileMode          { return i.mode }
func (i *memoryInfo) ModTime() time.Time         { return time.Unix(0, i.changed).UTC() }
func (i *memoryInfo) IsDir() bool                { return i.mode.IsDir() }
func (i *memoryInfo) Sys() any                   { return nil }
func (i *memoryInfo) Type() fs.FileMode          { return i.mode.Type() }
func (i *memoryInfo) Info() (fs.FileInfo, error) { return i, nil }
