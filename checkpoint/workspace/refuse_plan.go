package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/workspace/tree"
)

// Refused returns the paths of entries, from Now, that a capture would exclude for their
// content. They are in the order of the entries. last (nil: none) is the listing of the
// last capture, whose contents are not scanned. excluded are the files that were excluded
// after it, as in CaptureOptions.
func (w *Workspace) Refused(ctx context.Context, entries []Entry, last *Listing, excluded []string) ([]string, error) {
	if last != nil {
		excluded = slices.Concat(excluded, last.LeftOut)
	}
	if len(entries) == 0 || w.refusal == nil && len(excluded)+len(w.cache.RefusedFiles()) == 0 {
		return nil, nil
	}
	c := &capture{w: w, survey: &survey{w: w}, before: last}
	index, err := w.indexed(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.isDir() {
			continue
		}
		f := surveyed{found: at(e.Path), index: index[e.Path]}
		if f.found, err = w.describe(ctx, w.Place(e.Path), e.Path, f.wantsBlob(w)); err != nil && !tree.IsAbsent(err) && !errors.Is(err, ErrUnstable) {
			return nil, fmt.Errorf("look for sensitive values: %w", err)
		}
		if err == nil {
			c.survey.files = append(c.survey.files, f)
		}
	}
	err = c.refuse(ctx, excluded)
	return c.survey.excluded, err
}

// indexed returns the blobs in git's index by path.
func (w *Workspace) indexed(ctx context.Context) (map[string]string, error) {
	if w.Git() == nil {
		return nil, nil
	}
	files, err := w.Git().Files(ctx)
	if err != nil {
		return nil, err
	}
	blobs := make(map[string]string, len(files))
	for _, f := range files {
		blobs[f.Path] = f.Blob
	}
	return blobs, nil
}
