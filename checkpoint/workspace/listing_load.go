package workspace

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace/tree"
)

// Load reads the listing of a capture, verified.
func (w *Workspace) Load(ctx context.Context, digest string) (*Listing, error) {
	o, err := w.Outline(ctx, digest)
	if err != nil {
		return nil, err
	}
	l, err := o.Rest(ctx, nil)
	if err != nil {
		return nil, err
	}
	w.last.Store(&loaded{digest: digest, listing: l})
	return l, nil
}

// Outline is a partly loaded listing of a capture: the patterns and the directories,
// without the files.
type Outline struct {
	Patterns []string // the globs that were captured

	objects *objects.Store
	tree    *tree.Tree
	digest  string
	wire    *wireListing
	whole   *Listing // nil: not loaded
}

// Outline reads the first object of a listing, verified.
func (w *Workspace) Outline(ctx context.Context, digest string) (*Outline, error) {
	if w.o.Objects == nil {
		return nil, fmt.Errorf("load listing %s: %w", digest, errNoObjects)
	}
	if l := w.last.Load(); l != nil && l.digest == digest {
		return &Outline{Patterns: l.listing.Patterns, whole: l.listing}, nil
	}
	wire, err := loadOutline(ctx, w.o.Objects, digest)
	if err != nil {
		return nil, fmt.Errorf("load listing %s: %w", digest, err)
	}
	return &Outline{Patterns: plainStrings(wire.Patterns), objects: w.o.Objects, tree: w.tree, digest: digest, wire: wire}, nil
}

// Rest reads the rest of the listing, verified. A directory that is the same in other,
// which may be nil, is not decoded but taken from other, whose entries may name no blobs.
// This suffices for callers that only compare the two.
func (o *Outline) Rest(ctx context.Context, other *Listing) (*Listing, error) {
	if o.whole != nil {
		return o.whole, nil
	}
	l, err := o.loadDirs(ctx, other)
	if err != nil {
		return nil, fmt.Errorf("load listing %s: %w", o.digest, err)
	}
	return l, nil
}

// loadLast loads the cache and the listing of the previous capture, if there is one. The
// next capture is compared with them.
func loadLast(ctx context.Context, w *Workspace, last *Capture) (*Listing, error) {
	w.cache.LoadOnce()
	if last == nil {
		return nil, nil
	}
	return w.Load(ctx, last.Listing)
}

// LoadAhead loads the cache and the previous listing before the next capture needs them.
// It ignores errors, which the capture then reports.
func (w *Workspace) LoadAhead(ctx context.Context, listing string) {
	loaded := runAsync(func() (struct{}, error) {
		w.cache.LoadOnce()
		return struct{}{}, nil
	})
	_, _ = w.Load(ctx, listing)
	_, _ = loaded()
}

// loaded is the listing that was loaded or written last. A run compares each capture with
// the previous one.
type loaded struct {
	digest  string
	listing *Listing
}

func loadOutline(ctx context.Context, from *objects.Store, digest string) (*wireListing, error) {
	data, err := from.Get(ctx, digest, maxListing)
	if err != nil {
		return nil, err
	}
	path, _, err := from.Path(digest)
	if err != nil {
		return nil, err
	}
	return decodeListing(path, data)
}

// loadDirs reads the directories of a listing. Directories that are equal in other are
// taken from there.
func (o *Outline) loadDirs(ctx context.Context, other *Listing) (*Listing, error) {
	wire := o.wire
	dirs := wire.allDirs()
	parts := make([][]Entry, len(dirs))
	var same atomic.Int64                                        // the number of entries that are taken from other
	buffers := sync.Pool{New: func() any { return new([]byte) }} // decoded entries do not refer to a buffer
	err := o.tree.Each(ctx, len(dirs), 1, func(ctx context.Context, _ *tree.Cursor, i int) error {
		dir, buf := &dirs[i], buffers.Get().(*[]byte)
		data, err := o.objects.GetInto(ctx, *buf, dir.Object, maxListing)
		switch {
		case err != nil:
		case dir.equalsDir(data, other):
			same.Add(int64(dir.Files))
		default:
			parts[i], err = dir.decode(data, nil)
		}
		if err != nil {
			return fmt.Errorf("directory %q: %w", dir.Path, err)
		}
		*buf = data
		buffers.Put(buf)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if other != nil && int(same.Load()) == len(other.Entries) && !slices.ContainsFunc(parts[:len(wire.Dirs)], isDecoded) {
		return wire.listing(other.Entries, concatSorted(parts[len(wire.Dirs):]))
	}
	for i, part := range parts {
		if part == nil {
			parts[i] = slices.Collect(other.entriesIn(string(dirs[i].Path)))
		}
	}
	return wire.assemble(parts)
}

func isDecoded(part []Entry) bool { return part != nil }

// putListing adds the objects of a listing to a batch, and returns the listing's digest.
func putListing(ctx context.Context, batch *objects.Batch, l *Listing) (digest string, err error) {
	if err := checkTree(l.Entries); err != nil {
		return "", err
	}
	wire := wireListing{
		FormatVersion: listingVersion, Patterns: text.List(l.Patterns),
		LeftOut: text.List(l.LeftOut), Unstable: text.List(l.Unstable), Special: text.List(l.Special),
	}
	if wire.Dirs, err = putDirs(ctx, batch, l.Entries); err != nil {
		return "", err
	}
	if wire.Sparse, err = putDirs(ctx, batch, l.Sparse); err != nil {
		return "", err
	}
	if len(wire.Sparse)+len(wire.Unstable)+len(wire.Special) > 0 {
		wire.FormatVersion = listingVersionMore
	}
	data, err := encodeObject(wire)
	if err != nil {
		return "", err
	}
	ref, err := batch.Put(ctx, data)
	return ref.Digest, err
}

// putDirs adds the objects of directories to a batch.
func putDirs(ctx context.Context, batch *objects.Batch, entries []Entry) ([]wireDir, error) {
	dirs := groupByDir(entries)
	wire := make([]wireDir, len(dirs))
	for i, d := range dirs {
		data, err := d.encode()
		if err != nil {
			return nil, err
		}
		ref, err := batch.Put(ctx, data)
		if err != nil {
			return nil, err
		}
		wire[i] = wireDir{Path: text.Text(d.path), Object: ref.Digest, Files: len(d.files), Bytes: sizeOf(d.files)}
	}
	return wire, nil
}

func sizeOf(entries []Entry) int64 {
	var bytes int64
	for _, e := range entries {
		bytes += e.Size
	}
	return bytes
}

func plainStrings(list []text.Text) []string {
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = string(s)
	}
	return all
}
