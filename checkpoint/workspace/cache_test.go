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

// lookUp returns the digest of a file from the cache, which it tells what it reads.
func lookUp(t *testing.T, c *cache, path string) string {
	t.Helper()
	name := filepath.Join(c.root, native(path))
	info, err := os.Lstat(name)
	noErr(t, err)
	if known, ok := c.get(path, statOf(info), false, new(int)); ok {
		return known.digest
	}
	began := c.now()
	data, err := os.ReadFile(name)
	noErr(t, err)
	c.put(path, statOf(info), sums{digest: shaSum(string(data))}, began)
	return shaSum(string(data))
}

// cacheAt returns a cache whose clock runs ahead, so that files that were just written
// count as old enough to be remembered.
func cacheAt(dir string, fsys store.FS) *cache {
	c := newCache(fsys, "/cache", dir)
	c.now = func() time.Time { return time.Now().Add(time.Minute) }
	return c
}

// changeSilently overwrites a file with bytes of the same length and gives it
// its time back.
func changeSilently(t *testing.T, name, data string) {
	t.Helper()
	info, err := os.Stat(name)
	noErr(t, err)
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	noErr(t, err)
	_, err = f.WriteString(data)
	noErr(t, err)
	noErr(t, f.Close())
	noErr(t, os.Chtimes(name, time.Time{}, info.ModTime()))
}

// TestCacheNoticesSetBackTimes: the time of a file's status can't be set.
func TestCacheNoticesSetBackTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	info, err := os.Stat(dir)
	noErr(t, err)
	if statOf(info).ctime == 0 {
		t.Skip("no such time here")
	}
	putFile(t, dir, "f", "one")
	c := cacheAt(dir, nil)
	lookUp(t, c, "f")
	changeSilently(t, filepath.Join(dir, "f"), "two")
	if got := lookUp(t, c, "f"); got != shaSum("two") {
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
		if got := settled(fileStat{mtime: test.mtime, ctime: test.ctime}, time.Unix(0, test.at)); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
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
		putFile(t, dir, name, name)
	}
	first := cacheAt(dir, fsys)
	for _, name := range names {
		lookUp(t, first, name)
	}
	if !first.hasNews() {
		t.Skip("not kept here: the running kernel has no name")
	}
	noErr(t, first.save())

	again := cacheAt(dir, fsys)
	noErr(t, os.Remove(filepath.Join(dir, "a")))
	for _, name := range names[1:] {
		lookUp(t, again, name)
		i, known := again.known.find(name, 0)
		if e := entriesIn(again)[name]; !known || !again.used[i].Load() || e.read != 0 || e.sums.digest != shaSum(name) {
			t.Errorf("%q was read again: %+v", name, e)
		}
	}
	again.markSurveyed()
	again.drop(again.unseen())
	putFile(t, dir, "b", "b")
	lookUp(t, again, "b")
	again.refuse("secret", shaSum("secret"))
	noErr(t, again.save())
	third := cacheAt(dir, fsys)
	lookUp(t, third, "b")
	if _, ok := entriesIn(third)["a"]; ok || len(third.known.begins) != len(names) {
		t.Errorf("kept %d files", len(third.known.begins))
	}

	data, err := store.ReadFile(fsys, "/cache")
	noErr(t, err)
	for name, c := range map[string]*cache{
		"another boot":      {root: third.root, boot: "another"},
		"another directory": {root: "/elsewhere", boot: third.boot},
	} {
		content, ok := c.decode(data)
		if ok && len(content.known.begins) > 0 {
			t.Errorf("%s: trusted", name)
		}
		if (content.refused["secret"] != "") != (name == "another boot") { // what a file held stays true
			t.Errorf("%s: refused are %q", name, content.refused)
		}
	}
	// One of another version is made anew: nothing is lost but time.
	later := bytes.Replace(data, []byte(cacheMagic), []byte("runner stat cache 9\n"), 1)
	sum := sha256.Sum256(later[:len(later)-sha256.Size])
	noErr(t, store.WriteFile(fsys, "/cache", append(later[:len(later)-len(sum)], sum[:]...)))
	anew := cacheAt(dir, fsys)
	lookUp(t, anew, "b")
	if n := len(entriesIn(anew)); n != 1 {
		t.Errorf("%d files are known from another version", n)
	}
	noErr(t, anew.save())
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

// TestCacheClock: a file system whose clock is behind makes files look older
// than they are.
func TestCacheClock(t *testing.T) {
	t.Parallel()
	c := newCache(nil, "", "/w")
	stat := fileStat{mtime: time.Unix(100, 1).UnixNano()}
	some := sums{digest: shaSum("some")}
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
	seeded := &cache{root: "/ws", boot: "b", refused: map[string]string{"b": shaSum("")}, since: map[string]cached{
		"a\xff": {path: "a\xff", stat: fileStat{size: 3, mtime: 5, inode: 7}, sums: sums{digest: shaSum(""), blob: "ab"}},
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
