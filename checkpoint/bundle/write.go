package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Write writes an archive. The same header and entries give the same bytes, in any order of
// the entries. After an error the bytes in w are useless.
//
// It returns *NameError for names that a reader would refuse, and *ChangedError if a file
// has another length than its entry says, or changed before the second read.
func Write(ctx context.Context, w io.Writer, format Format, header json.RawMessage, entries []Entry) (Summary, error) {
	entries = slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	c, err := contentsOf(ctx, header, entries)
	if err != nil {
		return Summary{}, fmt.Errorf("export: %w", err)
	}
	out := &meter{w: w, sum: sha256.New()}
	z, err := compress(out, format)
	if err != nil {
		return Summary{}, fmt.Errorf("export: %w", err)
	}
	err = writeTar(ctx, z, c, entries)
	// The compressor is closed in any case, because it may hold more than memory.
	if closed := z.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return Summary{}, fmt.Errorf("export: %w", err)
	}
	return Summary{SHA256: hex.EncodeToString(out.sum.Sum(nil)), Size: out.size, Members: len(entries)}, nil
}

// contentsOf reads sorted entries for the first time, and returns the table.
func contentsOf(ctx context.Context, header json.RawMessage, entries []Entry) (*Contents, error) {
	header, err := compactHeader(header)
	if err != nil {
		return nil, err
	}
	c := &Contents{Header: header, Members: make([]Member, len(entries))}
	for i, e := range entries {
		c.Members[i] = Member{Name: e.Name, Size: e.Size}
	}
	if err := checkNames(c.Members); err != nil {
		return nil, err
	}
	buf := make([]byte, bufferSize)
	for i, e := range entries {
		if c.Members[i].SHA256, err = copyEntry(ctx, io.Discard, e, buf); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// copyEntry copies the bytes of an entry and returns their SHA-256. The length of its
// writes does not depend on the reader.
func copyEntry(ctx context.Context, w io.Writer, e Entry, buf []byte) (digest string, err error) {
	if e.Size < 0 {
		return "", &ChangedError{Name: e.Name, Detail: "its size is negative"}
	}
	r, err := e.Open()
	if err != nil {
		return "", fmt.Errorf("open %s: %w", quoteName(e.Name), err)
	}
	defer func() {
		if closed := r.Close(); err == nil && closed != nil {
			err = fmt.Errorf("close %s: %w", quoteName(e.Name), closed)
		}
	}()
	sum := sha256.New()
	for left := e.Size; left > 0; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		part := buf[:min(left, int64(len(buf)))]
		if _, err := io.ReadFull(r, part); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return "", &ChangedError{Name: e.Name, Detail: fmt.Sprintf("it is shorter than %d bytes", e.Size)}
		} else if err != nil {
			return "", fmt.Errorf("read %s: %w", quoteName(e.Name), err)
		}
		sum.Write(part)
		if _, err := w.Write(part); err != nil {
			return "", fmt.Errorf("write the archive: %w", err)
		}
		left -= int64(len(part))
	}
	switch _, err := io.ReadFull(r, buf[:1]); {
	case err == nil:
		return "", &ChangedError{Name: e.Name, Detail: fmt.Sprintf("it is longer than %d bytes", e.Size)}
	case !errors.Is(err, io.EOF):
		return "", fmt.Errorf("read %s: %w", quoteName(e.Name), err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// writeTar writes the tar stream of the contents.
func writeTar(ctx context.Context, w io.Writer, c *Contents, entries []Entry) error {
	table := &meter{w: io.Discard, sum: sha256.New()}
	if err := writeTable(table, c); err != nil {
		return err
	}
	err := writeMember(w, tableName, table.size, func() error { return writeTable(w, c) })
	if err != nil {
		return err
	}
	buf := make([]byte, bufferSize)
	for i, e := range entries {
		err := writeMember(w, e.Name, e.Size, func() error {
			digest, err := copyEntry(ctx, w, e, buf)
			if err == nil && digest != c.Members[i].SHA256 {
				err = &ChangedError{Name: e.Name, Detail: "it has other bytes at the second reading"}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return writeAll(w, make([]byte, trailerSize))
}

// writeMember writes a member. The function content writes its bytes.
func writeMember(w io.Writer, name string, size int64, content func() error) error {
	header, err := tarHeader(name, size)
	if err != nil {
		return err
	}
	if err := writeAll(w, header); err != nil {
		return err
	}
	if err := content(); err != nil {
		return err
	}
	return writeAll(w, bytes.Repeat([]byte{0}, padding(size)))
}

func writeAll(w io.Writer, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}
