package statcache

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"prdrunner/checkpoint/store"
)

// The files of these tests have old times, and are read long after them.
var (
	oldStat  = Stat{Size: 3, Mtime: time.Unix(100, 1).UnixNano(), Inode: 7}
	readTime = time.Unix(200, 0)
)

// savedCache returns a cache that was loaded from a file with the given files.
func savedCache(t *testing.T, fsys store.FS, files map[string]Sums) *Cache {
	t.Helper()
	c := New(fsys, "/cache", "/w")
	if c.path == "" {
		t.Skip("not kept here: the running kernel has no name")
	}
	for path, sums := range files {
		c.Put(path, oldStat, sums, readTime)
	}
	check(t, c.Save())
	loaded := New(fsys, "/cache", "/w")
	loaded.LoadOnce()
	return loaded
}

func known(c *Cache, path string, stat Stat, withBlob bool) bool {
	_, ok := c.Get(path, stat, withBlob, new(int))
	return ok
}

// TestGet asks for files that this process read, and for the same files after they were
// saved and loaded.
func TestGet(t *testing.T) {
	t.Parallel()
	files := map[string]Sums{
		"plain": {Digest: digestOf("plain")},
		"named": {Digest: digestOf("named"), Blob: "abcd"},
	}
	here := New(nil, "", "/w")
	for path, sums := range files {
		here.Put(path, oldStat, sums, readTime)
	}
	changed := oldStat
	changed.Size++
	for name, c := range map[string]*Cache{"here": here, "loaded": savedCache(t, store.NewMemory(), files)} {
		for _, test := range []struct {
			path     string
			stat     Stat
			withBlob bool
			want     bool
		}{
			{"plain", oldStat, false, true},
			{"plain", oldStat, true, false}, // git's name was not computed
			{"named", oldStat, false, true},
			{"named", oldStat, true, true},
			{"named", changed, true, false},
			{"plain", changed, false, false},
			{"other", oldStat, false, false},
		} {
			if got := known(c, test.path, test.stat, test.withBlob); got != test.want {
				t.Errorf("%s: %+v: %v", name, test, got)
			}
		}
	}
}

// TestInvalidate: a file that is dropped is read again, also by the next process.
func TestInvalidate(t *testing.T) {
	t.Parallel()
	fsys := store.NewMemory()
	c := savedCache(t, fsys, map[string]Sums{"a": {Digest: digestOf("a")}, "b": {Digest: digestOf("b")}})
	c.Put("new", oldStat, Sums{Digest: digestOf("new")}, readTime)
	c.Invalidate([]string{"a", "new"})
	check(t, c.Save())
	for name, c := range map[string]*Cache{"here": c, "loaded": New(fsys, "/cache", "/w")} {
		if known(c, "a", oldStat, false) || known(c, "new", oldStat, false) || !known(c, "b", oldStat, false) {
			t.Errorf("%s: the wrong files are known", name)
		}
	}
}

// TestPutYoung: a file that is read within a tick of its times is not known, although an
// earlier process knew it.
func TestPutYoung(t *testing.T) {
	t.Parallel()
	c := savedCache(t, store.NewMemory(), map[string]Sums{"a": {Digest: digestOf("a")}})
	c.Put("a", oldStat, Sums{Digest: digestOf("b")}, time.Unix(100, 2))
	if known(c, "a", oldStat, false) {
		t.Error("known")
	}
}

// TestHasChanges tells which calls make a loaded cache worth saving.
func TestHasChanges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*Cache)
		want   bool
	}{
		{"nothing", func(*Cache) {}, false},
		{"look up", func(c *Cache) { known(c, "a", oldStat, false) }, false},
		{"read", func(c *Cache) { c.Put("b", oldStat, Sums{Digest: digestOf("b")}, readTime) }, true},
		{"drop", func(c *Cache) { c.Invalidate([]string{"a"}) }, true},
		{"drop what is unknown", func(c *Cache) { c.Invalidate([]string{"b"}) }, false},
		{"exclude", func(c *Cache) { c.RecordExcluded("x", digestOf("x")) }, true},
		{"exclude without a digest", func(c *Cache) { c.RecordExcluded("x", "") }, false},
		{"save", func(c *Cache) { c.Invalidate([]string{"a"}); check(t, c.Save()) }, false},
		{"drop again", func(c *Cache) {
			c.Invalidate([]string{"a"})
			check(t, c.Save())
			c.Invalidate([]string{"a"})
		}, false},
		{"exclude again", func(c *Cache) {
			c.RecordExcluded("x", digestOf("x"))
			check(t, c.Save())
			c.RecordExcluded("x", digestOf("x"))
		}, false},
	} {
		c := savedCache(t, store.NewMemory(), map[string]Sums{"a": {Digest: digestOf("a")}})
		if test.change(c); c.HasChanges() != test.want {
			t.Errorf("%s: %v", test.name, !test.want)
		}
	}
	unsaved := New(nil, "", "/w")
	unsaved.Put("a", oldStat, Sums{Digest: digestOf("a")}, readTime)
	if unsaved.HasChanges() {
		t.Error("a cache without a file has changes to save")
	}
	unsaved.MeasureClockLag() // it has no directory in which it could
}

// TestUnusedPaths: only a caller that has looked up all files knows which ones may be gone.
func TestUnusedPaths(t *testing.T) {
	t.Parallel()
	c := savedCache(t, store.NewMemory(), map[string]Sums{
		"gone": {Digest: digestOf("gone")}, "used": {Digest: digestOf("used")}, "read": {Digest: digestOf("read")},
	})
	c.RecordExcluded("secret", digestOf("secret"))
	known(c, "used", oldStat, false)
	c.Put("read", oldStat, Sums{Digest: digestOf("anew")}, readTime)
	if unused := c.UnusedPaths(); unused != nil {
		t.Errorf("before all files were looked up: %q", unused)
	}
	c.MarkSurveyed()
	if unused := c.UnusedPaths(); !slices.Equal(unused, []string{"gone", "secret"}) {
		t.Errorf("unused: %q", unused)
	}
}

// TestUnsorted: a cache file of an earlier version, whose files are not sorted, is read.
func TestUnsorted(t *testing.T) {
	t.Parallel()
	body := func(path string) []byte {
		c := New(nil, "", "/w")
		c.LoadOnce()
		if path != "" {
			c.Put(path, oldStat, Sums{Digest: digestOf(path)}, readTime)
		}
		b := c.encode()
		return b[:len(b)-sha256.Size]
	}
	head := body("")
	data := slices.Concat(body("c"), body("a")[len(head):], body("b")[len(head):])
	sum := sha256.Sum256(data)
	c := New(nil, "", "/w")
	content, ok := c.decode(append(data, sum[:]...))
	if !ok {
		t.Fatal("refused")
	}
	c.LoadOnce()
	c.setContent(content)
	for _, path := range []string{"a", "b", "c"} {
		if sums, ok := c.Get(path, oldStat, false, new(int)); !ok || sums.Digest != digestOf(path) {
			t.Errorf("%s: %v", path, sums)
		}
	}
}

// TestSaveOnlyDigests: what is no digest is not saved, and the other files are.
func TestSaveOnlyDigests(t *testing.T) {
	t.Parallel()
	c := savedCache(t, store.NewMemory(), map[string]Sums{
		"bad digest": {Digest: "abc"}, "bad name": {Digest: digestOf("b"), Blob: "xyz"}, "good": {Digest: digestOf("c")},
	})
	if paths := c.Paths(); !slices.Equal(paths, []string{"good"}) {
		t.Errorf("saved: %q", paths)
	}
}
