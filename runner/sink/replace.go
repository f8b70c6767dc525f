package sink

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/store"
)

// PageOpening is the beginning of every file of the kind Page. Package page of the command line writes it.
const PageOpening = "<!doctype html>\n<!-- written by runner -->\n"

// ForeignError is something at a path that was not written by a sink of that kind, and would be replaced.
type ForeignError struct {
	Kind Kind
	Path string
	Is   string // what it is: "a directory"; "": a file
}

func (e *ForeignError) Error() string {
	if e.Is != "" {
		return fmt.Sprintf("%s is %s, and no file", e.Path, e.Is)
	}
	return fmt.Sprintf("%s exists, and is no %s file that Runner wrote", e.Path, e.Kind)
}

// Write writes a file of a kind, whole or not at all. It returns a *ForeignError for one that must not be replaced.
func Write(k Kind, path string, text []byte) error {
	if to, err := filepath.EvalSymlinks(path); err == nil && !isStream(path) {
		path = to
	}
	if err := checkReplaced(k, path, forms(k).opening); err != nil {
		return err
	}
	return replace(path, text)
}

// checkReplaced returns a *ForeignError for a file that does not begin as one of the kind.
func checkReplaced(k Kind, path, opening string) error {
	info, err := os.Stat(path)
	link, _ := os.Lstat(path)
	switch {
	case isStream(path):
		return &ForeignError{k, path, "a place for streams"}
	case errors.Is(err, fs.ErrNotExist) && link != nil: // what such a link names can't be told
		return &ForeignError{k, path, "a link to something that does not exist"}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("write %s: %w", path, err)
	case info.IsDir():
		return &ForeignError{k, path, "a directory"}
	case !info.Mode().IsRegular(): // one that nobody reads would hold up the run
		return &ForeignError{k, path, "a pipe or a device"}
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	begins := make([]byte, len(opening))
	n, err := io.ReadFull(f, begins)
	switch {
	case n == 0 && errors.Is(err, io.EOF), err == nil && string(begins) == opening:
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("write %s: %w", path, err)
	}
	return &ForeignError{Kind: k, Path: path}
}

// isStream reports whether a path names a stream of a process, such as /dev/stdout, whichever
// file is behind it.
func isStream(path string) bool {
	return slices.Contains([]string{"/dev/stdin", "/dev/stdout", "/dev/stderr"}, path) || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/")
}

// makeDirectory makes the directory of a file that is about to be written.
func makeDirectory(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// replace writes a file, whole or not at all.
func replace(path string, data []byte) error {
	if err := makeDirectory(path); err != nil {
		return err
	}
	temp, err := os.OpenFile(store.TempName(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = temp.Write(data)
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// appendTo adds lines to the end of a file. A last line without an end is ended first.
func appendTo(path string, data []byte) error {
	if err := makeDirectory(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	var last [1]byte
	if info, statErr := f.Stat(); statErr == nil && info.Size() > 0 {
		if _, err := f.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			data = append([]byte("\n"), data...)
		}
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
