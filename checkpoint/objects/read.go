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

// Open returns the bytes of an object, or fs.ErrNotExist. They are verified
// while they are read: the read that would reach their end returns a
// *DamagedError in place of io.EOF if they are not what the name says.
func (s *Store) Open(digest string) (io.ReadCloser, error) {
	n, err := parse(digest)
	if err != nil {
		return nil, err
	}
	return s.open(n)
}

func (s *Store) open(n name) (*reader, error) {
	found, err := s.find(n)
	if err != nil {
		return nil, err
	}
	f, err := s.fs.OpenFile(found.path, os.O_RDONLY, 0) // find has seen that it is a file
	if err != nil {
		return nil, fmt.Errorf("open object %s: %w", n.digest(), err)
	}
	r := &reader{store: s, name: n, found: found, hash: sha256.New(), source: source{file: f}}
	r.in = &r.source
	if found.size > MaxSize { // to read what nobody put there could take hours
		r.err = r.damaged(fmt.Sprintf("it is longer than %d GiB, which no object is", MaxSize>>30))
		return r, nil
	}
	if !found.compressed {
		return r, nil
	}
	if r.decoder, err = s.decode(&r.source); err != nil {
		_ = f.Close()
		return nil, r.explain(err)
	}
	r.in = r.decoder
	if isReserved(f) {
		r.err = r.damaged("reserved bits are set")
	}
	return r, nil
}

// Clone has an empty file share the bytes of an object's, where these are not
// compressed and the file system can do that, and reports whether it does. They
// are not verified.
func (s *Store) Clone(to *os.File, digest string) bool {
	n, err := parse(digest)
	if err != nil {
		return false
	}
	found, err := s.find(n)
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

// reader reads an object and verifies it at its end.
type reader struct {
	store   *Store
	name    name
	found   file
	source  source
	in      io.Reader
	decoder *zstd.Decoder // of a compressed one
	hash    hash.Hash
	err     error // is final
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	n, err := r.in.Read(p)
	_, _ = r.hash.Write(p[:n]) // a hash never fails
	switch {
	case errors.Is(err, io.EOF):
		r.err = r.verdict()
	case err != nil:
		r.err = r.explain(err)
	}
	return n, r.err
}

func (r *reader) verdict() error {
	if is := nameOf(r.hash.Sum(nil)); is != r.name {
		return r.damaged("its bytes are " + is.digest())
	}
	return io.EOF
}

// explain tells a file that cannot be read from one that holds what no encoder
// wrote.
func (r *reader) explain(err error) error {
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
		r.store.release(r.decoder)
		r.decoder = nil
	}
	r.err = fmt.Errorf("read object %s: %w", r.name.digest(), fs.ErrClosed)
	if err := r.source.file.Close(); err != nil {
		return fmt.Errorf("close object %s: %w", r.name.digest(), err)
	}
	return nil
}

// source is the file of an object, which remembers why it could not be read.
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

// Get returns the bytes of an object that is at most limit bytes long,
// verified. A longer one is ErrTooLarge.
func (s *Store) Get(ctx context.Context, digest string, limit int64) ([]byte, error) {
	return s.GetInto(ctx, nil, digest, limit)
}

// GetInto is Get into the memory of a buffer as far as there is room in it. What was
// in it before is overwritten.
func (s *Store) GetInto(ctx context.Context, buf []byte, digest string, limit int64) ([]byte, error) {
	n, err := parse(digest)
	if err != nil {
		return nil, err
	}
	r, err := s.open(n)
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
	// One byte more tells a longer object; no limit at all must not overflow.
	_, err = data.ReadFrom(&io.LimitedReader{R: &interruptible{ctx, r}, N: max(limit, limit+1)})
	if err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, tooLarge()
	}
	return data.Bytes(), nil
}

// interruptible reads until its context ends.
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
