package workspace

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// memo holds the descriptions of files in a workspace that does not change. Files that did
// not exist, or could not be read, are looked up again.
type memo struct {
	mu    sync.Mutex
	seen  []Entry          // the entries that Now listed, sorted by path
	other map[string]Entry // entries that were described outside of Now, by path

	known func() (gitKnown, error) // waits for the result of ListGitAhead; nil if it was not called
}

// WithMemo returns a view of the workspace that describes each file once and lists each
// directory once. It is valid as long as nothing changes in the workspace: after a program
// has run or files were restored, callers must use the workspace itself or a new view.
func (w *Workspace) WithMemo() *Workspace {
	still := *w
	still.tree = w.tree.WithListingCache()
	still.memo = &memo{other: map[string]Entry{}}
	return &still
}

// ListGitAhead starts to list git's files for a later Now of a view that WithMemo
// returned. The caller must call done when it will not call Now again.
func (w *Workspace) ListGitAhead(ctx context.Context) (done func()) {
	git := w.Git()
	if w.memo == nil || git == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	known := runAsync(func() (gitKnown, error) { return w.gitLister().listKnown(ctx) })
	w.memo.mu.Lock()
	defer w.memo.mu.Unlock()
	w.memo.known = known
	return func() {
		cancel()
		_, _ = known() // the method gitKnown has returned the error, if it was called
	}
}

// gitKnown returns the files that git knows, from ListGitAhead if it was called, else
// from git. If captures do not use git, it returns none.
func (m *memo) gitKnown(ctx context.Context, lister *gitLister) (gitKnown, error) {
	if lister.git == nil {
		return gitKnown{}, nil
	}
	m.mu.Lock()
	known := m.known
	m.known = nil
	m.mu.Unlock()
	if known != nil {
		return known()
	}
	return lister.listKnown(ctx)
}

// keepRun records the entries that Now listed.
func (m *memo) keepRun(entries []Entry) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = entries
}

// record records the entries at the given indexes, which were described outside of Now.
func (m *memo) record(entries []Entry, which []int) {
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

// lookup returns the recorded entry at a path.
func (m *memo) lookup(path string) (Entry, bool) {
	if m == nil {
		return Entry{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.other[path]; ok {
		return e, true
	}
	i, ok := slices.BinarySearchFunc(m.seen, path, comparePath)
	if !ok || m.seen[i].IsDir() {
		return Entry{}, false
	}
	return m.seen[i], true
}

// lookupRun returns the recorded entries at sorted paths, if Now listed exactly these in
// sequence. The result is then a part of Now's list.
func (m *memo) lookupRun(paths []string) (entries []Entry, ok bool) {
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
		if entries[i].Path != paths[i] || entries[i].IsDir() {
			return nil, false
		}
	}
	return entries, true
}

// recall sets the places of sorted paths to their recorded entries, and returns the
// indexes of the paths that have none.
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
		if len(seen) > 0 && seen[0].Path == path && !seen[0].IsDir() {
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

// runAsync runs do in a goroutine and returns a function that waits for the result. The
// caller must call that function, since nothing else waits for the goroutine.
func runAsync[T any](do func() (T, error)) (wait func() (T, error)) {
	done := make(chan struct{})
	var result T
	var err error
	go func() {
		defer close(done)
		result, err = do()
	}()
	return func() (T, error) {
		<-done
		return result, err
	}
}

// WithGit returns the workspace with the view of an earlier capture: with git if that
// capture used git and the repository exists, else without.
func (w *Workspace) WithGit(inGit bool) *Workspace {
	if inGit == (w.Git() != nil) || w.o.Git == nil {
		return w
	}
	as := *w
	as.o.Mode = GitOff
	if inGit {
		as.o.Mode = GitRef
	}
	described := *w.files
	described.namesBlobs = inGit
	as.files = &described
	return &as
}

// OnlyPatterns returns a view of the workspace in which the files that git knows are not
// in scope by themselves: a capture, or Now, has the files that match its patterns, and
// not those behind links. Git still keeps the bytes of those that it knows.
func (w *Workspace) OnlyPatterns() *Workspace {
	as := *w
	as.narrow = true
	return &as
}

// WithDetector returns a view of the workspace that also excludes files in whose content a
// further detector finds something, as RefuseContent does for the whole workspace.
func (w *Workspace) WithDetector(detector func() Detector) *Workspace {
	as := *w
	described := *w.files
	described.refusal = &refusal{further: detector, found: map[string]bool{}}
	if r := w.files.refusal; r != nil {
		described.refusal.detector, described.refusal.all = r.detector, r.all
	}
	as.files = &described
	return &as
}

// WithSensitive returns a view of the workspace in which no file is excluded, neither for
// its name nor for its content.
func (w *Workspace) WithSensitive() *Workspace {
	as := *w
	as.unguarded, as.sensitivity = true, &sensitivity{}
	described := *w.files
	described.refusal = nil
	as.files = &described
	return &as
}
