package workspace

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/objects"
)

// References tells which objects a listing needs: its own, one for each
// directory, and those of files. It looks below an object only if visit returns
// true for it; visit returns false where it knows what is there already. size
// is what is on record of the object's bytes: -1 where nothing is, 0 for a file
// that git keeps, of which there is an object only where one stands in for git,
// as after an import. What can't be read is an error: whoever wants to remove
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
	dirs := wire.all()
	for i := range dirs {
		dir := &dirs[i]
		if !visit(dir.Object, -1) {
			continue
		}
		files = files[:0]
		if _, err := from.dir(ctx, dir, &files); err != nil {
			return fmt.Errorf("read listing %s: %w", listing, err)
		}
		for _, f := range files {
			switch {
			case f.Digest == "":
			case f.Blob == "":
				visit(f.Digest, f.Size)
			default:
				visit(f.Digest, 0)
			}
		}
	}
	return nil
}
