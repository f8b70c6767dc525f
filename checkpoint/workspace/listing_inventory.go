package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"prdrunner/checkpoint/objects"
)

// ObjectSource gives the bytes of an object that is at most limit long, or
// fs.ErrNotExist. It is what listings are read from that lie elsewhere than in
// a workspace's own objects: in an archive.
type ObjectSource func(ctx context.Context, digest string, limit int64) ([]byte, error)

// ReadListing reads a listing from a source, as Load does from the objects.
func ReadListing(ctx context.Context, from ObjectSource, digest string) (*Listing, error) {
	wire, err := from.listing(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("read listing %s: %w", digest, err)
	}
	dirs := wire.all()
	parts := make([][]Entry, len(dirs))
	for i := range dirs {
		if _, err := from.dir(ctx, &dirs[i], &parts[i]); err != nil {
			return nil, fmt.Errorf("read listing %s: %w", digest, err)
		}
	}
	l, err := wire.join(parts)
	if err != nil {
		return nil, fmt.Errorf("read listing %s: %w", digest, err)
	}
	return l, nil
}

func (from ObjectSource) listing(ctx context.Context, digest string) (*wireListing, error) {
	data, err := from(ctx, digest, maxListing)
	if err != nil {
		return nil, err
	}
	return decodeListing(digest, data)
}

// dir adds the entries of a directory, and returns how long its object is.
func (from ObjectSource) dir(ctx context.Context, dir *wireDir, to *[]Entry) (size int64, err error) {
	data, err := from(ctx, dir.Object, maxListing)
	if err == nil {
		*to, err = dir.decode(data, *to)
	}
	if err != nil {
		return 0, fmt.Errorf("directory %q: %w", dir.Path, err)
	}
	return int64(len(data)), nil
}

// Inventory finds out what listings consist of, wherever the bytes of their
// files are kept. What several of them share is read once.
type Inventory struct {
	From ObjectSource
	File func(Entry) // is told of every entry that has bytes
	// Own are the objects of the listings themselves, to their sizes, and Lost
	// those of them that are not there or damaged, with the reason: what they
	// name is not known.
	Own  map[string]int64
	Lost map[string]string
}

// NewInventory returns an inventory of nothing.
func NewInventory(from ObjectSource, file func(Entry)) *Inventory {
	return &Inventory{From: from, File: file, Own: map[string]int64{}, Lost: map[string]string{}}
}

// Add adds a listing.
func (v *Inventory) Add(ctx context.Context, listing string) error {
	if v.knows(listing) {
		return nil
	}
	data, err := v.From(ctx, listing, maxListing)
	if err != nil {
		return v.lost(listing, err)
	}
	wire, err := decodeListing(listing, data)
	if err != nil {
		return fmt.Errorf("read listing %s: %w", listing, err)
	}
	v.Own[listing] = int64(len(data))
	var files []Entry
	dirs := wire.all()
	for i := range dirs {
		dir := &dirs[i]
		if v.knows(dir.Object) {
			continue
		}
		files = files[:0]
		size, err := v.From.dir(ctx, dir, &files)
		if err != nil {
			if err := v.lost(dir.Object, err); err != nil {
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

func (v *Inventory) knows(digest string) bool {
	_, read := v.Own[digest]
	_, lost := v.Lost[digest]
	return read || lost
}

// lost notes that an object can't be had; any other error is returned.
func (v *Inventory) lost(digest string, err error) error {
	var damaged *objects.DamagedError
	if !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &damaged) && !errors.Is(err, objects.ErrDigest) {
		return err
	}
	v.Lost[digest] = err.Error()
	return nil
}

// Reader opens many entries, one after the other, through one process of git.
// It is not safe for concurrent use, and is to be closed.
type Reader struct{ source source }

// Reader returns a reader of entries. The context is of all that is read
// through it.
func (w *Workspace) Reader(ctx context.Context) (*Reader, error) {
	r := &Reader{source{w: w}}
	if w.o.Git == nil {
		return r, nil
	}
	var err error
	r.source.blobs, err = w.o.Git.Blobs(ctx)
	return r, err
}

// Open returns the bytes of an entry, as Workspace.Open does. What it returned
// before must have been closed.
func (r *Reader) Open(ctx context.Context, e Entry) (io.ReadCloser, error) {
	if e.Blob == "" || r.source.blobs == nil {
		return r.source.w.Open(ctx, e)
	}
	out, in := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = in.CloseWithError(r.source.write(ctx, e, in))
	}()
	return &piped{PipeReader: out, done: done}, nil
}

// Close ends the process.
func (r *Reader) Close() error {
	if r.source.blobs == nil {
		return nil
	}
	return r.source.blobs.Close()
}

// piped is an entry that another goroutine reads.
type piped struct {
	*io.PipeReader
	done chan struct{}
}

// Close waits for the other goroutine, which then has nobody to write to.
func (p *piped) Close() error {
	err := p.PipeReader.Close()
	<-p.done
	return err
}
