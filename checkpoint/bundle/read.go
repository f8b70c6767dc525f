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

// Verify reads a whole archive and returns its contents. An invalid archive is
// *DamagedError, *VersionError or *LimitError; any other error comes from r.
func Verify(ctx context.Context, r io.Reader, limits Limits) (*Contents, error) {
	return readArchive(ctx, r, limits, func(int) (io.WriteCloser, error) { return uncompressed{io.Discard}, nil })
}

// IsArchive reports whether r begins as an archive does. It reads only the beginning, and
// does not check the rest.
func IsArchive(ctx context.Context, r io.Reader) bool {
	s, err := openSource(ctx, r)
	if err != nil {
		return false
	}
	defer s.close()
	block := make([]byte, blockSize)
	if s.readFull(block) != nil {
		return false
	}
	_, err = tableHeader(block)
	return err == nil
}

// readArchive writes each member to a writer that create returns. The bytes are trustworthy
// only if readArchive returns nil.
func readArchive(ctx context.Context, r io.Reader, limits Limits, create func(i int) (io.WriteCloser, error)) (*Contents, error) {
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

// readTable reads bundle.json. The version comes first, so that a later version can change
// everything else.
func readTable(s *source, limits Limits) (*Contents, error) {
	block := make([]byte, blockSize)
	if err := s.readFull(block); err != nil {
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
		return nil, &DamagedError{Member: tableName, Detail: describeFound(block, s, tableName, size)}
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
	// It compares block by block, because the stream may be shorter than expected.
	for at := 0; at < len(want); at += blockSize {
		to := at + blockSize
		if err := s.readFull(got[at:to]); err != nil {
			return err
		}
		if !bytes.Equal(got[at:to], want[at:to]) {
			return &DamagedError{Member: m.Name, Detail: describeFound(got[:to], s, m.Name, m.Size)}
		}
	}
	return nil
}

// readMember copies the bytes of a member and compares them with the table.
func readMember(ctx context.Context, s *source, m Member, w io.Writer, buf []byte) error {
	sum := sha256.New()
	for left := m.Size; left > 0; {
		// Decompressing a few bytes can take hours without a read of the archive.
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		part := buf[:min(left, int64(len(buf)))]
		if err := s.readFull(part); err != nil {
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
	if err := s.readFull(pad); err != nil {
		return err
	}
	if !isZero(pad) {
		return &DamagedError{Member: name, Detail: "it is longer than the table says"}
	}
	return nil
}

// expectEnd checks that the tar stream ends, and the archive with it.
func expectEnd(s *source) error {
	block := make([]byte, blockSize)
	for range trailerSize / blockSize {
		if err := s.readFull(block); err != nil {
			return err
		}
		if !isZero(block) {
			return &DamagedError{Detail: "more follows than the table names: " + describeFound(block, s, "", -1)}
		}
	}
	return s.expectEOF()
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
