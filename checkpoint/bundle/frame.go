package bundle

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	maxFrameHeader = 18 // RFC 8878, 3.1.1
	blockHeader    = 3
	blockRLE       = 1
	checksumSize   = 4
)

// frameReader returns the bytes of one zstd frame, and fails if anything follows. Decoders
// accept further frames and skippable frames as parts of the same stream, which could hide
// bytes in an archive.
type frameReader struct {
	in       *bufio.Reader
	begun    bool
	checksum bool
	last     bool // the current block is the last one
	left     int  // remaining bytes of the current part
}

func (f *frameReader) Read(p []byte) (int, error) {
	if f.left == 0 {
		if err := f.nextPart(); err != nil {
			return 0, err
		}
	}
	n, err := f.in.Read(p[:min(len(p), f.left)])
	f.left -= n
	if errors.Is(err, io.EOF) && f.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// nextPart reads the header of the next part of the frame, and sets its length.
func (f *frameReader) nextPart() error {
	if !f.begun {
		return f.beginFrame()
	}
	if f.last {
		if _, err := f.in.Peek(1); err != nil {
			return err // io.EOF at the end of the frame
		}
		return &DamagedError{Detail: "something follows its end"}
	}
	b, err := f.in.Peek(blockHeader)
	if err != nil {
		return unexpected(err)
	}
	// One bit for the last block, two bits for the type, then the size.
	v := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	f.left = blockHeader + v>>3
	if v>>1&3 == blockRLE {
		f.left = blockHeader + 1
	}
	if f.last = v&1 == 1; f.last && f.checksum {
		f.left += checksumSize
	}
	return nil
}

func (f *frameReader) beginFrame() error {
	b, err := f.in.Peek(maxFrameHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var h zstd.Header
	if err := h.Decode(b); err != nil {
		return fmt.Errorf("read the zstd frame: %w", err)
	}
	if h.Skippable {
		return &DamagedError{Detail: "it begins with a zstd frame that is to be skipped"}
	}
	f.begun, f.checksum, f.left = true, h.HasCheckSum, h.HeaderSize
	return nil
}

// unexpected converts io.EOF into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
