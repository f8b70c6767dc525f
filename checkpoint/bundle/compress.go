package bundle

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	gzipLevel    = 6
	writtenZstd  = zstd.SpeedDefault
	writtenFrame = 4 << 20 // the window that zstd compresses with
	allowedFrame = 8 << 20 // the window that a reader makes room for; zstd -19 takes as much
	bufferSize   = 64 << 10
)

// compress returns a writer of the format. The bytes that come out depend only
// on those that go in: gzip's header has neither name nor time, and zstd works
// in one thread. That module's gzip is taken rather than the standard
// library's because go.mod fixes its version, whatever the toolchain.
func compress(w io.Writer, format Format) (io.WriteCloser, error) {
	switch format {
	case Tar:
		return uncompressed{w}, nil
	case Gzip:
		z, err := gzip.NewWriterLevel(w, gzipLevel)
		if err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		z.ModTime = time.Unix(0, 0) // the zero time would be written as one in 2042
		return z, nil
	case Zstd:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(writtenZstd), zstd.WithWindowSize(writtenFrame))
	}
	return nil, fmt.Errorf("there is no archive format %d", format)
}

type uncompressed struct{ io.Writer }

func (uncompressed) Close() error { return nil }

// source is an archive that is read. Its reader, the tar stream, fails with
// *DamagedError if the archive is at fault, and else with what the archive's
// own reader failed with.
type source struct {
	*bufio.Reader
	raw   *rawReader
	in    *bufio.Reader // what raw gives
	close func()
}

// openSource looks at the first bytes to see how an archive is compressed.
// Close the source after use.
func openSource(ctx context.Context, r io.Reader) (*source, error) {
	raw := &rawReader{ctx: ctx, r: r}
	s := &source{raw: raw, in: bufio.NewReaderSize(raw, bufferSize), close: func() {}}
	magic, err := s.in.Peek(4)
	if err != nil {
		return nil, s.fault(err)
	}
	var stream io.Reader = s.in
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(s.in)
		if err != nil {
			return nil, s.fault(err)
		}
		z.Multistream(false)
		stream = z
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(&frameReader{in: s.in}, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(allowedFrame))
		if err != nil {
			return nil, s.fault(err)
		}
		stream, s.close = z, z.Close
	}
	s.Reader = bufio.NewReaderSize(faultReader{stream, s}, bufferSize)
	return s, nil
}

// full reads as many bytes as p is long.
func (s *source) full(p []byte) error {
	_, err := io.ReadFull(s, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.fault(err)
	}
	return err
}

// end makes sure that nothing follows, neither in the tar stream nor behind
// what it is compressed into.
func (s *source) end() error {
	_, err := s.ReadByte()
	if errors.Is(err, io.EOF) {
		_, err = s.in.ReadByte()
	}
	switch {
	case err == nil:
		return &DamagedError{Detail: "something follows its end"}
	case !errors.Is(err, io.EOF):
		return s.fault(err)
	}
	return nil
}

// fault tells an archive that is damaged from one that could not be read.
func (s *source) fault(err error) error {
	var known *DamagedError
	switch {
	case s.raw.err != nil:
		return fmt.Errorf("read the archive: %w", s.raw.err)
	case errors.As(err, &known):
		return known
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &DamagedError{Detail: "it is cut short"}
	default:
		return &DamagedError{Detail: "it cannot be decompressed: " + err.Error()}
	}
}

// faultReader turns a decompressor's errors into faults.
type faultReader struct {
	r io.Reader
	s *source
}

func (f faultReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = f.s.fault(err)
	}
	return n, err
}

// rawReader remembers the error of the archive's own reader, which some
// decompressor may hide, and ends with its context.
type rawReader struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (r *rawReader) Read(p []byte) (int, error) {
	if r.err == nil {
		r.err = r.ctx.Err()
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
