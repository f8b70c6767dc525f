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

// isObject reports whether the last capture has a file as it is, as an object.
func (c *capture) isObject(f *surveyed) bool {
	return f.last != nil && f.last.Blob == "" && f.known() && f.last.Digest == f.entry.Digest
}

// findLost finds, among the files that had to be read and are as the last capture
// has them, those whose objects are not there any more, or damaged: it has them
// read as well. The others are not looked at, since a capture costs what
// changed, not what there is.
func (c *capture) findLost(ctx context.Context) error {
	var read []*surveyed
	for i := range c.survey.files {
		if f := &c.survey.files[i]; f.read && c.isObject(f) {
			read = append(read, f)
		}
	}
	err := c.w.Each(ctx, len(read), 1+min(chunkSize, len(read)/16), func(ctx context.Context, _ *tree.Cursor, i int) error {
		err := c.w.o.Objects.Verify(ctx, read[i].entry.Digest)
		read[i].lost = isGone(err)
		if read[i].lost {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look for what was kept: %w", err)
	}
	return nil
}

// isGone reports whether an error says that an object is not there, or damaged.
func isGone(err error) bool {
	var damaged *objects.DamagedError
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged)
}

// keepLost keeps again what is lost, durable when it returns. A file that is not
// as it was any more has changed meanwhile: the next capture will have that.
func (c *capture) keepLost(ctx context.Context) error {
	isLost := func(f surveyed) bool { return f.lost }
	if !slices.ContainsFunc(c.survey.files, isLost) {
		return nil
	}
	if err := c.keep(ctx, func(f *surveyed) bool { return f.lost }); err != nil {
		return err
	}
	return c.batch.Commit(ctx)
}
