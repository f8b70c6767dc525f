package workspace

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/store"
)

// changeSilently overwrites a file with bytes of the same length and gives it
// its time back.
func changeSilently(t *testing.T, name, data string) {
	t.Helper()
	info, err := os.Stat(name)
	must(t, err)
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(data)
	must(t, err)
	must(t, f.Close())
	must(t, os.Chtimes(name, time.Time{}, info.ModTime()))
}

func describe(t *testing.T, w *Workspace, path string) Entry {
	t.Helper()
	e, err := w.Describe(t.Context(), path)
	must(t, err)
	return e
}

// TestCacheServes: what was read once is not read again. It is proved by a
// wrong digest that the cache is made to give.
func TestCacheServes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "f", "one")
	w := open(t, Options{Dir: dir})
	describe(t, w, "f")
	e, ok := entriesIn(w.cache)["f"]
	if !ok {
		t.Fatal("not remembered")
	}
	e.sums.digest = shaOf("another")
	w.cache.learn(e)
	if got := describe(t, w, "f"); got.Digest != shaOf("another") {
		t.Errorf("read again: %s", got.Digest)
	}
	put(t, dir, "f", "one more")
	if got := describe(t, w, "f"); got.Digest != shaOf("one more") {
		t.Errorf("not read again: %s", got.Digest)
	}
}

// TestCacheNoticesSetBackTimes: the time of a file's status can't be set.
func TestCacheNoticesSetBackTimes(t *testing.T) {
	t.Parallel()
	if statOf(mustStat(t, t.TempDir())).ctime == 0 {
		t.Skip("no such time here")
	}
	dir := t.TempDir()
	put(t, dir, "f", "one")
	w := open(t, Options{Dir: dir})
	describe(t, w, "f")
	changeSilently(t, filepath.Join(dir, "f"), "two")
	if got := describe(t, w, "f"); got.Digest != shaOf("two") {
		t.Error("the change was not noticed")
	}
}

func mustStat(t *testing.T, name string) os.FileInfo {
	t.Helper()
	info, err := os.Lstat(name)
	must(t, err)
	return info
}

