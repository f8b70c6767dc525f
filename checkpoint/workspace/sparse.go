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

// A sparse checkout omits files of git's index from the work tree. The user has not
// deleted these files. A capture records them as the index has them, without reading them;
// a partial clone may not even have their bytes.

// newSurveyed returns a file that git knows, without a description of the file itself.
func newSurveyed(f git.File) surveyed {
	s := surveyed{found: foundAt(f.Path), inGit: true, index: f.Blob}
	if f.Sparse {
		s.sparse = f.Mode
	}
	return s
}

// absent returns the entry of a file that does not exist: that of git's index if the file
// is sparse, else an empty entry.
func (f *surveyed) absent(path string) Entry {
	if f.sparse == 0 {
		return Entry{}
	}
	return Entry{Path: path, Mode: f.sparse, Blob: f.index}
}

// mayExist reports whether a path that is not among the entries may have existed, or was
// sparse.
func (l *Listing) mayExist(path string) bool {
	return l.Lacks(path) || l.IsSparse(path)
}

// IsSparse reports whether a sparse checkout omitted a path.
func (l *Listing) IsSparse(path string) bool { return l.sparseAt(path) != nil }

func (l *Listing) sparseAt(path string) *Entry {
	i, there := slices.BinarySearchFunc(l.Sparse, path, func(e Entry, path string) int { return cmp.Compare(e.Path, path) })
	if !there {
		return nil
	}
	return &l.Sparse[i]
}

// hasSparse reports whether an entry is what git had for a sparse file.
func (l *Listing) hasSparse(e Entry) bool {
	s := l.sparseAt(e.Path)
	return s != nil && e.Blob == s.Blob && e.Mode&^0o777 != ModeDir && e.GitMode() == s.Mode
}

// Changes returns the changes that lead from now to the listing to: those of Diff, and the
// deletions of files that were sparse in to and have been created since.
func (w *Workspace) Changes(ctx context.Context, now, to *Listing) ([]Change, error) {
	changes := Diff(now, to)
	put, _, err := findCreatedSparse(ctx, w, now.Entries, to)
	if err != nil || len(put) == 0 {
		return changes, err
	}
	for i := range put {
		changes = append(changes, Change{Path: put[i].Path, Kind: Deleted, From: &put[i]})
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return changes, nil
}

// CheckedOut returns the paths of entries, from Now, that were sparse in a listing,
// differ from the blob that the listing names, and are checked out now. A restore of the
// listing does not change these files: deleting them would mean that they did not exist.
func (w *Workspace) CheckedOut(ctx context.Context, entries []Entry, l *Listing) ([]string, error) {
	_, paths, err := findCreatedSparse(ctx, w, entries, l)
	return paths, err
}

// findCreatedSparse finds the entries that were sparse in a listing and differ from the
// blob that the listing names. put are the entries that git counts as sparse: they were
// created in the work tree, and git does not miss them if they are removed. checkedOut
// are the paths of the other entries.
func findCreatedSparse(ctx context.Context, w *Workspace, entries []Entry, l *Listing) (put []Entry, checkedOut []string, err error) {
	if w.o.Git == nil || len(l.Sparse) == 0 {
		return nil, nil, nil
	}
	var index map[string]git.File
	for _, e := range entries {
		if !l.IsSparse(e.Path) || e.IsDir() {
			continue
		}
		f, err := w.files.describe(ctx, w.tree.Place(e.Path), e.Path, func(int64) bool { return true })
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
			if index, err = w.o.Git.TrackedByPath(ctx); err != nil {
				return nil, nil, err
			}
		}
		if is := index[e.Path]; is.Sparse && (f.blob != is.Blob || f.entry.GitMode() != is.Mode) {
			put = append(put, e)
		} else {
			checkedOut = append(checkedOut, e.Path)
		}
	}
	return put, checkedOut, nil
}

// SameSparse reports whether the same files were sparse in both listings, with the same
// content.
func SameSparse(a, b *Listing) bool { return slices.Equal(a.Sparse, b.Sparse) }

// sparseWithout returns the sparse files without those at the given paths.
func (l *Listing) sparseWithout(paths map[string]bool) []Entry {
	if !slices.ContainsFunc(l.Sparse, func(e Entry) bool { return paths[e.Path] }) {
		return l.Sparse
	}
	return slices.DeleteFunc(slices.Clone(l.Sparse), func(e Entry) bool { return paths[e.Path] })
}

// checkSparse returns an error if a file is both an entry and sparse.
func (l *Listing) checkSparse() error {
	for _, e := range l.Entries {
		if l.IsSparse(e.Path) {
			return fmt.Errorf("%q cannot be there and not be checked out", e.Path)
		}
	}
	return nil
}

// checkSparse returns an error if the entry is not a valid sparse file.
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

// beginCommit begins the commit of a capture. If some files are sparse, the commit starts
// with HEAD, of which only the unchanged sparse files are kept: to name each sparse file
// would make a partial clone fetch its bytes.
func (c *capture) beginCommit(ctx context.Context, o git.CommitOptions) (out *git.Writer, err error) {
	repo := c.w.Git()
	if len(c.survey.sparse) == 0 {
		return repo.Begin(ctx, o)
	}
	var base []git.File
	if o.Parent != "" {
		if base, err = repo.CommitFiles(ctx, o.Parent); err != nil {
			return nil, err
		}
		o.Base = o.Parent
	}
	if out, err = repo.Begin(ctx, o); err != nil {
		return nil, err
	}
	if err := c.keepOnlySparse(ctx, out, base); err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return out, nil
}

// keepOnlySparse changes a commit that has the files in base, so that it has only the
// sparse files.
func (c *capture) keepOnlySparse(ctx context.Context, out *git.Writer, base []git.File) error {
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
	// The remaining sparse files are staged, or differ in HEAD.
	var staged []Entry
	var blobs []string
	for _, e := range wanted {
		staged = append(staged, e)
		blobs = append(blobs, e.Blob)
	}
	has, err := c.w.Git().HasBlobs(ctx, blobs)
	if err != nil {
		return err
	}
	slices.SortFunc(staged, byPath)
	for _, e := range staged {
		if !has[e.Blob] {
			continue // only the listing records it
		}
		if err := out.AddBlob(e.Path, e.Mode, e.Blob); err != nil {
			return err
		}
	}
	return nil
}
