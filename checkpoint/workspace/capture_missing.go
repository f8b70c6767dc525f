package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/tree"
)

// isObject reports whether the last capture has an unchanged file as an object.
func (c *capture) isObject(f *surveyed) bool {
	return f.last != nil && f.last.Blob == "" && f.known() && f.last.Digest == f.entry.Digest
}

// findMissing finds, among the files that had to be read and have not changed since the
// last capture, those whose objects are missing or damaged. It does not check the other
// files: the cost of a capture should depend on the changes, not on the size of the
// workspace.
func (c *capture) findMissing(ctx context.Context) error {
	var read []*surveyed
	for i := range c.survey.files {
		if f := &c.survey.files[i]; f.read && c.isObject(f) {
			read = append(read, f)
		}
	}
	err := c.w.Each(ctx, len(read), 1+min(chunkSize, len(read)/16), func(ctx context.Context, _ *tree.Cursor, i int) error {
		err := c.w.o.Objects.Verify(ctx, read[i].entry.Digest)
		read[i].missing = isMissing(err)
		if read[i].missing {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look for what was kept: %w", err)
	}
	return nil
}

// isMissing reports whether an error says that an object is missing or damaged.
func isMissing(err error) bool {
	var damaged *objects.DamagedError
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged)
}

// keepMissing stores missing objects again, durable when it returns. If a file has changed
// meanwhile, the next capture records that.
func (c *capture) keepMissing(ctx context.Context) error {
	isMissingFile := func(f surveyed) bool { return f.missing }
	if !slices.ContainsFunc(c.survey.files, isMissingFile) {
		return nil
	}
	if err := c.keep(ctx, func(f *surveyed) bool { return f.missing }); err != nil {
		return err
	}
	return c.batch.Commit(ctx)
}
