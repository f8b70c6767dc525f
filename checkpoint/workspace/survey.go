package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/tree"
)

// surveyed is a file in scope of a capture.
type surveyed struct {
	found
	index string // its blob in git's index
	// sparse is its mode in the index if a sparse checkout may omit it from the work tree,
	// else 0.
	sparse  uint32
	state   fileState
	last    *Entry // its entry in the last capture, or nil
	inGit   bool   // git tracks it, or it is untracked and git does not ignore it
	read    bool   // readDigests read it, because the cache did not know it
	missing bool   // the last capture has it, and its object is missing or damaged
}

// survey holds the files that a capture found in its scope.
type survey struct {
	w          *Workspace
	files      []surveyed // sorted by path
	dirs       []Entry    // empty ones, sorted by path
	sparse     []Entry    // files that a sparse checkout omits, sorted by path
	excluded   []string
	unreadable []string
	hidden     []string // the true paths of files that are excluded for their names
	states     []string // state directories in which git tracks files
	// unstable are the files that change while they are read, sorted. needed reports which
	// files must not be among them; nil: none.
	unstable []string
	needed   func(path string) bool
}

// newSurvey describes all files in scope without reading them.
func newSurvey(ctx context.Context, w *Workspace, patterns []string) (*survey, error) {
	s := &survey{w: w}
	view := w
	if w.memo == nil {
		view = w.WithMemo() // so that each directory is listed once
	}
	known := runAsync(func() (gitKnown, error) { return view.memo.gitKnown(ctx, view.gitLister()) })
	loaded := runAsync(func() (struct{}, error) {
		w.cache.LoadOnce()
		return struct{}{}, nil
	})
	g, err := view.tree.Walk(ctx, patterns)
	git, gitErr := known()
	_, _ = loaded() // returns no error: a cache that can't be read is empty
	if err := cmp.Or(gitErr, err); err != nil {
		return nil, err
	}
	if w.narrow {
		git = git.matching(patterns)
	}
	s.addKnown(git.files)
	s.states = git.states
	s.addPaths(g.Files)
	empty := g.Empty
	s.unreadable = append(s.unreadable, g.Denied...)
	if err := s.hideNames(); err != nil {
		return nil, err
	}
	inGit, err := s.describeAll(ctx, git.fileless)
	if err != nil {
		return nil, err
	}
	if s.unreadable, err = s.withoutHidden(outermost(s.unreadable)); err != nil {
		return nil, err
	}
	return s, s.describeDirs(ctx, append(empty, inGit...))
}

// describeAll describes the files. It returns the empty directories that git does not
// ignore, and adds those that Runner may not read to s.unreadable.
func (s *survey) describeAll(ctx context.Context, found fileless) (empty []string, err error) {
	dirs, err := s.inspectFiles(ctx)
	if err != nil || s.w.Git() == nil || s.w.narrow {
		return nil, err
	}
	empty, denied, err := s.w.gitLister().emptyDirs(ctx, found.outermost, dirs)
	s.unreadable = append(s.unreadable, slices.Concat(found.denied, denied)...)
	return append(empty, found.emptied...), err
}

// outermost returns the paths that do not lie below another one, sorted.
func outermost(paths []string) []string {
	all := map[string]bool{}
	for _, path := range paths {
		all[path] = true
	}
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(path string) bool { return tree.IsBelow(path, all) })
}

// addKnown adds the files that git knows, which are sorted by path.
func (s *survey) addKnown(files []git.File) {
	s.files = make([]surveyed, 0, len(files))
	for _, f := range files {
		switch {
		case f.Gitlink:
			s.unreadable = append(s.unreadable, f.Path)
		case s.w.tree.Reserved(f.Path):
		case !f.Tracked && s.w.sensitivity.matchesName(f.Path):
			s.excluded = append(s.excluded, f.Path)
		default:
			s.files = append(s.files, newSurveyed(f))
		}
	}
}

func foundAt(path string) found { return found{entry: Entry{Path: path}} }

// addPaths adds the files that match the patterns and that git does not know, except for
// those in another repository.
func (s *survey) addPaths(paths []string) {
	slices.Sort(paths)
	links := map[string]bool{}
	for _, path := range s.unreadable {
		links[path] = true
	}
	known, added := s.files, make([]surveyed, 0, max(0, len(paths)-len(s.files)))
	for _, path := range slices.Compact(paths) {
		for len(known) > 0 && known[0].entry.Path < path {
			known = known[1:]
		}
		switch {
		case len(known) > 0 && known[0].entry.Path == path, tree.IsBelow(path, links):
		case s.w.sensitivity.matchesName(path):
			s.excluded = append(s.excluded, path)
		default:
			added = append(added, surveyed{found: foundAt(path)})
		}
	}
	switch {
	case len(s.files) == 0:
		s.files = added
	case len(added) > 0:
		s.files = append(s.files, added...)
		slices.SortFunc(s.files, func(a, b surveyed) int { return strings.Compare(a.entry.Path, b.entry.Path) })
	}
}

