//go:build unix

package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestCompare distinguishes an obstacle at the path of a file from the file, from a
// missing file, and from a file behind a link.
func TestCompare(t *testing.T) {
	t.Parallel()
	file := func(path, data string) Entry {
		return Entry{Path: path, Mode: 0o644, Size: int64(len(data)), Digest: shaOf(data)}
	}
	dir := func(path string) Entry { return Entry{Path: path, Mode: ModeDir | 0o755} }
	is := func(e Entry) Compared { return Compared{Now: &e} }
	blocked := func(by string) Compared { return Compared{Obstacle: by} }
	w, base := keeper(t)
	for path, data := range map[string]string{
		"same": "x", "differs": "yy", "full/in": "x", "file": "x", "elsewhere/below": "x", ".state/kept": "x",
	} {
		put(t, base, path, data)
	}
	for _, empty := range []string{"empty", "nested/empty"} {
		must(t, os.MkdirAll(filepath.Join(base, empty), 0o755))
	}
	must(t, os.Symlink("elsewhere", filepath.Join(base, "link")))
	away := t.TempDir()
	must(t, os.Symlink(away, filepath.Join(base, "outside")))
	must(t, syscall.Mkfifo(filepath.Join(base, "pipe"), 0o600))
	link := Entry{Path: "link", Mode: ModeSymlink, Size: 9, Digest: shaOf("elsewhere")}
	for _, test := range []struct {
		name string
		e    Entry
		want Compared
		same bool
	}{
		{"the same", file("same", "x"), is(file("same", "x")), true},
		{"other bytes", file("differs", "x"), is(file("differs", "yy")), false},
		{"nothing", file("missing", "x"), Compared{}, false},
		{"nothing in a new directory", file("new/missing", "x"), Compared{}, false},
		{"an empty directory for a file", file("empty", "x"), Compared{}, false},
		{"directories without a file for a file", file("nested", "x"), Compared{}, false},
		{"a directory with files for a file", file("full", "x"), blocked("full/in"), false},
		{"a file for an empty directory", dir("file"), is(file("file", "x")), false},
		{"an empty directory", dir("empty"), is(dir("empty")), true},
		{"an empty directory of another mode", Entry{Path: "empty", Mode: ModeDir | 0o700}, Compared{}, false},
		{"files in a directory that was empty", dir("full"), is(dir("full")), true},
		{"a file above", file("file/below", "x"), blocked("file"), false},
		{"a file further above", file("file/far/below", "x"), blocked("file"), false},
		{"a link above, to where the same is", file("link/below", "x"), blocked("link (a link to elsewhere)"), false},
		{"a link above, that leads outside", file("outside/below", "x"), blocked("outside (a link to " + filepath.ToSlash(away) + ")"), false},
		{"a link for a file", file("link", "x"), is(link), false},
		{"a link", link, is(link), true},
		{"a pipe", file("pipe", "x"), blocked("pipe"), false},
		{"what is no part of the workspace", file(".state/kept", "x"), blocked(".state/kept"), false},
	} {
		found, err := w.Compare(t.Context(), []Entry{test.e})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got := found[0]
		if got.Obstacle != test.want.Obstacle || (got.Now == nil) != (test.want.Now == nil) ||
			got.Now != nil && !sameEntry(*got.Now, *test.want.Now) || got.Same(test.e) != test.same {
			t.Errorf("%s: %+v (%+v), same %v", test.name, got, got.Now, got.Same(test.e))
		}
	}
	if _, err := w.Compare(t.Context(), []Entry{file("../out", "x")}); err == nil {
		t.Error("a path that leads outside was compared")
	}
	if _, err := w.Compare(&counting{Context: t.Context()}, []Entry{file("same", "x"), file("missing", "x")}); !errors.Is(err, context.Canceled) {
		t.Error("the comparison did not end with its context")
	}
}
