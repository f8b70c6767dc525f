package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/tree"
)

// Missing is an entry whose bytes are missing or damaged.
type Missing struct {
	Path   string
	Reason string
}

// Missing returns the entries whose bytes are missing or have another length. With deep it
// reads all bytes, and also returns the entries whose bytes are damaged.
func (c *Contents) Missing(ctx context.Context, entries []Entry, deep bool) (missing []Missing, err error) {
	if deep {
		_, missing, err = c.locate(ctx, entries)
		return missing, err
	}
	if missing, err = c.findMissing(ctx, entries); err != nil {
		return nil, fmt.Errorf("look for what was kept: %w", err)
	}
	return missing, nil
}

// Lost returns the entries that Missing returns, for callers that report losses. It
// returns an error if this user may not read git's objects, or if git can't be asked.
func (c *Contents) Lost(ctx context.Context, entries []Entry, deep bool) ([]Missing, error) {
	missing, err := c.Missing(ctx, entries, deep)
	if err != nil || len(missing) == 0 {
		return missing, err
	}
	lost := make(map[string]bool, len(missing))
	for _, m := range missing {
		lost[m.Path] = true
	}
	var blobs []string
	for _, e := range entries {
		if lost[e.Path] && e.Blob != "" {
			blobs = append(blobs, e.Blob)
		}
	}
	switch {
	case len(blobs) == 0:
	case c.git == nil:
		err = c.CheckGitOpened()
	default:
		err = c.git.CheckReadable(blobs...)
	}
	if err != nil {
		return nil, err
	}
	return missing, nil
}

// Readable reads all bytes, and returns the entries that Open can read, and those that are
// missing. An entry whose blob is damaged, and whose object is not, is returned without
// the blob.
func (c *Contents) Readable(ctx context.Context, entries []Entry) ([]Entry, []Missing, error) {
	located, missing, err := c.locate(ctx, entries)
	if err != nil {
		return nil, nil, err
	}
	lost := make(map[string]bool, len(missing))
	for _, m := range missing {
		lost[m.Path] = true
	}
	return slices.DeleteFunc(located, func(e Entry) bool { return lost[e.Path] }), missing, nil
}

// locate reads all bytes to find out which entries can be read, and from where.
func (c *Contents) locate(ctx context.Context, entries []Entry) (located []Entry, missing []Missing, err error) {
	located = slices.Clone(entries)
	reasons := make([]string, len(entries))
	all, err := c.newSources(ctx)
	if err != nil {
		return nil, nil, err
	}
	err = c.tree.Each(ctx, len(entries), 1+min(chunkSize, len(entries)/16), func(ctx context.Context, _ *tree.Cursor, i int) (err error) {
		if e := &located[i]; !e.IsDir() {
			err = all.withSource(func(s *source) error { return s.locate(ctx, e) })
			reasons[i], err = unavailable(ctx, err)
		}
		return err
	})
	if closed := all.close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look for what was kept: %w", err)
	}
	for i, reason := range reasons {
		if reason != "" {
			missing = append(missing, Missing{Path: entries[i].Path, Reason: strings.TrimPrefix(reason, entries[i].Path+": ")})
		}
	}
	return located, missing, nil
}

// findMissing returns the entries whose bytes neither git nor the objects have. It reads
// no bytes, so it does not notice damage.
func (c *Contents) findMissing(ctx context.Context, entries []Entry) ([]Missing, error) {
	inGit, err := c.blobsInGit(ctx, entries)
	if err != nil {
		return nil, err
	}
	var wanted []int // as objects
	for i, e := range entries {
		if !e.IsDir() && (e.Blob == "" || !inGit[e.Blob]) {
			wanted = append(wanted, i)
		}
	}
	if c.objects == nil {
		missing := make([]Missing, len(wanted))
		for n, i := range wanted {
			missing[n] = entries[i].asMissing(errNoObjects.Error())
		}
		return missing, nil
	}
	return c.findMissingObjects(ctx, entries, wanted)
}

