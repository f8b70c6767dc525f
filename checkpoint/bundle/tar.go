package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	blockSize   = 512
	trailerSize = 2 * blockSize
)

// tarHeader returns the bytes before a member: a ustar header or, if name or size do not
// fit, a PAX header with only the records path and size.
func tarHeader(name string, size int64) ([]byte, error) {
	var b bytes.Buffer
	err := tar.NewWriter(&b).WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: time.Unix(0, 0),
	})
	if err != nil {
		return nil, fmt.Errorf("make the tar header of %s: %w", quoteName(name), err)
	}
	return b.Bytes(), nil
}

// padding returns the number of zeros after a member.
func padding(size int64) int { return int(-size & (blockSize - 1)) }

// tableHeader returns the length of bundle.json from the first header of an archive. It
// ignores the rest of the header, so that the version is read first.
func tableHeader(block []byte) (int64, error) {
	h, err := tar.NewReader(bytes.NewReader(block)).Next()
	if err != nil || h.Typeflag != tar.TypeReg || h.Name != tableName {
		return 0, &DamagedError{Detail: "it does not begin with " + tableName}
	}
	return h.Size, nil
}

// describeFound describes for the user what an archive contains in place of an expected
// header. The caller has already refused the archive. The bytes got are followed by rest.
func describeFound(got []byte, rest io.Reader, name string, size int64) string {
	if len(bytes.Trim(got, "\x00")) == 0 {
		return "the archive ends before it"
	}
	h, err := tar.NewReader(io.MultiReader(bytes.NewReader(got), rest)).Next()
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "no tar header stands before it"
	}
	switch {
	case err != nil:
		return "what stands before it cannot be read: " + err.Error()
	case h.Typeflag != tar.TypeReg:
		return fmt.Sprintf("in its place stands %s, %s", quoteName(h.Name), typeName(h.Typeflag))
	case h.Name != name:
		return fmt.Sprintf("in its place stands %s", quoteName(h.Name))
	case h.Size != size:
		return fmt.Sprintf("it is %d bytes long, not %d", h.Size, size)
	default:
		return "its tar header has an owner, a mode, a time or records that do not belong there"
	}
}

func typeName(typeflag byte) string {
	switch typeflag {
	case tar.TypeLink:
		return "a hard link"
	case tar.TypeSymlink:
		return "a symbolic link"
	case tar.TypeChar, tar.TypeBlock:
		return "a device"
	case tar.TypeDir:
		return "a directory"
	case tar.TypeFifo:
		return "a named pipe"
	default:
		return fmt.Sprintf("of the type %q", typeflag)
	}
}