// TestCacheDistrustsTheYoung: a file that was read within a tick of its times
// is read again, since a write in that tick would leave no trace.
func TestCacheDistrustsTheYoung(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	w.cache.now = time.Now
	for i := range 500 {
		data := string([]byte{byte('a' + i%26), byte('a' + i/26)})
		put(t, dir, "f", data)
		if got := describe(t, w, "f"); got.Digest != shaOf(data) {
			t.Fatalf("write %d was not noticed", i)
		}
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	const second = int64(time.Second)
	for _, test := range []struct {
		name         string
		mtime, ctime int64
		at           int64
		want         bool
	}{
		{"old", 5, 7, second, true},
		{"young", second - 19e6, 7, second, false},
		{"status young", 5, second - 19e6, second, false},
		{"just old enough", 5, second - 21e6, second, true},
		{"future", 2*second + 1, 5, second, false},
		{"whole seconds", 3 * second, 3 * second, 4 * second, false},
		{"whole seconds, old", 3 * second, 3 * second, 6 * second, true},
		{"whole second by touch", 3 * second, 3*second + 1, 4 * second, true},
	} {
		if got := settled(fileStat{mtime: test.mtime, ctime: test.ctime}, time.Unix(0, test.at)); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// cacheAt opens a workspace with a cache in a file system of its own.
func cacheAt(t *testing.T, dir string, fsys store.FS) *Workspace {
	t.Helper()
	return open(t, Options{Dir: dir, FS: fsys, Cache: "/cache"})
}

// entriesIn are all entries of a cache, by path.
func entriesIn(c *cache) map[string]cached {
	all := map[string]cached{}
	for e := range c.all() {
		all[e.path] = e
	}
	return all
}

func TestCacheFile(t *testing.T) {
	t.Parallel()
	dir, fsys := t.TempDir(), store.NewMemory()
	names := []string{"a", "new\nline", "bad\xff", "dir/deep/f"}
	for _, name := range names {
		put(t, dir, name, name)
	}
	w := cacheAt(t, dir, fsys)
	_, err := w.Now(t.Context(), []string{"**"})
	must(t, err)
	must(t, w.SaveCache())
	if _, err := fsys.Lstat("/cache"); w.cache.path == "" || err != nil {
		t.Skip("not kept here: the running kernel has no name")
	}

	again := cacheAt(t, dir, fsys)
	must(t, os.Remove(filepath.Join(dir, "a")))
	_, err = again.Now(t.Context(), []string{"**"})
	must(t, err)
	for _, name := range names[1:] {
		i, known := again.cache.known.find(name, 0)
		if e := entriesIn(again.cache)[name]; !known || !again.cache.used[i].Load() || e.read != 0 || e.sums.digest != shaOf(name) {
			t.Errorf("%q was read again: %+v", name, e)
		}
	}
	put(t, dir, "b", "b")
	describe(t, again, "b")
	must(t, again.SaveCache())
	third := cacheAt(t, dir, fsys)
	describe(t, third, "b")
	if _, ok := entriesIn(third.cache)["a"]; ok || len(third.cache.known.begins) != len(names) {
		t.Errorf("kept %d files", len(third.cache.known.begins))
	}

	data, err := store.ReadFile(fsys, "/cache")
	must(t, err)
	for name, c := range map[string]*cache{
		"another boot":      {root: third.cache.root, boot: "another"},
		"another directory": {root: "/elsewhere", boot: third.cache.boot},
	} {
		if content, ok := c.decode(data); ok && len(content.known.begins) > 0 {
			t.Errorf("%s: trusted", name)
		}
	}
	// One of another version is made anew: nothing is lost but time.
	later := bytes.Replace(data, []byte(cacheMagic), []byte("runner stat cache 9\n"), 1)
	sum := sha256.Sum256(later[:len(later)-sha256.Size])
	must(t, store.WriteFile(fsys, "/cache", append(later[:len(later)-len(sum)], sum[:]...)))
	anew := cacheAt(t, dir, fsys)
	describe(t, anew, "b")
	if n := len(entriesIn(anew.cache)); n != 1 {
		t.Errorf("%d files are known from another version", n)
	}
	must(t, anew.SaveCache())
	if now, err := store.ReadFile(fsys, "/cache"); err != nil || !bytes.HasPrefix(now, []byte(cacheMagic)) {
		t.Errorf("it was not made anew: %v", err)
	}
	for n := range data {
		if _, ok := third.cache.decode(data[:n]); ok {
			t.Fatalf("torn after %d bytes: trusted", n)
		}
		data[n] ^= 1
		if _, ok := third.cache.decode(data); ok {
			t.Fatalf("byte %d changed: trusted", n)
		}
		data[n] ^= 1
	}
}

// TestCacheClock: a file system whose clock is behind makes files look older
// than they are.
func TestCacheClock(t *testing.T) {
	t.Parallel()
	c := newCache(Options{Dir: "/w"})
	stat := fileStat{mtime: time.Unix(100, 1).UnixNano()}
	some := sums{digest: shaOf("some")}
	c.put("f", stat, some, time.Unix(101, 0))
	if _, ok := c.get("f", stat, false, new(int)); !ok {
		t.Error("not remembered")
	}
	c.behind = time.Second
	c.put("g", stat, some, time.Unix(101, 0))
	if _, ok := c.get("g", stat, false, new(int)); ok {
		t.Error("remembered")
	}
	if read, ok := c.decode(c.encode()); !ok || len(read.known.begins) != 0 {
		t.Errorf("kept %d that were read before the clocks were compared", len(read.known.begins))
	}
}

// FuzzCacheFile reads any bytes as the file of a cache, and, so that more than
// the sum is looked at, with a sound one: what is trusted stays the same when it
// is written and read again.
func FuzzCacheFile(f *testing.F) {
	seeded := &cache{root: "/ws", boot: "b", refused: map[string]string{"b": shaOf("")}, since: map[string]cached{
		"a\xff": {path: "a\xff", stat: fileStat{size: 3, mtime: 5, inode: 7}, sums: sums{digest: shaOf(""), blob: "ab"}},
	}}
	seed := seeded.encode()
	f.Add(seed[:len(seed)-sha256.Size])
	f.Add([]byte(cacheMagic + "\x03/ws\x01b\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		for _, data := range [][]byte{body, append(body[:len(body):len(body)], sum[:]...)} {
			c := &cache{root: "/ws", boot: "b"}
			content, ok := c.decode(data)
			if !ok {
				continue
			}
			c.adopt(content)
			read := slices.Collect(c.all())
			again, ok := c.decode(c.encode())
			if !ok {
				t.Fatal("what was written can't be read")
			}
			c.adopt(again)
			if diff := cmp.Diff(read, slices.Collect(c.all()), cmp.AllowUnexported(cached{}, fileStat{}, sums{})); diff != "" {
				t.Fatalf("(-read +written and read):\n%s", diff)
			}
			if diff := cmp.Diff(content.refused, again.refused); diff != "" {
				t.Fatalf("left out (-read +written and read):\n%s", diff)
			}
		}
	})
}
