package workspace

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// memo is what has been seen of a workspace that is still. What was not there, or
// could not be read, is looked for anew.
type memo struct {
	mu    sync.Mutex
	seen  []Entry          // what Now has listed, sorted by path
	other map[string]Entry // what else was described

	known func() (gitKnown, error) // waits for what git was asked; nil: it was not
}

// Still returns the workspace as it is as long as nothing runs in it: through
// this, each file is looked at once, and each directory is listed once. What is
// gathered at one moment is gathered through one; whoever looks after anything
// was run, or was put back, looks through the workspace itself or another one.
func (w *Workspace) Still() *Workspace {
	still := *w
	still.Tree = w.Tree.Still()
	still.memo = &memo{other: map[string]Entry{}}
	return &still
}

// Ahead has git list its files for Now of a still workspace, which comes soon, while
// something else is done. Whoever calls it calls done when nothing is to come any more.
func (w *Workspace) Ahead(ctx context.Context) (done func()) {
	git := w.Git()
	if w.memo == nil || git == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	known := beside(func() (gitKnown, error) { return w.askGit(ctx) })
	w.memo.mu.Lock()
	defer w.memo.mu.Unlock()
	w.memo.known = known
	return func() {
		cancel()
		_, _ = known() // whoever wanted it has it, or its error
	}
}

// gitKnown is what git knows, now or when it was asked.
func (w *Workspace) gitKnown(ctx context.Context) (gitKnown, error) {
	if w.Git() == nil {
		return gitKnown{}, nil
	}
	if w.memo != nil {
		w.memo.mu.Lock()
		known := w.memo.known
		w.memo.known = nil
		w.memo.mu.Unlock()
		if known != nil {
			return known()
		}
	}
	return w.askGit(ctx)
}

// saw remembers what Now has listed.
func (m *memo) saw(entries []Entry) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = entries
}

// note remembers what was described in addition, of some of the entries.
func (m *memo) note(entries []Entry, which []int) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range which {
		if path := entries[i].Path; path != "" {
			m.other[path] = entries[i]
		}
	}
}

// at returns what was seen at a path.
func (m *memo) at(path string) (Entry, bool) {
	if m == nil {
		return Entry{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.other[path]; ok {
		return e, true
	}
	i, ok := slices.BinarySearchFunc(m.seen, path, comparePath)
	if !ok || m.seen[i].isDir() {
		return Entry{}, false
	}
	return m.seen[i], true
}

// run returns what was seen at sorted paths where Now has listed these, and nothing
// between them: then it is a part of that.
func (m *memo) run(paths []string) (entries []Entry, ok bool) {
	if m == nil || len(paths) == 0 {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	from, _ := slices.BinarySearchFunc(m.seen, paths[0], comparePath)
	if len(m.seen)-from < len(paths) {
		return nil, false
	}
	entries = m.seen[from : from+len(paths) : from+len(paths)]
	for i := range entries {
		if entries[i].Path != paths[i] || entries[i].isDir() {
			return nil, false
		}
	}
	return entries, true
}

// recall puts what was seen at sorted paths in their places, and returns the
// places where nothing was.
func (m *memo) recall(paths []string, places []Entry) (rest []int) {
	var seen []Entry
	var other map[string]Entry
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		seen, other = m.seen, m.other
	}
	for i, path := range paths {
		for len(seen) > 0 && seen[0].Path < path {
			seen = seen[1:]
		}
		if len(seen) > 0 && seen[0].Path == path && !seen[0].isDir() {
			places[i] = seen[0]
		} else if e, ok := other[path]; ok {
			places[i] = e
		} else {
			rest = append(rest, i)
		}
	}
	return rest
}

func comparePath(e Entry, path string) int { return strings.Compare(e.Path, path) }
