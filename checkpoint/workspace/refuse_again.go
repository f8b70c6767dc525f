package workspace

import (
	"context"

	"prdrunner/checkpoint/workspace/tree"
)

// What a sensitive value is may not be known any more when the next capture is
// made: it was given by a flag, or it is another one by now. So a file that was
// left out for what it holds is left out again. The last capture tells which
// these are, and the cache what they held.

// refused are the contents that were left out for what they hold, as far as
// that is on record.
type refused struct {
	paths   map[string]string // to the digest
	digests map[string]bool
}

// refusedBefore is what is left out again.
type refusedBefore struct {
	refused
	excluded map[string]bool // by the last capture, for what they held
}

// refusedBefore returns what is left out again, of what was left out.
func (c *capture) refusedBefore(excluded []string) *refusedBefore {
	b := &refusedBefore{refused: c.w.refusedFiles(), excluded: map[string]bool{}}
	for _, path := range excluded {
		b.excluded[path] = !c.w.secret.match(path)
	}
	return b
}

// holds reports whether a file in which nothing is found is to be left out again:
// its content was, or it was and may hold what it did.
func (b *refusedBefore) holds(c *capture, f *surveyed) bool {
	path := f.entry.Path
	switch {
	case c.isKept(f):
		return false
	case b.digests[f.entry.Digest]:
		c.w.cache.Refuse(path, f.entry.Digest) // maybe it had another name then
		return true
	case !b.excluded[path]:
		return false
	case c.w.refusal == nil || !c.w.refusal.all || !f.known():
		return true
	}
	_, onRecord := b.paths[path]
	if !onRecord { // but from now on
		c.w.cache.Refuse(path, f.entry.Digest)
	}
	return !onRecord
}

// holds reports whether a file holds what was left out for that before. One
// that was left out is read for it if it must be.
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
