package objects

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// encoderWindow bounds how far back an encoder refers, and with it the memory of
	// encoder and decoder.
	encoderWindow = 1 << 20
	// maxWindow is the largest window that a decoder accepts. The zstd command's usual
	// levels stay below.
	maxWindow = 8 << 20
	// diskBlock is the usual block size of file systems. Saving less than a block saves
	// nothing.
	diskBlock = 4096
)

// newEncoder returns an encoder that writes no checksum, because the digest in the object's
// name is a stronger one.
func newEncoder(w io.Writer, concurrency int) (*zstd.Encoder, error) {
	return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(encoderWindow), zstd.WithEncoderConcurrency(concurrency), zstd.WithLowerEncoderMem(true),
		zstd.WithZeroFrames(true))
}

// worthCompressing reports whether the compressed size saves at least one block and a
// tenth.
func worthCompressing(plain, compressed int) bool {
	return (plain+diskBlock-1)/diskBlock > (compressed+diskBlock-1)/diskBlock && compressed <= plain-plain/10
}

// compress returns the bytes to store, and whether they are compressed.
func (s *Store) compress(data []byte) ([]byte, bool, error) {
	if !s.o.Compress || len(data) <= diskBlock {
		return data, false, nil
	}
	e, err := s.encoder()
	if err != nil {
		return nil, false, err
	}
	if c := e.EncodeAll(data, nil); worthCompressing(len(data), len(c)) {
		return c, true, nil
	}
	return data, false, nil
}

// decoder returns a decoder that reads from r. It starts no goroutine.
func (s *Store) decoder(r io.Reader) (*zstd.Decoder, error) {
	if d, ok := s.decoders.Get().(*zstd.Decoder); ok {
		if err := d.Reset(r); err != nil {
			s.releaseDecoder(d)
			return nil, err
		}
		return d, nil
	}
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
}

// releaseDecoder keeps a decoder for the next object.
func (s *Store) releaseDecoder(d *zstd.Decoder) {
	_ = d.Reset(nil) // fails only for a closed decoder, and none is closed
	s.decoders.Put(d)
}

// isReserved reports whether the frame header of a file has a reserved bit set (RFC 8878,
// 3.1.1.1.1). The decoder ignores one of the reserved bits, but no encoder sets it, so that
// the file must have been changed.
func isReserved(f io.ReaderAt) bool {
	const descriptor, bits = 4, 0b0001_1000
	var b [1]byte
	n, _ := f.ReadAt(b[:], descriptor) // a read error shows when the object is read
	return n == 1 && b[0]&bits != 0
}
