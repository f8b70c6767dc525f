//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/statcache"
)

// TestCacheServes: a file in the cache is not read again. The test proves that by a wrong
// digest in the cache.
func TestCacheServes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "f", "one")
	w := open(t, Options{Dir: dir})
	describe(t, w, "f")
	w.cache.Put("f", statcache.StatOf(mustStat(t, filepath.Join(dir, "f"))), statcache.Sums{Digest: shaOf("another")}, time.Now().Add(time.Minute))
	if got := describe(t, w, "f"); got.Digest != shaOf("another") {
		t.Errorf("read again: %s", got.Digest)
	}
	put(t, dir, "f", "one more")
	if got := describe(t, w, "f"); got.Digest != shaOf("one more") {
		t.Errorf("not read again: %s", got.Digest)
	}
}

// TestCacheDistrustsTheYoung: a file that was read within a clock tick of its times is
// read again, because a write in that tick might not change its times.
func TestCacheDistrustsTheYoung(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	w.cache.Now = time.Now
	for i := range 500 {
		data := string([]byte{byte('a' + i%26), byte('a' + i/26)})
		put(t, dir, "f", data)
		if got := describe(t, w, "f"); got.Digest != shaOf(data) {
			t.Fatalf("write %d was not noticed", i)
		}
	}
}

func mustStat(t *testing.T, name string) os.FileInfo {
	t.Helper()
	info, err := os.Lstat(name)
	must(t, err)
	return info
}

// TestSaveCache: the next process knows the files that were read, except for removed
// files and files whose names are refused.
func TestSaveCache(t *testing.T) {
	t.Parallel()
	dir, fsys := t.TempDir(), store.NewMemory()
	for _, name := range []string{"a", "b", refusedWord} {
		put(t, dir, name, name)
	}
	w := open(t, Options{Dir: dir, FS: fsys, Cache: "/cache"})
	_, err := w.Now(t.Context(), []string{"**"})
	must(t, err)
	must(t, w.SaveCache())
	if _, err := fsys.Lstat("/cache"); err != nil {
		t.Skip("the cache is not saved here: the running kernel has no name")
	}
	known := func(w *Workspace) []string {
		w.cache.LoadOnce()
		return slices.Sorted(slices.Values(w.cache.Paths()))
	}
	again := refusing(open(t, Options{Dir: dir, FS: fsys, Cache: "/cache"}))
	if got := known(again); !slices.Equal(got, []string{"a", "b", refusedWord}) {
		t.Errorf("known: %q", got)
	}
	must(t, os.Remove(filepath.Join(dir, "a")))
	put(t, dir, "c", "c")
	_, err = again.Now(t.Context(), []string{"[abc]"})
	must(t, err)
	must(t, again.SaveCache())
	if got := known(open(t, Options{Dir: dir, FS: fsys, Cache: "/cache"})); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("known afterwards: %q", got)
	}
}
