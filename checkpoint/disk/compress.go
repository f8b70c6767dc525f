package disk

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// encoderWindow bounds how far an encoder looks back, and so its memory.
const encoderWindow = 1 << 20

// ErrTooLong says that a file is larger after decompression than its kind may be.
var ErrTooLong = errors.New("it is longer than such a file can be")

// Compressor compresses and decompresses files with zstd. Its encoder and decoder are
// created at first use. It is safe for concurrent use. With one version of the library the
// same bytes give the same file.
type Compressor struct {
	encoder func() (*zstd.Encoder, error)
	decoder func() (*zstd.Decoder, error)
}

// NewCompressor returns a compressor that decompresses at most limit bytes.
func NewCompressor(limit uint64) *Compressor {
	return &Compressor{
		encoder: sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
				zstd.WithWindowSize(encoderWindow), zstd.WithLowerEncoderMem(true))
		}),
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(limit))
		}),
	}
}

// Pack compresses data.
func (c *Compressor) Pack(data []byte) ([]byte, error) {
	e, err := c.encoder()
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return e.EncodeAll(data, nil), nil
}

// Unpack decompresses what Pack returned.
func (c *Compressor) Unpack(packed []byte) ([]byte, error) {
	d, err := c.decoder()
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	data, err := d.DecodeAll(packed, nil)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = ErrTooLong
	}
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return data, nil
}
