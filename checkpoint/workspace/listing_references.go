package workspace

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/objects"
)

// References tells which objects a listing needs: its own, one for each
// directory, and those of the files. Of a file that git keeps there is no
// object, unless the listing comes from another machine, whose git nobody has
// here. It looks below an
// object only if visit returns true for it; visit returns false where it knows
// what is there already. size is what is on record of the object's bytes, -1
// where nothing is. What can't be read is an error: whoever wants to remove
// what is not referred to must know all of it.
func References(ctx context.Context, kept *objects.Store, listing string, visit func(digest string, size int64) bool) error {
	if !visit(listing, -1) {
		return nil
	}
	from := ObjectSource(kept.Get)
	wire, err := from.listing(ctx, listing)
	if err != nil {
		return fmt.Errorf("read listing %s: %w", listing, err)
	}
	var files []Entry
	for i := range wire.Dirs {
		dir := &wire.Dirs[i]
		if !visit(dir.Object, -1) {
			continue
		}
		files = files[:0]
		if _, err := from.dir(ctx, dir, &files); err != nil {
			return fmt.Errorf("read listing %s: %w", listing, err)
		}
		for _, f := range files {
			if f.Digest != "" {
				visit(f.Digest, f.Size)
			}
		}
	}
	return nil
}
