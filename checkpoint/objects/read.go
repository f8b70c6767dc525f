package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"

	"prdrunner/checkpoint/store"
)

// Open returns a reader of an object, or fs.ErrNotExist. The reader verifies the bytes:
// in place of io.EOF it returns *DamagedError if their digest differs from the name of
// the object.
func (s *Store) Open(digest string) (io.ReadCloser, error) {
	n, err := parseDigest(digest)
	if err != nil {
		return nil, err
	}
	return s.openObject(n)
}

func (s *Store) openObject(n name) (*reader, error) {
	found, err := s.locate(n)
	if err != nil {
		return nil, err
	}
	f, err := s.fs.OpenFile(found.path, os.O_RDONLY, 0) // locate found a regular file, so that opening it does not block
	if err != nil {
		return nil, fmt.Errorf("open object %s: %w", n.digest(), err)
	}
	r := &reader{store: s, name: n, found: found, hash: sha256.New(), source: source{file: f}}
	r.in = &r.source
	if found.size > MaxSize { // no batch wrote it, and reading it could take hours
		r.err = r.damaged(fmt.Sprintf("it is longer than %d GiB, which no object is", MaxSize>>30))
		return r, nil
	}
	if !found.compressed {
		return r, nil
	}
	if r.decoder, err = s.decoder(&r.source); err != nil {
		_ = f.Close()
		return nil, r.readError(err)
	}
	r.in = r.decoder
	if isReserved(f) {
		r.err = r.damaged("reserved bits are set")
	}
	return r, nil
}

// Clone makes an empty file share the blocks of an object, and reports whether it did. It
// cannot for a compressed object, or on a file system without shared blocks. It does not
// verify the bytes.
func (s *Store) Clone(to *os.File, digest string) bool {
	n, err := parseDigest(digest)
	if err != nil {
		return false
	}
	found, err := s.locate(n)
	if err != nil || found.compressed {
		return false
	}
	f, err := s.fs.OpenFile(found.path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read from
	return store.Clone(to, f)
}

// reader reads an object, and verifies its digest at the end.
type reader struct {
	store   *Store
	name    name
	found   file
	source  source
	in      io.Reader
	decoder *zstd.Decoder // nil if the object is not compressed
	hash    hash.Hash
	err     error // of every further Read
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	n, err := r.in.Read(p)
	_, _ = r.hash.Write(p[:n]) // a hash never fails
	switch {
	case errors.Is(err, io.EOF):
		r.err = r.verify()
	case err != nil:
		r.err = r.readError(err)
	}
	return n, r.err
}

func (r *reader) verify() error {
	if is := nameOf(r.hash.Sum(nil)); is != r.name {
		return r.damaged("its bytes are " + is.digest())
	}
	return io.EOF
}

// readError returns the error of the file if reading it failed. Otherwise the decoder
// failed on its bytes, which is *DamagedError.
func (r *reader) readError(err error) error {
	if failed := r.source.err; failed != nil {
		return fmt.Errorf("read object %s: %w", r.name.digest(), failed)
	}
	return r.damaged(err.Error())
}

func (r *reader) damaged(detail string) error {
	return &DamagedError{Path: r.found.path, Digest: r.name.digest(), Detail: detail}
}

func (r *reader) Close() error {
	if r.decoder != nil {
		r.store.releaseDecoder(r.decoder)
		r.decoder = nil
	}
	r.err = fmt.Errorf("read object %s: %w", r.name.digest(), fs.ErrClosed)
	if err := r.source.file.Close(); err != nil {
		return fmt.Errorf("close object %s: %w", r.name.digest(), err)
	}
	return nil
}

// source reads the file of an object, and records a read error, which the decoder wraps.
type source struct {
	file store.File
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.file.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Get returns the verified bytes of an object. An object of more than limit bytes is
// ErrTooLarge.
func (s *Store) Get(ctx context.Context, digest string, limit int64) ([]byte, error) {
	return s.GetInto(ctx, nil, digest, limit)
}

// GetInto is like Get, but reuses the memory of buf if the object fits. It overwrites buf.
func (s *Store) GetInto(ctx context.Context, buf []byte, digest string, limit int64) ([]byte, error) {
	n, err := parseDigest(digest)
	if err != nil {
		return nil, err
	}
	r, err := s.openObject(n)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read from
	tooLarge := func() error { return fmt.Errorf("get object %s of at most %d bytes: %w", digest, limit, ErrTooLarge) }
	data := bytes.NewBuffer(buf[:0])
	if !r.found.compressed {
		if r.found.size > limit {
			return nil, tooLarge()
		}
		data.Grow(int(r.found.size) + bytes.MinRead)
	}
	// One byte beyond the limit shows that the object is longer. The max avoids an
	// overflow.
	_, err = data.ReadFrom(&io.LimitedReader{R: &interruptible{ctx, r}, N: max(limit, limit+1)})
	if err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, tooLarge()
	}
	return data.Bytes(), nil
}

// interruptible is a reader that fails once its context is done.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}
