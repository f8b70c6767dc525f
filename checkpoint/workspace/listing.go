package workspace

import (
	"cmp"
	"slices"

	"prdrunner/checkpoint/workspace/tree"
)

// Listing is the files at one moment.
type Listing struct {
	Patterns []string // that were captured
	LeftOut  []string // sensitive files that were not
	Unstable []string // files that were not, since they kept changing while they were read; sorted
	// Special is what was there and could not be taken in, sorted: it is neither
	// file, link nor directory, or may not be read, or is another repository. What
	// is below it is not known.
	Special []string
	Entries []Entry // sorted by path
	// Sparse are the files that a sparse checkout had left out of the work
	// tree, sorted by path: Mode and Blob are those of git's index, Size and
	// Digest are not known.
	Sparse []Entry
}

// ChangeKind is what happened to a path.
type ChangeKind string

// The kinds of change.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified" // its bytes, mode or kind
	Deleted  ChangeKind = "deleted"
)

// Change is a difference between two listings.
type Change struct {
	Path string
	Kind ChangeKind
	From *Entry // nil: added
	To   *Entry // nil: deleted
}

// Diff returns what leads from one listing to another, sorted by path.
// Entries are the same if path, mode and digest are. What the other listing
// left out is not deleted, and what was not checked out is not added where
// it is what git had for it. What lies in a state directory, as either listing
// shows, is not compared.
func Diff(from, to *Listing) []Change {
	var changes []Change
	a, b := from.Entries, to.Entries
	for len(a) > 0 || len(b) > 0 {
		switch order := comparePaths(a, b); {
		case order < 0:
			if !to.omits(a[0].Path) { // it may well be there
				changes = append(changes, Change{Path: a[0].Path, Kind: Deleted, From: &a[0]})
			}
			a = a[1:]
		case order > 0:
			if !from.hasSparse(b[0]) {
				changes = append(changes, Change{Path: b[0].Path, Kind: Added, To: &b[0]})
			}
			b = b[1:]
		default:
			if !same(a[0], b[0]) {
				changes = append(changes, Change{Path: a[0].Path, Kind: Modified, From: &a[0], To: &b[0]})
			}
			a, b = a[1:], b[1:]
		}
	}
	return slices.DeleteFunc(changes, func(c Change) bool { return from.hasStateDir(c.Path) || to.hasStateDir(c.Path) })
}

// comparePaths compares the first paths of two lists. What is in one list only
// is before the end of the other.
func comparePaths(a, b []Entry) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return cmp.Compare(a[0].Path, b[0].Path)
}

func same(a, b Entry) bool { return a.Path == b.Path && a.Mode == b.Mode && a.Digest == b.Digest }

// at returns the entry of a path. A listing that there is not has none.
func (l *Listing) at(path string) (Entry, bool) {
	if l == nil {
		return Entry{}, false
	}
	i, there := slices.BinarySearchFunc(l.Entries, path, func(e Entry, path string) int { return cmp.Compare(e.Path, path) })
	if !there {
		return Entry{}, false
	}
	return l.Entries[i], true
}

// With returns the listing with some entries replaced or added. What cannot be
// beside them gives way: what is below a path that is a file now, a file that
// is a directory now, and an empty directory that is not empty any more. No entries
// give the listing itself.
func (l *Listing) With(entries []Entry) *Listing {
	if len(entries) == 0 {
		return l
	}
	added := slices.Clone(entries)
	slices.SortStableFunc(added, byPath)
	added = lastOfEach(added)
	taken := map[string]bool{}
	above := map[string]bool{}
	for _, e := range added {
		taken[e.Path] = true
		for dir := range tree.Parents(e.Path) {
			above[dir] = true
		}
	}
	all := added
	for _, e := range l.Entries {
		if taken[e.Path] || above[e.Path] || tree.IsBelow(e.Path, taken) {
			continue
		}
		all = append(all, e)
	}
	slices.SortFunc(all, byPath)
	return &Listing{
		Patterns: l.Patterns, LeftOut: l.LeftOut, Entries: all, Sparse: l.sparseWithout(taken),
		Unstable: slices.DeleteFunc(slices.Clone(l.Unstable), func(path string) bool { return taken[path] }),
		Special:  slices.DeleteFunc(slices.Clone(l.Special), func(path string) bool { return taken[path] || tree.IsBelow(path, taken) }),
	}
}

// Without returns the listing without the files at some paths.
func (l *Listing) Without(paths map[string]bool) *Listing {
	if len(paths) == 0 {
		return l
	}
	rest := *l
	rest.Entries = slices.DeleteFunc(slices.Clone(l.Entries), func(e Entry) bool { return paths[e.Path] })
	return &rest
}

// OutsideState returns the changes but those of files that lie in a state directory
// now. Nobody but the runners that keep state there may change these.
func (w *Workspace) OutsideState(changes []Change) []Change {
	known := map[string]bool{}
	return slices.DeleteFunc(changes, func(c Change) bool {
		for dir := range tree.Parents(c.Path) {
			is, asked := known[dir]
			if !asked {
				is = tree.IsStateDir(w.Lstat, dir)
				known[dir] = is
			}
			if is {
				return true
			}
		}
		return false
	})
}

// hasStateDir reports whether a listing shows that a path lies in a state directory:
// earlier versions captured those that git tracked.
func (l *Listing) hasStateDir(path string) bool {
	for dir := range tree.Parents(path) {
		if _, there := l.at(dir + "/" + tree.StateLock); there {
			return true
		}
	}
	return false
}

func byPath(a, b Entry) int { return cmp.Compare(a.Path, b.Path) }

// lastOfEach keeps the last of the entries of each path.
func lastOfEach(sorted []Entry) []Entry {
	kept := sorted[:0]
	for i, e := range sorted {
		if i+1 == len(sorted) || sorted[i+1].Path != e.Path {
			kept = append(kept, e)
		}
	}
	return kept
}
