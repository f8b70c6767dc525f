package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"prdrunner/checkpoint/objects"
)

// ObjectSource returns the bytes of an object of at most limit bytes, or fs.ErrNotExist.
// With it, listings can be read from elsewhere than a workspace's objects, such as an
// archive.
type ObjectSource func(ctx context.Context, digest string, limit int64) ([]byte, error)

// ReadListing reads a listing from a source, as Load does from the objects.
func ReadListing(ctx context.Context, from ObjectSource, digest string) (*Listing, error) {
	wire, err := from.readOutline(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("read listing %s: %w", digest, err)
	}
	dirs := wire.allDirs()
	parts := make([][]Entry, len(dirs))
	for i := range dirs {
		if _, err := from.readDir(ctx, &dirs[i], &parts[i]); err != nil {
			return nil, fmt.Errorf("read listing %s: %w", digest, err)
		}
	}
	l, err := wire.assemble(parts)
	if err != nil {
		return nil, fmt.Errorf("read listing %s: %w", digest, err)
	}
	return l, nil
}

func (from ObjectSource) readOutline(ctx context.Context, digest string) (*wireListing, error) {
	data, err := from(ctx, digest, maxListing)
	if err != nil {
		return nil, err
	}
	return decodeListing(digest, data)
}

// readDir appends the entries of a directory to to, and returns the size of the directory's
// object.
func (from ObjectSource) readDir(ctx context.Context, dir *wireDir, to *[]Entry) (size int64, err error) {
	data, err := from(ctx, dir.Object, maxListing)
	if err == nil {
		*to, err = dir.decode(data, *to)
	}
	if err != nil {
		return 0, fmt.Errorf("directory %q: %w", dir.Path, err)
	}
	return int64(len(data)), nil
}

// Inventory finds the objects and entries of listings, even if git keeps the bytes of the
// files. It reads an object that listings share only once.
type Inventory struct {
	From ObjectSource
	File func(Entry) // is called for every entry that has bytes
	// Own holds the sizes of the listings' own objects. Lost holds the reasons why other
	// such objects are missing; the files that they name are not known.
	Own  map[string]int64
	Lost map[string]string
}

// NewInventory returns an empty inventory.
func NewInventory(from ObjectSource, file func(Entry)) *Inventory {
	return &Inventory{From: from, File: file, Own: map[string]int64{}, Lost: map[string]string{}}
}

// Add adds the objects and entries of a listing.
func (v *Inventory) Add(ctx context.Context, listing string) error {
	if v.isRecorded(listing) {
		return nil
	}
	data, err := v.From(ctx, listing, maxListing)
	if err != nil {
		return v.recordLost(listing, err)
	}
	wire, err := decodeListing(listing, data)
	if err != nil {
		return fmt.Errorf("read listing %s: %w", listing, err)
	}
	v.Own[listing] = int64(len(data))
	var files []Entry
	dirs := wire.allDirs()
	for i := range dirs {
		dir := &dirs[i]
		if v.isRecorded(dir.Object) {
			continue
		}
		files = files[:0]
		size, err := v.From.readDir(ctx, dir, &files)
		if err != nil {
			if err := v.recordLost(dir.Object, err); err != nil {
				return fmt.Errorf("read listing %s: %w", listing, err)
			}
			continue
		}
		v.Own[dir.Object] = size
		for _, f := range files {
			if f.Digest != "" {
				v.File(f)
			}
		}
	}
	return nil
}

func (v *Inventory) isRecorded(digest string) bool {
	_, read := v.Own[digest]
	_, lost := v.Lost[digest]
	return read || lost
}

// recordLost records a missing or damaged object. It returns any other error.
func (v *Inventory) recordLost(digest string, err error) error {
	var damaged *objects.DamagedError
	if !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &damaged) && !errors.Is(err, objects.ErrDigest) {
		return err
	}
	v.Lost[digest] = err.Error()
	return nil
}

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
	wire, err := from.readOutline(ctx, listing)
	if err != nil {
		return fmt.Errorf("read listing %s: %w", listing, err)
	}
	var files []Entry
	dirs := wire.allDirs()
	for i := range dirs {
		dir := &dirs[i]
		if !visit(dir.Object, -1) {
			continue
		}
		files = files[:0]
		if _, err := from.readDir(ctx, dir, &files); err != nil {
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
