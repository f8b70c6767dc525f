package objects

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// window bounds what an encoder looks back, and so the memory of both sides.
	window = 1 << 20
	// maxWindow is what a decoder accepts: enough for what zstd itself writes
	// at its usual levels.
	maxWindow = 8 << 20
	// block is what file systems allot at least. Saving less saves nothing.
	block = 4096
)

// newEncoder returns an encoder without a checksum of its own: the name of the
// object is a better one.
func newEncoder(w io.Writer, concurrency int) (*zstd.Encoder, error) {
	return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(concurrency), zstd.WithLowerEncoderMem(true),
		zstd.WithZeroFrames(true))
}

// helps reports whether storing the second number of bytes in place of the
// first saves blocks, and a tenth.
func helps(plain, compressed int) bool {
	return (plain+block-1)/block > (compressed+block-1)/block && compressed <= plain-plain/10
}

// compress returns data in its smaller form, and whether that is compressed.
func (s *Store) compress(data []byte) ([]byte, bool, error) {
	if !s.o.Compress || len(data) <= block {
		return data, false, nil
	}
	e, err := s.whole()
	if err != nil {
		return nil, false, err
	}
	if c := e.EncodeAll(data, nil); helps(len(data), len(c)) {
		return c, true, nil
	}
	return data, false, nil
}

// decode returns a decoder of what is read. It starts no goroutine.
func (s *Store) decode(r io.Reader) (*zstd.Decoder, error) {
	if d, ok := s.decoders.Get().(*zstd.Decoder); ok {
		if err := d.Reset(r); err != nil {
			s.release(d)
			return nil, err
		}
		return d, nil
	}
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
}

// release keeps a decoder for the next object.
func (s *Store) release(d *zstd.Decoder) {
	if d.Reset(nil) == nil {
		s.decoders.Put(d)
	}
}

// isReserved reports whether a file sets bits of its frame's header that mean
// nothing (RFC 8878, 3.1.1.1.1). Decoders pass over one of them, but no
// encoder sets it: the file was changed.
func isReserved(f io.ReaderAt) bool {
	const descriptor, bits = 4, 0b0001_1000
	var b [1]byte
	n, _ := f.ReadAt(b[:], descriptor) // what cannot be read is found by who reads all
	return n == 1 && b[0]&bits != 0
}
