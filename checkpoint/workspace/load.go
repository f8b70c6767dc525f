package workspace

import (
	"context"
	"fmt"
	"sync"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/text"
)

// Load reads the listing of a capture, verified.
func (w *Workspace) Load(ctx context.Context, digest string) (*Listing, error) {
	if w.o.Objects == nil {
		return nil, fmt.Errorf("load listing %s: %w", digest, errNoObjects)
	}
	if l := w.last.Load(); l != nil && l.digest == digest {
		return l.listing, nil
	}
	l, err := w.loadListing(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("load listing %s: %w", digest, err)
	}
	w.last.Store(&loaded{digest: digest, listing: l})
	return l, nil
}

// loadLast loads what a capture is compared with: the cache, and the listing of
// the capture before, if there is one.
func (w *Workspace) loadLast(ctx context.Context, last *Capture) (*Listing, error) {
	w.cache.once.Do(w.cache.load)
	if last == nil {
		return nil, nil
	}
	return w.Load(ctx, last.Listing)
}

// LoadAhead loads what a capture is compared with that comes soon: the cache, and the
// listing of the capture before. Whoever needs what can't be loaded is told then.
func (w *Workspace) LoadAhead(ctx context.Context, listing string) {
	loaded := beside(func() (struct{}, error) {
		w.cache.once.Do(w.cache.load)
		return struct{}{}, nil
	})
	_, _ = w.Load(ctx, listing)
	_, _ = loaded()
}

// loaded is the last listing that was loaded or written. A run compares each
// capture with the one before it.
type loaded struct {
	digest  string
	listing *Listing
}

func (w *Workspace) loadListing(ctx context.Context, digest string) (*Listing, error) {
	data, err := w.o.Objects.Get(ctx, digest, maxListing)
	if err != nil {
		return nil, err
	}
	path, _, err := w.o.Objects.Path(digest)
	if err != nil {
		return nil, err
	}
	wire, err := decodeListing(path, data)
	if err != nil {
		return nil, err
	}
	dirs := wire.all()
	parts := make([][]Entry, len(dirs))
	buffers := sync.Pool{New: func() any { return new([]byte) }} // nothing that is decoded refers to one
	err = w.each(ctx, len(dirs), 1, func(ctx context.Context, _ *cursor, i int) error {
		dir, buf := &dirs[i], buffers.Get().(*[]byte)
		data, err := w.o.Objects.GetInto(ctx, *buf, dir.Object, maxListing)
		if err == nil {
			parts[i], err = dir.decode(data, nil)
			*buf = data
			buffers.Put(buf)
		}
		if err != nil {
			return fmt.Errorf("directory %q: %w", dir.Path, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return wire.listing(parts)
}

// putListing adds the objects of a listing to a batch and returns its name.
func (w *Workspace) putListing(ctx context.Context, batch *objects.Batch, l *Listing) (digest string, err error) {
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
	dirs := split(entries)
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

func plain(list []text.Text) []string {
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = string(s)
	}
	return all
}
