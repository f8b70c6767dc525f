package workspace

import (
	"context"

	"prdrunner/checkpoint/workspace/tree"
)

// A later capture may not know a sensitive value any more: it was given by a flag, or has
// been changed since. So a file that was excluded for its content is excluded again. The
// last capture names these files, and the cache has the digests of their contents.

// refused holds the contents that were excluded, as far as the cache has them.
type refused struct {
	paths   map[string]string // the digest of each path
	digests map[string]bool
}

// refusedBefore holds the files and contents that must be excluded again.
type refusedBefore struct {
	refused
	excluded map[string]bool // paths that were excluded before: true if for their content
}

// refusedBefore returns the files and contents to exclude again. excluded are the paths
// that were excluded before.
func (c *capture) refusedBefore(excluded []string) *refusedBefore {
	b := &refusedBefore{refused: c.w.refusedFiles(), excluded: map[string]bool{}}
	for _, path := range excluded {
		b.excluded[path] = !c.w.secret.match(path)
	}
	return b
}

// holds reports whether a file must be excluded again although the detector finds nothing:
// its content was excluded before, or the file was and may still have that content.
func (b *refusedBefore) holds(c *capture, f *surveyed) bool {
	path := f.entry.Path
	switch {
	case c.isKept(f):
		return false
	case b.digests[f.entry.Digest]:
		c.w.cache.Refuse(path, f.entry.Digest) // it may have had another name then
		return true
	case !b.excluded[path]:
		return false
	case c.w.refusal == nil || !c.w.refusal.all || !f.known():
		return true
	}
	_, onRecord := b.paths[path]
	if !onRecord { // record it from now on
		c.w.cache.Refuse(path, f.entry.Digest)
	}
	return !onRecord
}

// holds reports whether the content of a file was excluded before. It reads the file if
// its digest is not known and the file was excluded.
func (r *refused) holds(ctx context.Context, w *Workspace, at tree.Place, f *found) (bool, error) {
	if _, was := r.paths[f.entry.Path]; was && !f.known() {
		if err := w.hash(ctx, at, f, w.wantsBlob); err != nil {
			return false, err
		}
	}
	return r.digests[f.entry.Digest], nil
}

func (w *Workspace) refusedFiles() refused {
	r := refused{paths: w.cache.RefusedFiles(), digests: map[string]bool{}}
	for _, digest := range r.paths {
		r.digests[digest] = true
	}
	return r
}
