//go:build unix

package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "f", "data")
	must(t, os.Chmod(filepath.Join(dir, "f"), 0o751|fs.ModeSetuid))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "abs")))
	must(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	must(t, err)
	defer func() { _ = l.Close() }()
	w := open(t, Options{Dir: dir})
	for path, want := range map[string]Entry{
		"f":    {Path: "f", Mode: 0o751, Size: 4, Digest: shaOf("data")},
		"abs":  {Path: "abs", Mode: ModeSymlink, Size: 11, Digest: shaOf("/etc/passwd")},
		"loop": {Path: "loop", Mode: ModeSymlink, Size: 4, Digest: shaOf("loop")},
	} {
		got, err := w.Describe(t.Context(), path)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", path, err, diff)
		}
	}
	for path, want := range map[string]error{
		"pipe": ErrNotRegular, "sock": ErrNotRegular, ".": ErrNotRegular, "missing": fs.ErrNotExist, "no/where": fs.ErrNotExist,
	} {
		if _, err := w.Describe(t.Context(), path); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if _, err := w.Describe(t.Context(), "../f"); err == nil {
		t.Error("a file outside the workspace was described")
	}
	all, err := w.DescribeEach(t.Context(), []string{"f", "gone"})
	if err != nil || len(all) != 1 || all[0].Path != "f" {
		t.Errorf("all: %v, %v", all, err)
	}
}

// TestDescribeEnds: reading a file of the maximum length can be cancelled, and a longer
// file is not read.
func TestDescribeEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "huge", "")
	must(t, os.Truncate(filepath.Join(dir, "huge"), maxFile))
	w := open(t, Options{Dir: dir})
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, cause)
	defer cancel()
	if _, err := w.Describe(ctx, "huge"); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	must(t, os.Truncate(filepath.Join(dir, "huge"), maxFile+1))
	if _, err := w.Describe(t.Context(), "huge"); !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), "longer than 64 GiB") {
		t.Errorf("a file that is too long: %v", err)
	}
}

// TestUnstable changes a file while Runner reads it. The read fails with ErrUnstable.
func TestUnstable(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*os.File) error{
		"grows":   func(f *os.File) error { _, err := f.WriteAt([]byte("x"), 10); return err },
		"shrinks": func(f *os.File) error { return f.Truncate(3) },
		"same size": func(f *os.File) error {
			_, err := f.WriteAt([]byte("y"), 0)
			return errors.Join(err, os.Chtimes(f.Name(), time.Time{}, time.Unix(1, 0)))
		},
		"replaced": func(f *os.File) error {
			return errors.Join(os.WriteFile(f.Name()+".new", []byte("0123456789"), 0o644), os.Rename(f.Name()+".new", f.Name()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "f", "0123456789")
			file, err := os.OpenFile(filepath.Join(dir, "f"), os.O_RDWR, 0)
			must(t, err)
			defer func() { _ = file.Close() }()
			w := open(t, Options{Dir: dir})
			f := found{entry: Entry{Path: "f"}}
			err = w.files.readTo(t.Context(), w.tree.Place("f"), &f, w.files.wantsBlob, func(r io.Reader, _ *origin) (string, error) {
				if _, err := io.ReadFull(r, make([]byte, 5)); err != nil {
					return "", err
				}
				must(t, write(file))
				_, err := io.Copy(io.Discard, r)
				return shaOf(""), err
			})
			if !errors.Is(err, ErrUnstable) {
				t.Errorf("got %v", err)
			}
		})
	}
}
