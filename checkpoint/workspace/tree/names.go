package tree

import "sync"

// dirNames holds the children of directories, as childrenOf returns them. A nil dirNames
// holds nothing.
type dirNames struct {
	mu       sync.Mutex
	children map[string][]string
}

func newDirNames() *dirNames { return &dirNames{children: map[string][]string{}} }

// of returns the recorded children of a directory.
func (l *dirNames) of(dir string) (children []string, ok bool) {
	if l == nil {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	children, ok = l.children[dir]
	return children, ok
}

// add records the children of a directory.
func (l *dirNames) add(dir string, children []string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.children[dir] = children
}
