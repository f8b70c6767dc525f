package workspace

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/objects"
)

// References calls visit for each object that a listing needs: its own, one per directory,
// and those of files. size is the recorded size of the object: -1 if none is recorded, and
// 0 for a file that git keeps, which has an object only in place of git's blob, as after
// an import. If visit returns false for the listing or a directory, References skips the
// objects below it, for callers that know them already. An unreadable object is an error,
// since a caller that removes unreferenced objects must know all references.
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
