package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"
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
	e, ok := w.cache.entries["f"]
	if !ok {
		t.Fatal("not remembered")
	}
	wrong := [32]byte{1}
	e.sums.sha = wrong
	w.cache.entries["f"] = e
	if got := describe(t, w, "f"); got.Digest != digestOf(wrong[:]) {
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
