package disk

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// encoderWindow bounds what an encoder looks back, and so its memory.
const encoderWindow = 1 << 20

// ErrTooLong says that a file holds more than one of its kind can.
var ErrTooLong = errors.New("it is longer than such a file can be")

// Compressor packs and unpacks files with zstd. It is made when it is first
// needed, and is safe for concurrent use. The same bytes give the same file,
// as long as the version of the library is the same.
type Compressor struct {
	encoder func() (*zstd.Encoder, error)
	decoder func() (*zstd.Decoder, error)
}

// NewCompressor returns one that unpacks no more than limit bytes.
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

// Pack returns data compressed.
func (c *Compressor) Pack(data []byte) ([]byte, error) {
	e, err := c.encoder()
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return e.EncodeAll(data, nil), nil
}

// Unpack returns what was packed.
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
