package workspace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/tree"
)

// Listing holds the files of a workspace at one moment.
type Listing struct {
	Patterns []string // the globs that were captured
	LeftOut  []string // excluded files, sorted
	Unstable []string // unreadable files that kept changing while they were read, sorted
	// Special are the other unreadable paths, sorted: Runner may not read them, or they
	// are another repository, or no file, link or directory. The files below them are not
	// known.
	Special []string
	Entries []Entry // sorted by path
	// Sparse are the files that a sparse checkout omits from the work tree, sorted by path.
	// Mode and Blob are those of git's index; Size and Digest are not known.
	Sparse []Entry
}

// ChangeKind says what happened to a path.
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

// Diff returns the changes that lead from one listing to another, sorted by path. Entries
// are equal if path, mode and digest are. A file that to names as excluded or unreadable
// is not deleted. A file that from has as sparse, with the same content, is not added.
// Files in a state directory, as either listing shows it, are not compared.
func Diff(from, to *Listing) []Change {
	var changes []Change
	a, b := from.Entries, to.Entries
	for len(a) > 0 || len(b) > 0 {
		switch order := comparePaths(a, b); {
		case order < 0:
			if !to.mayExist(a[0].Path) { // the file may exist
				changes = append(changes, Change{Path: a[0].Path, Kind: Deleted, From: &a[0]})
			}
			a = a[1:]
		case order > 0:
			if !from.hasSparse(b[0]) {
				changes = append(changes, Change{Path: b[0].Path, Kind: Added, To: &b[0]})
			}
			b = b[1:]
		default:
			if !sameEntry(a[0], b[0]) {
				changes = append(changes, Change{Path: a[0].Path, Kind: Modified, From: &a[0], To: &b[0]})
			}
			a, b = a[1:], b[1:]
		}
	}
	return slices.DeleteFunc(changes, func(c Change) bool { return from.hasStateDir(c.Path) || to.hasStateDir(c.Path) })
}

// comparePaths compares the first paths of two lists. An empty list compares as greater.
func comparePaths(a, b []Entry) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return cmp.Compare(a[0].Path, b[0].Path)
}

func sameEntry(a, b Entry) bool { return a.Path == b.Path && a.Mode == b.Mode && a.Digest == b.Digest }

// entryAt returns the entry of a path. A nil listing has no entries.
func (l *Listing) entryAt(path string) (Entry, bool) {
	if l == nil {
		return Entry{}, false
	}
	i, there := slices.BinarySearchFunc(l.Entries, path, func(e Entry, path string) int { return cmp.Compare(e.Path, path) })
	if !there {
		return Entry{}, false
	}
	return l.Entries[i], true
}

// With returns the listing with entries added or replaced. Entries that conflict with them
// are removed: those below a path that becomes a file, a file that becomes a directory,
// and an empty directory that is no longer empty. Without entries it returns the listing
// itself.
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

// OutsideState returns the changes whose files do not lie in a state directory now. Only
// the runners that keep their state there may change these files.
func (w *Workspace) OutsideState(changes []Change) []Change {
	known := map[string]bool{}
	return slices.DeleteFunc(changes, func(c Change) bool {
		for dir := range tree.Parents(c.Path) {
			is, asked := known[dir]
			if !asked {
				is = tree.IsStateDir(w.tree.Lstat, dir)
				known[dir] = is
			}
			if is {
				return true
			}
		}
		return false
	})
}

// hasStateDir reports whether a path lies in a state directory, according to the listing.
// Earlier versions captured state directories that git tracked.
func (l *Listing) hasStateDir(path string) bool {
	for dir := range tree.Parents(path) {
		if _, there := l.entryAt(dir + "/" + tree.StateLock); there {
			return true
		}
	}
	return false
}

func byPath(a, b Entry) int { return cmp.Compare(a.Path, b.Path) }

// lastOfEach returns the last entry of each path.
func lastOfEach(sorted []Entry) []Entry {
	kept := sorted[:0]
	for i, e := range sorted {
		if i+1 == len(sorted) || sorted[i+1].Path != e.Path {
			kept = append(kept, e)
		}
	}
	return kept
}

