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
	writtenFrame = 4 << 20 // window in bytes for compression
	allowedFrame = 8 << 20 // largest window in bytes for reading; zstd -19 uses it
	bufferSize   = 64 << 10
)

// compress returns a compressing writer. Equal input gives equal output: gzip's header has
// neither name nor time, and zstd runs in one thread. It uses gzip from klauspost/compress,
// because go.mod fixes its version, while that of the standard library depends on the
// toolchain.
func compress(w io.Writer, format Format) (io.WriteCloser, error) {
	switch format {
	case Tar:
		return uncompressed{w}, nil
	case Gzip:
		z, err := gzip.NewWriterLevel(w, gzipLevel)
		if err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		z.ModTime = time.Unix(0, 0) // the zero time.Time would be written as a date in 2042
		return z, nil
	case Zstd:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(writtenZstd), zstd.WithWindowSize(writtenFrame))
	}
	return nil, fmt.Errorf("there is no archive format %d", format)
}

type uncompressed struct{ io.Writer }

func (uncompressed) Close() error { return nil }

// source is an archive that is read. Its reader, the tar stream, returns *DamagedError if
// the archive is invalid, and the error of the underlying reader if that failed.
type source struct {
	*bufio.Reader
	raw   *rawReader
	in    *bufio.Reader // buffers raw
	close func()
}

// openSource detects the compression by the first bytes. Close the source after use.
func openSource(ctx context.Context, r io.Reader) (*source, error) {
	raw := &rawReader{ctx: ctx, r: r}
	s := &source{raw: raw, in: bufio.NewReaderSize(raw, bufferSize), close: func() {}}
	magic, err := s.in.Peek(4)
	if err != nil {
		return nil, s.readError(err)
	}
	var stream io.Reader = s.in
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(s.in)
		if err != nil {
			return nil, s.readError(err)
		}
		z.Multistream(false)
		stream = z
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(&frameReader{in: s.in}, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(allowedFrame))
		if err != nil {
			return nil, s.readError(err)
		}
		stream, s.close = z, z.Close
	}
	s.Reader = bufio.NewReaderSize(faultReader{stream, s}, bufferSize)
	return s, nil
}

// readFull fills p.
func (s *source) readFull(p []byte) error {
	_, err := io.ReadFull(s, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.readError(err)
	}
	return err
}

// expectEOF checks that nothing follows in the tar stream, or after the compressed stream.
func (s *source) expectEOF() error {
	_, err := s.ReadByte()
	if errors.Is(err, io.EOF) {
		_, err = s.in.ReadByte()
	}
	switch {
	case err == nil:
		return &DamagedError{Detail: "something follows its end"}
	case !errors.Is(err, io.EOF):
		return s.readError(err)
	}
	return nil
}

// readError returns the error of the underlying reader if that failed, else *DamagedError.
func (s *source) readError(err error) error {
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

// faultReader converts the errors of a decompressor with readError.
type faultReader struct {
	r io.Reader
	s *source
}

func (f faultReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = f.s.readError(err)
	}
	return n, err
}

// rawReader records the error of the underlying reader, which a decompressor may hide, and
// fails when its context is done.
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
