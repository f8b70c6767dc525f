package statcache

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
)

// lookUp returns the digest of a file from the cache. If it must read the file, it adds
// the digest to the cache.
func lookUp(t *testing.T, c *Cache, path string) string {
	t.Helper()
	name := filepath.Join(c.root, filepath.FromSlash(path))
	info, err := os.Lstat(name)
	check(t, err)
	if known, ok := c.Get(path, StatOf(info), false, new(int)); ok {
		return known.Digest
	}
	began := c.Now()
	data, err := os.ReadFile(name)
	check(t, err)
	c.Put(path, StatOf(info), Sums{Digest: digestOf(string(data))}, began)
	return digestOf(string(data))
}

// cacheAt returns a cache whose clock is ahead, so that files that were just written are
// old enough for the cache.
func cacheAt(dir string, fsys store.FS) *Cache {
	c := New(fsys, "/cache", dir)
	c.Now = func() time.Time { return time.Now().Add(time.Minute) }
	return c
}

// changeSilently overwrites a file with bytes of the same length and resets its mtime.
func changeSilently(t *testing.T, name, data string) {
	t.Helper()
	info, err := os.Stat(name)
	check(t, err)
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteString(data)
	check(t, err)
	check(t, f.Close())
	check(t, os.Chtimes(name, time.Time{}, info.ModTime()))
}