// findMissingObjects returns the wanted entries that have no object. It checks one
// subdirectory of the objects after the other, which is fastest.
func (c *Contents) findMissingObjects(ctx context.Context, entries []Entry, wanted []int) ([]Missing, error) {
	slices.SortFunc(wanted, func(a, b int) int {
		return cmp.Compare(objects.Subdirectory(entries[a].Digest), objects.Subdirectory(entries[b].Digest))
	})
	parts := slices.Collect(slices.Chunk(wanted, 4*chunkSize))
	lost := make(map[int]Missing)
	var mu sync.Mutex
	err := c.tree.Each(ctx, len(parts), 1, func(_ context.Context, _ *tree.Cursor, n int) error {
		refs := make([]objects.Ref, len(parts[n]))
		for k, i := range parts[n] {
			refs[k] = objects.Ref{Digest: entries[i].Digest, Size: entries[i].Size}
		}
		return c.objects.CheckAll(refs, func(k int, err error) error {
			reason, err := whyNoObject(refs[k], err)
			if reason != "" {
				mu.Lock()
				defer mu.Unlock()
				lost[parts[n][k]] = entries[parts[n][k]].asMissing(reason)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	var missing []Missing
	for _, i := range slices.Sorted(maps.Keys(lost)) {
		missing = append(missing, lost[i])
	}
	return missing, nil
}

// blobsInGit returns which blobs of the entries git has.
func (c *Contents) blobsInGit(ctx context.Context, entries []Entry) (map[string]bool, error) {
	if c.git == nil {
		return nil, nil
	}
	var blobs []string
	for _, e := range entries {
		if e.Blob != "" {
			blobs = append(blobs, e.Blob)
		}
	}
	if len(blobs) == 0 {
		return nil, nil
	}
	return c.git.HasBlobs(ctx, blobs)
}

// asMissing returns the entry, whose object is missing, as a Missing.
func (e Entry) asMissing(reason string) Missing {
	if e.Blob != "" {
		reason = "git has no blob " + e.Blob + ", and " + reason
	}
	return Missing{Path: e.Path, Reason: reason}
}

// whyNoObject returns the reason if err says that an object is missing or damaged, and any
// other error.
func whyNoObject(r objects.Ref, err error) (reason string, other error) {
	if err == nil {
		return "", nil
	}
	var damaged *objects.DamagedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no object " + r.Digest, nil
	case errors.As(err, &damaged):
		return err.Error(), nil
	}
	return "", err
}

// unavailable returns the reason if an error says that bytes are missing or damaged, and
// any other error.
func unavailable(ctx context.Context, err error) (reason string, other error) {
	var object *objects.DamagedError
	var blob *DamagedError
	switch {
	case err == nil || ctx.Err() != nil:
		return "", err
	case errors.Is(err, fs.ErrNotExist), errors.As(err, &object), errors.As(err, &blob), errors.Is(err, objects.ErrDigest):
		return err.Error(), nil
	}
	return "", err
}

// UnopenedRepositoryError says that a repository exists and could not be opened, so that
// Runner does not know which bytes it keeps. It is an fs.ErrPermission, since the bytes
// may not be lost.
type UnopenedRepositoryError struct{ Dir string }

func (e *UnopenedRepositoryError) Error() string {
	return fmt.Sprintf("the git repository of %s cannot be asked what it keeps of earlier captures: make git work there, or set checkpoint.git.mode to ref to see why not", e.Dir)
}

// Is implements errors.Is.
func (*UnopenedRepositoryError) Is(target error) bool { return target == fs.ErrPermission }

// CheckGitOpened returns an *UnopenedRepositoryError if Runner can't tell whether git has
// the bytes of a capture, else nil.
func (c *Contents) CheckGitOpened() error {
	if c.git != nil || c.mode != GitOff {
		return nil // with another mode, opening the workspace reported the error
	}
	there, err := git.Exists(c.dir)
	if err == nil && there {
		err = &UnopenedRepositoryError{Dir: c.dir}
	}
	return err
}
