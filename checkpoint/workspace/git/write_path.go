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

// quotePath writes a path as fast-import reads it: in C's quotes, other bytes
// than these as they are.
func quotePath(path string) string {
	if !strings.ContainsAny(path, "\\\"\n") {
		return `"` + path + `"`
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// sourceReader remembers how the source of a file ended, apart from how
// writing it did.
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

// verdict says whether the source had exactly the bytes that were announced.
func (s *sourceReader) verdict(path string, full bool) error {
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
