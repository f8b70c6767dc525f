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

// frameReader gives the bytes of one zstd frame, and fails if anything follows
// it: decoders take further frames, and frames to be skipped, for a part of
// the same stream, and so would let an archive grow unseen.
type frameReader struct {
	in       *bufio.Reader
	begun    bool
	checksum bool
	last     bool // the last block was begun
	left     int  // bytes that belong to what was begun
}

func (f *frameReader) Read(p []byte) (int, error) {
	if f.left == 0 {
		if err := f.next(); err != nil {
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

// next looks at the next part of the frame, and says how long it is.
func (f *frameReader) next() error {
	if !f.begun {
		return f.begin()
	}
	if f.last {
		if _, err := f.in.Peek(1); err != nil {
			return err // io.EOF, where the frame ends too
		}
		return &DamagedError{Detail: "something follows its end"}
	}
	b, err := f.in.Peek(blockHeader)
	if err != nil {
		return unexpected(err)
	}
	// The last bit, then two of the type, then the size.
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

func (f *frameReader) begin() error {
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

// unexpected is for where the end of the file is no end.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
