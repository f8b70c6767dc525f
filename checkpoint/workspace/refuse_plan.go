package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/workspace/tree"
)

// Refused returns the paths of entries, as Now lists them, that a capture would
// leave out for what they hold, sorted as they are. last (nil: none) is what was
// captured before: what it has is not looked through. excluded is what was left
// out since, as in CaptureOptions.
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

// indexed are the blobs that git's index has, by path.
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
