package checkpoint

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// encoderWindow bounds what an encoder looks back, and so its memory.
const encoderWindow = 1 << 20

// errTooLong says that a file holds more than one of its kind can.
var errTooLong = errors.New("it is longer than such a file can be")

// compressor packs and unpacks files with zstd. It is made when it is first
// needed, and is safe for concurrent use. The same bytes give the same file,
// as long as the version of the library is the same.
type compressor struct {
	encoder func() (*zstd.Encoder, error)
	decoder func() (*zstd.Decoder, error)
}

// newCompressor returns one that unpacks no more than limit bytes.
func newCompressor(limit uint64) *compressor {
	return &compressor{
		encoder: sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
				zstd.WithWindowSize(encoderWindow), zstd.WithLowerEncoderMem(true))
		}),
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(limit))
		}),
	}
}

// pack returns data compressed.
func (c *compressor) pack(data []byte) ([]byte, error) {
	e, err := c.encoder()
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return e.EncodeAll(data, nil), nil
}

// unpack returns what was packed.
func (c *compressor) unpack(packed []byte) ([]byte, error) {
	d, err := c.decoder()
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	data, err := d.DecodeAll(packed, nil)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = errTooLong
	}
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return data, nil
}
