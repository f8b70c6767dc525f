package tree

import "sync"

// dirNames remembers what directories hold, as childrenOf lists it. A nil one
// remembers nothing.
type dirNames struct {
	mu       sync.Mutex
	children map[string][]string
}

func newDirNames() *dirNames { return &dirNames{children: map[string][]string{}} }

// of returns what a directory held when it was listed.
func (l *dirNames) of(dir string) (children []string, ok bool) {
	if l == nil {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	children, ok = l.children[dir]
	return children, ok
}

// add remembers what a directory holds.
func (l *dirNames) add(dir string, children []string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.children[dir] = children
}
