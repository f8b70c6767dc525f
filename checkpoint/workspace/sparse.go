package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/tree"
)

// A sparse checkout leaves files out of the work tree that git's index has.
// They are not there, and yet nobody deleted them: a capture records them as
// the index has them, without reading them. A partial clone may not even have
// their bytes.

// newSurveyed is a file that git knows, before it was looked at.
func newSurveyed(f git.File) surveyed {
	s := surveyed{found: at(f.Path), inGit: true, index: f.Blob}
	if f.Sparse {
		s.sparse = f.Mode
	}
	return s
}

// absent describes a file that is not there: as git's index has it where it
// was not checked out, and else not at all.
func (f *surveyed) absent(path string) Entry {
	if f.sparse == 0 {
		return Entry{}
	}
	return Entry{Path: path, Mode: f.sparse, Blob: f.index}
}

// omits reports whether a path that is not in a listing may have been there
// all the same, or was only not checked out.
func (l *Listing) omits(path string) bool {
	return l.Lacks(path) || l.IsSparse(path)
}

// IsSparse reports whether a sparse checkout had left a path out.
func (l *Listing) IsSparse(path string) bool { return l.sparseAt(path) != nil }

func (l *Listing) sparseAt(path string) *Entry {
	i, there := slices.BinarySearchFunc(l.Sparse, path, func(e Entry, path string) int { return cmp.Compare(e.Path, path) })
	if !there {
		return nil
	}
	return &l.Sparse[i]
}

// hasSparse reports whether an entry is what git had for a file that was not
// checked out.
func (l *Listing) hasSparse(e Entry) bool {
	s := l.sparseAt(e.Path)
	return s != nil && e.Blob == s.Blob && e.Mode&^0o777 != ModeDir && gitMode(e.Mode) == s.Mode
}

// Changes returns what leads from the files there are to those of a listing: Diff,
// and the deletions of files that were not checked out in the listing and that
// somebody has put there since.
func (w *Workspace) Changes(ctx context.Context, now, to *Listing) ([]Change, error) {
	changes := Diff(now, to)
	put, _, err := w.foreign(ctx, now.Entries, to)
	if err != nil || len(put) == 0 {
		return changes, err
	}
	for i := range put {
		changes = append(changes, Change{Path: put[i].Path, Kind: Deleted, From: &put[i]})
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return changes, nil
}

// CheckedOut returns the paths of entries, as Now lists them, that a listing
// says were not checked out, that are not what git had for them, and that git checks out
// now: a restore of the listing leaves them as they are, since deleting them would say
// that they were not there.
func (w *Workspace) CheckedOut(ctx context.Context, entries []Entry, l *Listing) ([]string, error) {
	_, paths, err := w.foreign(ctx, entries, l)
	return paths, err
}

// foreign finds the entries that a listing says were not checked out, and that are not
// what git had for them: those that git still does not check out, so that somebody
// has put them there and git misses none that goes, and the paths of the others.
func (w *Workspace) foreign(ctx context.Context, entries []Entry, l *Listing) (put []Entry, checkedOut []string, err error) {
	if w.o.Git == nil || len(l.Sparse) == 0 {
		return nil, nil, nil
	}
	var index map[string]git.File
	for _, e := range entries {
		if !l.IsSparse(e.Path) || e.isDir() {
			continue
		}
		f, err := w.describe(ctx, w.Place(e.Path), e.Path, func(int64) bool { return true })
		if tree.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if f.entry.Blob = f.blob; l.hasSparse(f.entry) {
			continue
		}
		if index == nil {
			if index, err = w.o.Git.Index(ctx); err != nil {
				return nil, nil, err
			}
		}
		if is := index[e.Path]; is.Sparse && (f.blob != is.Blob || gitMode(f.entry.Mode) != is.Mode) {
			put = append(put, e)
		} else {
			checkedOut = append(checkedOut, e.Path)
		}
	}
	return put, checkedOut, nil
}

// SameSparse reports whether the same files were not checked out in both
// listings, with the same content.
func SameSparse(a, b *Listing) bool { return slices.Equal(a.Sparse, b.Sparse) }

// sparseWithout returns what was not checked out, but for some paths.
func (l *Listing) sparseWithout(paths map[string]bool) []Entry {
	if !slices.ContainsFunc(l.Sparse, func(e Entry) bool { return paths[e.Path] }) {
		return l.Sparse
	}
	return slices.DeleteFunc(slices.Clone(l.Sparse), func(e Entry) bool { return paths[e.Path] })
}

// checkSparse makes sure that no file was both there and not checked out.
func (l *Listing) checkSparse() error {
	for _, e := range l.Entries {
		if l.IsSparse(e.Path) {
			return fmt.Errorf("%q cannot be there and not be checked out", e.Path)
		}
	}
	return nil
}

// checkSparse makes sure that an entry means a file that was not checked out.
func (e *Entry) checkSparse() error {
	if err := checkEntryPath(e.Path); err != nil {
		return err
	}
	switch {
	case e.Mode != 0o100644 && e.Mode != 0o100755 && e.Mode != ModeSymlink:
		return fmt.Errorf("%q: %o is not a mode of git", e.Path, e.Mode)
	case !e.hasBlobName():
		return fmt.Errorf("%q: %q is not the name of a blob", e.Path, e.Blob)
	case e.Size != 0 || e.Digest != "":
		return fmt.Errorf("%q: it was not checked out, and nobody knows its bytes", e.Path)
	}
	return nil
}

// begin begins the commit of a capture. Where files are not checked out it
// begins with those of HEAD that they are: to name each of them would have a
// partial clone fetch its bytes.
func (c *capture) begin(ctx context.Context, o git.CommitOptions) (out *git.Writer, err error) {
	repo := c.w.Git()
	if len(c.survey.sparse) == 0 {
		return repo.Begin(ctx, o)
	}
	var base []git.File
	if o.Parent != "" {
		if base, err = repo.Tree(ctx, o.Parent); err != nil {
			return nil, err
		}
		o.Base = o.Parent
	}
	if out, err = repo.Begin(ctx, o); err != nil {
		return nil, err
	}
	if err := c.laySparse(ctx, out, base); err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return out, nil
}

// laySparse makes a commit that has the given files one that has only what is
// not checked out.
func (c *capture) laySparse(ctx context.Context, out *git.Writer, base []git.File) error {
	wanted := make(map[string]Entry, len(c.survey.sparse))
	for _, e := range c.survey.sparse {
		wanted[e.Path] = e
	}
	for _, f := range base {
		if e, ok := wanted[f.Path]; ok && e.Mode == f.Mode && e.Blob == f.Blob {
			delete(wanted, f.Path)
			continue
		}
		if err := out.Delete(f.Path); err != nil {
			return err
		}
	}
	// What is left is staged, or HEAD has it otherwise.
	var staged []Entry
	var blobs []string
	for _, e := range wanted {
		staged = append(staged, e)
		blobs = append(blobs, e.Blob)
	}
	has, err := c.w.Git().Has(ctx, blobs)
	if err != nil {
		return err
	}
	slices.SortFunc(staged, byPath)
	for _, e := range staged {
		if !has[e.Blob] {
			continue // the listing names it
		}
		if err := out.Known(e.Path, e.Mode, e.Blob); err != nil {
			return err
		}
	}
	return nil
}
