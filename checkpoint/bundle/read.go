package bundle

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// Verify reads an archive to its end and returns what it holds, if it is as it
// should be: else *DamagedError, *VersionError, *LimitError, or what r failed
// with.
func Verify(ctx context.Context, r io.Reader, limits Limits) (*Contents, error) {
	return read(ctx, r, limits, func(int) (io.WriteCloser, error) { return uncompressed{io.Discard}, nil })
}

// IsArchive reports whether what r gives begins as an archive does. It reads no
// more than that, and says nothing of whether the rest is whole.
func IsArchive(ctx context.Context, r io.Reader) bool {
	s, err := openSource(ctx, r)
	if err != nil {
		return false
	}
	defer s.close()
	block := make([]byte, blockSize)
	if s.full(block) != nil {
		return false
	}
	_, err = tableHeader(block)
	return err == nil
}

// read gives each member to a writer of its own, which create makes. Nothing
// of what is written may be believed unless read returns without an error.
func read(ctx context.Context, r io.Reader, limits Limits, create func(i int) (io.WriteCloser, error)) (*Contents, error) {
	s, err := openSource(ctx, r)
	if err != nil {
		return nil, err
	}
	defer s.close()
	c, err := readTable(s, limits.orDefaults())
	if err != nil {
		return nil, err
	}
	buf := make([]byte, bufferSize)
	for i, m := range c.Members {
		if err := expectHeader(s, m); err != nil {
			return nil, err
		}
		w, err := create(i)
		if err != nil {
			return nil, err
		}
		err = readMember(ctx, s, m, w, buf)
		if closed := w.Close(); err == nil && closed != nil {
			err = fmt.Errorf("write what the archive holds: %w", closed)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, expectEnd(s)
}

// readTable reads bundle.json. The version comes before everything else, so
// that a later one may do everything else in another way.
func readTable(s *source, limits Limits) (*Contents, error) {
	block := make([]byte, blockSize)
	if err := s.full(block); err != nil {
		return nil, err
	}
	size, err := tableHeader(block)
	if err != nil {
		return nil, err
	}
	t := &tableReader{r: bufio.NewReaderSize(io.LimitReader(s, size), bufferSize), limits: limits, sum: sha256.New()}
	if err := t.version(); err != nil {
		return nil, err
	}
	if size > limits.Table {
		return nil, &LimitError{What: "too long a table", Limit: limits.Table}
	}
	if want, err := tarHeader(tableName, size); err != nil || !bytes.Equal(block, want) {
		return nil, &DamagedError{Member: tableName, Detail: describe(block, s, tableName, size)}
	}
	c, err := t.contents()
	if err != nil {
		return nil, err
	}
	return c, expectPadding(s, tableName, size)
}

// expectHeader compares the next bytes with the tar header of a member.
func expectHeader(s *source, m Member) error {
	want, err := tarHeader(m.Name, m.Size)
	if err != nil {
		return err
	}
	got := make([]byte, len(want))
	// By blocks, since what stands there may be shorter than what should.
	for at := 0; at < len(want); at += blockSize {
		to := at + blockSize
		if err := s.full(got[at:to]); err != nil {
			return err
		}
		if !bytes.Equal(got[at:to], want[at:to]) {
			return &DamagedError{Member: m.Name, Detail: describe(got[:to], s, m.Name, m.Size)}
		}
	}
	return nil
}

// readMember copies a member's bytes and compares them with the table.
func readMember(ctx context.Context, s *source, m Member, w io.Writer, buf []byte) error {
	sum := sha256.New()
	for left := m.Size; left > 0; {
		// A few bytes can be unpacked for hours, without a read of the archive.
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		part := buf[:min(left, int64(len(buf)))]
		if err := s.full(part); err != nil {
			return err
		}
		sum.Write(part)
		n, err := w.Write(part)
		if err == nil && n < len(part) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return fmt.Errorf("write what the archive holds: %w", err)
		}
		left -= int64(len(part))
	}
	if hex.EncodeToString(sum.Sum(nil)) != m.SHA256 {
		return &DamagedError{Member: m.Name, Detail: "its bytes do not have the SHA-256 of the table"}
	}
	return expectPadding(s, m.Name, m.Size)
}

func expectPadding(s *source, name string, size int64) error {
	pad := make([]byte, padding(size))
	if err := s.full(pad); err != nil {
		return err
	}
	if !isZero(pad) {
		return &DamagedError{Member: name, Detail: "it is longer than the table says"}
	}
	return nil
}

// expectEnd makes sure that the tar stream ends, and the archive with it.
func expectEnd(s *source) error {
	block := make([]byte, blockSize)
	for range trailerSize / blockSize {
		if err := s.full(block); err != nil {
			return err
		}
		if !isZero(block) {
			return &DamagedError{Detail: "more follows than the table names: " + describe(block, s, "", -1)}
		}
	}
	return s.end()
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
