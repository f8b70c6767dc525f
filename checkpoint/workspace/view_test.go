package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint/workspace/tree"
)

// TestWithMemo: a view describes an existing file only once, whatever method asks. Files
// that did not exist, and files in another view, are described again.
func TestWithMemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "src/a", "a")
	put(t, dir, "src/b", "b")
	w := open(t, Options{Dir: dir})
	view := w.WithMemo()
	if _, err := view.Describe(t.Context(), "src/new"); !tree.IsAbsent(err) {
		t.Fatalf("src/new exists: %v", err)
	}
	now, err := view.Now(t.Context(), []string{"src/a", "src/new"})
	must(t, err)
	_, err = view.DescribeEach(t.Context(), []string{"src/b"})
	must(t, err)
	for _, name := range []string{"src/a", "src/b", "src/new"} {
		put(t, dir, name, "another "+name)
	}
	for name, want := range map[string]string{"src/a": "a", "src/b": "b", "src/new": "another src/new"} {
		if got := describe(t, view, name); got.Digest != shaOf(want) {
			t.Errorf("%s: %s", name, got.Digest)
		}
		if got := describe(t, w.WithMemo(), name); got.Digest != shaOf("another "+name) {
			t.Errorf("another view did not describe %s again: %s", name, got.Digest)
		}
	}
	all, err := view.DescribeEach(t.Context(), []string{"src/a"})
	must(t, err)
	if len(all) != 1 || all[0] != now.Entries[0] {
		t.Errorf("%+v", all)
	}
}

// TestWithMemoLinks: patterns that match behind a link, and Now, which follows no link,
// describe the same files.
func TestWithMemoLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "real/a", "a")
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	view := open(t, Options{Dir: dir}).WithMemo()
	for range 2 {
		matched, err := view.tree.Match(t.Context(), []string{"link/*"}, nil)
		must(t, err)
		all, err := view.DescribeEach(t.Context(), matched.Files)
		must(t, err)
		now, err := view.Now(t.Context(), matched.Patterns)
		must(t, err)
		if len(now.Entries) != 2 || now.Entries[0].Path != "link" || now.Entries[1].Path != "real/a" || !slices.Equal(all, now.Entries) {
			t.Errorf("%+v, %+v", all, now.Entries)
		}
	}
}