// inspectFiles describes the files without reading them. It returns the paths that are
// directories now.
func (s *survey) inspectFiles(ctx context.Context) (dirs []string, err error) {
	var odd = make([]bool, len(s.files))
	err = s.w.tree.Each(ctx, len(s.files), 1+min(4*chunkSize, len(s.files)/16), func(_ context.Context, c *tree.Cursor, i int) (err error) {
		path := s.files[i].entry.Path
		at := c.Place(path)
		s.files[i].found, err = s.w.files.inspect(at, path, s.files[i].wantsBlob(s.w))
		if err == nil && !s.files[i].hasDigest() && s.files[i].entry.Mode&0o444 != 0o444 { // another user may own it
			err = at.TryOpen()
		}
		switch {
		case tree.IsAbsent(err):
			s.files[i].entry = s.files[i].absent(path)
		case errors.Is(err, fs.ErrPermission):
			s.files[i].entry, odd[i] = Entry{Path: path}, true
		case errors.Is(err, ErrNotRegular):
			// If a directory has replaced the file, its files are listed separately.
			odd[i] = s.files[i].entry.Mode&ModeDir == 0
		case err != nil:
			return withPath(path, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	kept := s.files[:0]
	for i, f := range s.files {
		switch {
		case f.entry.Blob != "":
			s.sparse = append(s.sparse, f.entry)
		case f.entry.Path == "":
		case f.entry.Mode&ModeDir != 0 && !f.isLink():
			dirs = append(dirs, f.entry.Path)
		case odd[i]:
			s.unreadable = append(s.unreadable, f.entry.Path)
		default:
			kept = append(kept, f)
		}
	}
	s.files = kept
	slices.Sort(s.excluded)
	s.excluded = slices.Compact(s.excluded)
	return dirs, nil
}

// wantsBlob returns a function that reports for a size whether git's name of the file is
// needed. For tracked files it is needed at any size, since git may have the bytes.
func (f *surveyed) wantsBlob(w *Workspace) func(size int64) bool {
	switch {
	case f.index != "":
		return func(int64) bool { return true }
	case f.inGit:
		return w.files.wantsBlob
	}
	return func(int64) bool { return false }
}

// exclude adds a path to s.excluded, which stays sorted.
func (s *survey) exclude(path string) {
	if i, there := slices.BinarySearch(s.excluded, path); !there {
		s.excluded = slices.Insert(s.excluded, i, path)
	}
}

// describeDirs describes the empty directories, except for those that contain another one.
func (s *survey) describeDirs(ctx context.Context, empty []string) error {
	slices.Sort(empty)
	empty = slices.Compact(empty)
	above := map[string]bool{}
	for _, path := range empty {
		for dir := range tree.Parents(path) {
			above[dir] = true
		}
	}
	c := s.w.tree.Cursor()
	defer c.Close()
	for _, path := range empty {
		if above[path] || s.w.tree.Reserved(path) {
			continue
		}
		if hidden, err := s.isHidden(path); err != nil {
			return err
		} else if hidden {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		at := c.Place(path)
		is, err := at.Status()
		var mask uint32
		if err == nil && is.Mode.IsDir() {
			mask, err = maskOnlyAt(at, is.Mode.Perm())
		}
		switch {
		case tree.IsAbsent(err) || err == nil && !is.Mode.IsDir():
		case err != nil:
			return withPath(path, err)
		default:
			s.dirs = append(s.dirs, Entry{Path: path, Mode: ModeDir | uint32(is.Mode.Perm())&^mask})
		}
	}
	return nil
}

// readDigests reads the files that are not known yet and for which want returns true.
func (s *survey) readDigests(ctx context.Context, want func(*surveyed) bool) error {
	var unknown []int
	for i := range s.files {
		if !s.files[i].hasDigest() && want(&s.files[i]) {
			unknown = append(unknown, i)
		}
	}
	err := s.w.tree.Each(ctx, len(unknown), 1+min(chunkSize, len(unknown)/16), func(ctx context.Context, c *tree.Cursor, i int) error {
		f := &s.files[unknown[i]]
		return s.markUnreadable(f, retryUnstable(ctx, func() error {
			f.read = true
			return s.w.files.readDigest(ctx, c.Place(f.entry.Path), &f.found, f.wantsBlob(s.w))
		}))
	})
	if err != nil {
		return fmt.Errorf("read the workspace: %w", err)
	}
	s.w.cache.MarkSurveyed()
	return s.dropUnreadable()
}

// listing returns the listing of the surveyed files, whose digests must all be known.
func (s *survey) listing(patterns []string) *Listing {
	l := &Listing{Patterns: slices.Clone(patterns), LeftOut: s.excluded, Unstable: s.unstable, Special: s.unreadable, Sparse: s.sparse}
	l.Entries = make([]Entry, 0, len(s.files)+len(s.dirs))
	for _, f := range s.files {
		l.Entries = append(l.Entries, f.entry)
	}
	if len(s.dirs) == 0 {
		return l
	}
	above := map[string]bool{}
	for _, files := range [][]Entry{l.Entries, l.Sparse} {
		for _, e := range files {
			for dir := range tree.Parents(e.Path) {
				if above[dir] {
					break
				}
				above[dir] = true
			}
		}
	}
	for _, d := range s.dirs {
		if !above[d.Path] { // not empty: a file was added meanwhile, or is not checked out
			l.Entries = append(l.Entries, d)
		}
	}
	slices.SortFunc(l.Entries, byPath)
	return l
}

// Now lists the present files, by the rules of Capture. It only names files that keep
// changing while they are read. It writes nothing. The entries name no blobs, since
// nothing was stored.
func (w *Workspace) Now(ctx context.Context, patterns []string) (*Listing, error) {
	s, err := newSurvey(ctx, w, patterns)
	if err == nil {
		err = s.readDigests(ctx, func(*surveyed) bool { return true })
	}
	if err != nil {
		return nil, err
	}
	l := s.listing(patterns)
	w.memo.keepRun(l.Entries)
	return l, nil
}
