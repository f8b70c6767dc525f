package git

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// checkPath refuses a path that no git tree may hold.
func checkPath(path string) error {
	bad := strings.IndexByte(path, 0) >= 0
	for part := range strings.SplitSeq(path, "/") {
		bad = bad || part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git")
	}
	if bad {
		return fmt.Errorf("git cannot hold the path %q", path)
	}
	return nil
}

// quotePath quotes a path for fast-import, as C does. Bytes other than quotes,
// backslashes and newlines need no escape.
func quotePath(path string) string {
	if !strings.ContainsAny(path, "\\\"\n") {
		return `"` + path + `"`
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// sourceReader remembers the error of the source of a file, to tell it from an error of
// writing.
type sourceReader struct {
	r   io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// checkLength returns an error unless the source had exactly the announced bytes.
func (s *sourceReader) checkLength(path string, full bool) error {
	if full && s.err == nil {
		var more [1]byte
		n, err := io.ReadFull(s, more[:])
		full = n == 0
		s.err = err
	}
	switch {
	case s.err != nil && !errors.Is(s.err, io.EOF):
		return fmt.Errorf("read %s for git: %w", path, s.err)
	case !full:
		return fmt.Errorf("read %s for git: %w", path, ErrLength)
	}
	return nil
}

// zeros is an endless source of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