// Lacks reports whether a listing names a path as excluded or unreadable, or a directory
// above the path as unreadable, so that the bytes are not known.
func (l *Listing) Lacks(path string) bool {
	_, excluded := slices.BinarySearch(l.LeftOut, path)
	_, unstable := slices.BinarySearch(l.Unstable, path)
	return excluded || unstable || l.IsSpecial(path)
}

// IsSpecial reports whether a path, or a directory above it, was unreadable. A path that
// is nevertheless among the entries is a recorded artifact, and is known.
func (l *Listing) IsSpecial(path string) bool {
	if len(l.Special) == 0 {
		return false
	}
	_, within := slices.BinarySearch(l.Special, path)
	for dir := range tree.Parents(path) {
		_, there := slices.BinarySearch(l.Special, dir)
		within = within || there
	}
	if !within {
		return false
	}
	_, listed := slices.BinarySearchFunc(l.Entries, Entry{Path: path}, byPath)
	return !listed
}

// Emptied returns the directories that lose their last file between two listings.
// Directories that were empty before are not among them.
func Emptied(from, to *Listing) []string {
	seen := map[string]bool{}
	for _, e := range to.Entries {
		if e.IsDir() {
			seen[e.Path] = true
		}
		for dir := range tree.Parents(e.Path) {
			seen[dir] = true
		}
	}
	var dirs []string
	for _, c := range Diff(from, to) {
		if c.To != nil {
			continue
		}
		for dir := range tree.Parents(c.Path) {
			if !seen[dir] {
				seen[dir] = true
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// checkEntryPath returns an error unless path is the only valid spelling of a path inside
// the workspace.
func checkEntryPath(path string) error {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return fmt.Errorf("%q cannot be a path", path)
	}
	for begin := 0; begin <= len(path); {
		element := path[begin:]
		if slash := strings.IndexByte(element, '/'); slash >= 0 {
			element = element[:slash]
		}
		if element == "" || element == "." || element == ".." {
			return fmt.Errorf("the path %q does not name a file in the workspace", path)
		}
		begin += len(element) + 1
	}
	return nil
}

// validate returns an error if the entry is invalid.
func (e *Entry) validate() error {
	if err := checkEntryPath(e.Path); err != nil {
		return err
	}
	perm, kind := e.Mode&0o777, e.Mode&^0o777
	switch {
	case kind == ModeDir:
		if e.Size != 0 || e.Digest != "" || e.Blob != "" {
			return fmt.Errorf("%q: a directory has no bytes", e.Path)
		}
		return nil
	case kind != 0 && (kind != ModeSymlink || perm != 0):
		return fmt.Errorf("%q: %o is not a mode", e.Path, e.Mode)
	}
	if e.Size < 0 {
		return fmt.Errorf("%q: %d is not a size", e.Path, e.Size)
	}
	if !objects.IsDigest(e.Digest) {
		return fmt.Errorf("%q: %q is not a digest", e.Path, e.Digest)
	}
	if e.Blob != "" && !e.hasBlobName() {
		return fmt.Errorf("%q: %q is not the name of a blob", e.Path, e.Blob)
	}
	return nil
}

// hasBlobName reports whether Blob can be the name of a blob.
func (e *Entry) hasBlobName() bool { return isBlobName(e.Blob) }

func isBlobName[T string | []byte](name T) bool {
	return (len(name) == 40 || len(name) == 64) && objects.IsHex(name)
}

// checkTree returns an error if a path is a file, or an empty directory, and also has
// files below it. The entries are sorted and their paths unique.
func checkTree(entries []Entry) error {
	checked := map[string]bool{}
	for _, e := range entries {
		for dir := range tree.Parents(e.Path) {
			if checked[dir] {
				break
			}
			checked[dir] = true
			if _, found := slices.BinarySearchFunc(entries, Entry{Path: dir}, byPath); found {
				return fmt.Errorf("%q cannot be beside %q", e.Path, dir)
			}
		}
	}
	return nil
}

// Replaced returns the paths of existing files that the changes overwrite or remove.
func Replaced(changes []Change) []string {
	var paths []string
	for _, c := range changes {
		if c.From != nil {
			paths = append(paths, c.Path)
		}
	}
	return paths
}
