package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStill: what was seen through a still workspace is not looked at again, by any
// way of asking, and what was not there, or is looked at through another, is.
func TestStill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "src/a", "a")
	put(t, dir, "src/b", "b")
	w := open(t, Options{Dir: dir})
	still := w.Still()
	if _, err := still.Describe(t.Context(), "src/new"); !IsAbsent(err) {
		t.Fatalf("it is there: %v", err)
	}
	now, err := still.Now(t.Context(), []string{"src/a", "src/new"})
	must(t, err)
	_, err = still.DescribeAll(t.Context(), []string{"src/b"}, nil)
	must(t, err)
	for _, name := range []string{"src/a", "src/b", "src/new"} {
		put(t, dir, name, "another "+name)
	}
	for name, want := range map[string]string{"src/a": "a", "src/b": "b", "src/new": "another src/new"} {
		if got := describe(t, still, name); got.Digest != shaOf(want) {
			t.Errorf("%s: %s", name, got.Digest)
		}
		if got := describe(t, w.Still(), name); got.Digest != shaOf("another "+name) {
			t.Errorf("%s was not looked at anew: %s", name, got.Digest)
		}
	}
	all, err := still.DescribeAll(t.Context(), []string{"src/a"}, nil)
	must(t, err)
	if len(all) != 1 || all[0] != now.Entries[0] {
		t.Errorf("%+v", all)
	}
}

// TestStillLinks: what was found through a link, which Now does not follow, is not
// what is at that path for it, and the other way round.
func TestStillLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "real/a", "a")
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	still := open(t, Options{Dir: dir}).Still()
	for range 2 {
		all, err := still.DescribeAll(t.Context(), []string{"link/*", "real/*"}, nil)
		must(t, err)
		if len(all) != 2 || all[0].Path != "link/a" || all[0].Digest != all[1].Digest {
			t.Errorf("%+v", all)
		}
		now, err := still.Now(t.Context(), []string{"link/**", "real/**"})
		must(t, err)
		if len(now.Entries) != 2 || now.Entries[0].Path != "link" || now.Entries[1].Path != "real/a" {
			t.Errorf("%+v", now.Entries)
		}
	}
}
