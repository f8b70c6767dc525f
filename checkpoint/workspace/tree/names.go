package tree

import "sync"

// dirNames caches the children of directories, as childrenOf returns them. A nil dirNames
// caches nothing.
type dirNames struct {
	mu       sync.Mutex
	children map[string][]string
}

func newDirNames() *dirNames { return &dirNames{children: map[string][]string{}} }

// lookup returns the recorded children of a directory.
func (l *dirNames) lookup(dir string) (children []string, ok bool) {
	if l == nil {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	children, ok = l.children[dir]
	return children, ok
}

// record records the children of a directory.
func (l *dirNames) record(dir string, children []string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.children[dir] = children
}