// TestCacheNoticesSetBackTimes: the cache notices a change whose mtime was reset, because
// the ctime can't be set.
func TestCacheNoticesSetBackTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	info, err := os.Stat(dir)
	check(t, err)
	if StatOf(info).Ctime == 0 {
		t.Skip("no such time here")
	}
	writeFile(t, dir, "f", "one")
	c := cacheAt(dir, nil)
	lookUp(t, c, "f")
	changeSilently(t, filepath.Join(dir, "f"), "two")
	if got := lookUp(t, c, "f"); got != digestOf("two") {
		t.Error("the change was not noticed")
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
		if got := laterWritesVisible(Stat{Mtime: test.mtime, Ctime: test.ctime}, time.Unix(0, test.at)); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// entriesIn returns all entries of a cache, by path.
func entriesIn(c *Cache) map[string]entry {
	all := map[string]entry{}
	for e := range c.entries() {
		all[e.path] = e
	}
	return all
}

func TestCacheFile(t *testing.T) {
	t.Parallel()
	dir, fsys := t.TempDir(), store.NewMemory()
	names := []string{"a", "new\nline", "bad\xff", "dir/deep/f"}
	for _, name := range names {
		writeFile(t, dir, name, name)
	}
	first := cacheAt(dir, fsys)
	for _, name := range names {
		lookUp(t, first, name)
	}
	if !first.HasChanges() {
		t.Skip("not kept here: the running kernel has no name")
	}
	check(t, first.Save())

	again := cacheAt(dir, fsys)
	check(t, os.Remove(filepath.Join(dir, "a")))
	for _, name := range names[1:] {
		lookUp(t, again, name)
		i, known := again.loaded.findPath(name, 0)
		if e := entriesIn(again)[name]; !known || !again.returned[i].Load() || e.read != 0 || e.sums.Digest != digestOf(name) {
			t.Errorf("%q was read again: %+v", name, e)
		}
	}
	again.MarkSurveyed()
	again.Remove(again.UnusedPaths())
	writeFile(t, dir, "b", "b")
	lookUp(t, again, "b")
	again.RecordExcluded("secret", digestOf("secret"))
	check(t, again.Save())
	third := cacheAt(dir, fsys)
	lookUp(t, third, "b")
	if _, ok := entriesIn(third)["a"]; ok || len(third.loaded.begins) != len(names) {
		t.Errorf("kept %d files", len(third.loaded.begins))
	}

	data, err := store.ReadFile(fsys, "/cache")
	check(t, err)
	for name, c := range map[string]*Cache{
		"another boot":      {root: third.root, boot: "another"},
		"another directory": {root: "/elsewhere", boot: third.boot},
	} {
		content, ok := c.decode(data)
		if ok && len(content.files.begins) > 0 {
			t.Errorf("%s: trusted", name)
		}
		if (content.excluded["secret"] != "") != (name == "another boot") { // excluded contents stay excluded
			t.Errorf("%s: refused are %q", name, content.excluded)
		}
	}
	// A cache file of another version is made anew, which only costs time.
	later := bytes.Replace(data, []byte(cacheMagic), []byte("runner stat cache 9\n"), 1)
	sum := sha256.Sum256(later[:len(later)-sha256.Size])
	check(t, store.WriteFile(fsys, "/cache", append(later[:len(later)-len(sum)], sum[:]...)))
	anew := cacheAt(dir, fsys)
	lookUp(t, anew, "b")
	if n := len(entriesIn(anew)); n != 1 {
		t.Errorf("%d files are known from another version", n)
	}
	check(t, anew.Save())
	if now, err := store.ReadFile(fsys, "/cache"); err != nil || !bytes.HasPrefix(now, []byte(cacheMagic)) {
		t.Errorf("it was not made anew: %v", err)
	}
	for n := range data {
		if _, ok := third.decode(data[:n]); ok {
			t.Fatalf("torn after %d bytes: trusted", n)
		}
		data[n] ^= 1
		if _, ok := third.decode(data); ok {
			t.Fatalf("byte %d changed: trusted", n)
		}
		data[n] ^= 1
	}
}

// TestCacheClock: on a file system whose clock is behind, files look older than they are.
func TestCacheClock(t *testing.T) {
	t.Parallel()
	c := New(nil, "", "/w")
	stat := Stat{Mtime: time.Unix(100, 1).UnixNano()}
	some := Sums{Digest: digestOf("some")}
	c.Put("f", stat, some, time.Unix(101, 0))
	if _, ok := c.Get("f", stat, false, new(int)); !ok {
		t.Error("not remembered")
	}
	c.clockLag = time.Second
	c.Put("g", stat, some, time.Unix(101, 0))
	if _, ok := c.Get("g", stat, false, new(int)); ok {
		t.Error("remembered")
	}
	if read, ok := c.decode(c.encode()); !ok || len(read.files.begins) != 0 {
		t.Errorf("kept %d that were read before the clocks were compared", len(read.files.begins))
	}
}

// FuzzCacheFile decodes any bytes as a cache file, also with a correct checksum, so that
// the fuzzer gets beyond it. A decoded cache stays the same when it is written and read
// again.
func FuzzCacheFile(f *testing.F) {
	seeded := &Cache{root: "/ws", boot: "b", excluded: map[string]string{"b": digestOf("")}, overrides: map[string]entry{
		"a\xff": {path: "a\xff", stat: Stat{Size: 3, Mtime: 5, Inode: 7}, sums: Sums{Digest: digestOf(""), Blob: "ab"}},
	}}
	seed := seeded.encode()
	f.Add(seed[:len(seed)-sha256.Size])
	f.Add([]byte(cacheMagic + "\x03/ws\x01b\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		for _, data := range [][]byte{body, append(body[:len(body):len(body)], sum[:]...)} {
			c := &Cache{root: "/ws", boot: "b"}
			content, ok := c.decode(data)
			if !ok {
				continue
			}
			c.setContent(content)
			read := slices.Collect(c.entries())
			again, ok := c.decode(c.encode())
			if !ok {
				t.Fatal("what was written can't be read")
			}
			c.setContent(again)
			if diff := cmp.Diff(read, slices.Collect(c.entries()), cmp.AllowUnexported(entry{}, Stat{}, Sums{})); diff != "" {
				t.Fatalf("(-read +written and read):\n%s", diff)
			}
			if diff := cmp.Diff(content.excluded, again.excluded); diff != "" {
				t.Fatalf("left out (-read +written and read):\n%s", diff)
			}
		}
	})
}

// writeFile writes a file, and the directories above it.
func writeFile(t testing.TB, dir, path, data string) {
	t.Helper()
	name := filepath.Join(dir, filepath.FromSlash(path))
	check(t, os.MkdirAll(filepath.Dir(name), 0o755))
	check(t, os.WriteFile(name, []byte(data), 0o644))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func digestOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return objects.DigestOf(sum[:])
}
