package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
)

func TestSweep(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if s, err := p.Sweep(t.Context(), func(string) bool { return false }, false); err != nil || s != (objects.Swept{}) {
			t.Errorf("the sweep of a missing directory: %+v, %v", s, err)
		}
		keep, drop, both := words(10_000), noise(300), words(20_000)
		for _, o := range []objects.Options{{}, {Compress: true}} {
			// A compressed and an uncompressed file, as written by two batches at the
			// same time.
			b := objects.New(p.fs, p.dir, o).Begin()
			for _, data := range [][]byte{keep, drop, both} {
				_, err := b.Put(t.Context(), data)
				must(t, err)
			}
			must(t, b.Commit(t.Context()))
			if !o.Compress {
				raw := p.path(digestOf(both))
				must(t, p.fs.Rename(raw, raw+".aside"))
			}
		}
		raw := p.path(digestOf(both))
		must(t, store.WriteFile(p.fs, raw, both))
		foreign := []string{"README", "zz", filepath.Base(filepath.Dir(raw)) + "/" + strings.Repeat("A", 62)}
		for _, name := range append(foreign, ".tmp-object-x", filepath.Base(filepath.Dir(raw))+"/.tmp-y") {
			must(t, store.WriteFile(p.fs, filepath.Join(p.dir, name), []byte("1234")))
		}
		var stored int64
		var digests []string
		for o, err := range p.All(t.Context()) {
			must(t, err)
			if digests = append(digests, o.Digest); o.Digest != digestOf(keep) {
				stored += o.Stored
			}
		}
		if !slices.IsSorted(digests) || len(digests) != 3 {
			t.Errorf("all are %q", digests)
		}
		if compressed := p.size(t, raw+".zst"); stored != int64(len(both)+len(drop))+compressed || compressed == 0 {
			t.Errorf("%d bytes stored, %d compressed", stored, compressed)
		}
		want := objects.Swept{Objects: 2, Leftovers: 2, Bytes: stored + 8, Kept: 1}
		before := p.files(t)
		for _, dryRun := range []bool{true, false} {
			got, err := p.Sweep(t.Context(), func(d string) bool { return d == digestOf(keep) }, dryRun)
			if err != nil || got != want {
				t.Errorf("swept %+v, %v, want %+v", got, err, want)
			}
			if now := p.files(t); dryRun && !slices.Equal(now, before) {
				t.Errorf("a dry run left %q of %q", now, before)
			}
		}
		p.expect(t, "kept", keep)
		if left := p.files(t); len(left) != 1+len(foreign)+1 {
			t.Errorf("left %q", left)
		}
	})
}

func (p place) size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := p.fs.Lstat(path)
	must(t, err)
	return info.Size()
}

func TestRemove(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		must(t, p.Remove(digestOf(nil)))
		b := p.Begin()
		ref, err := b.Put(t.Context(), words(10_000))
		must(t, err)
		must(t, b.Commit(t.Context()))
		must(t, p.Remove(ref.Digest))
		if has, err := p.Has(ref.Digest); has || err != nil {
			t.Errorf("has: %v, %v", has, err)
		}
		if err := p.Verify(t.Context(), ref.Digest); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("verify: %v", err)
		}
		if _, err := p.Get(t.Context(), ref.Digest, 1); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("get: %v", err)
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	p := newPlace(store.NewMemory(), "/objects", objects.Options{})
	hex := strings.Repeat("a", 64)
	for _, d := range []string{
		"", "sha256:", hex, "sha512:" + hex, "SHA256:" + hex, "sha256:" + hex + "a", "sha256:" + hex[1:],
		"sha256:" + strings.ToUpper(hex), "sha256:" + hex[1:] + "g", "sha256:" + hex[2:] + "é",
		"sha256:" + "../" + hex[3:], "sha256:" + hex[1:] + "/", "sha256:" + hex[1:] + "\x00", "sha256:" + hex[4:] + ".zst",
	} {
		_, has := p.Has(d)
		_, open := p.Open(d)
		_, get := p.Get(t.Context(), d, 1)
		for what, err := range map[string]error{"has": has, "open": open, "get": get, "verify": p.Verify(t.Context(), d), "remove": p.Remove(d)} {
			if !errors.Is(err, objects.ErrDigest) {
				t.Errorf("%s %q: %v", what, d, err)
			}
		}
	}
}

// TestAtOnce: batches of several stores, like those of several processes, write the same
// objects, and many goroutines add to one batch.
func TestAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		data := [][]byte{noise(100), words(9000), noise(1<<20 + 1), words(2 << 20)}
		var all sync.WaitGroup
		for i := range 8 {
			b := objects.New(p.fs, p.dir, objects.Options{Compress: i%2 == 0}).Begin()
			all.Go(func() {
				var adding sync.WaitGroup
				for _, d := range append(data, data...) {
					adding.Go(func() {
						if _, err := b.Copy(t.Context(), bytes.NewReader(d)); err != nil {
							t.Errorf("copy: %v", err)
						}
					})
				}
				adding.Wait()
				if err := b.Commit(t.Context()); err != nil {
					t.Errorf("commit: %v", err)
				}
			})
		}
		all.Wait()
		for _, d := range data {
			p.expect(t, "written at once", d)
		}
		for _, f := range p.files(t) {
			if store.IsTemp(f) {
				t.Errorf("left %s", f)
			}
		}
	})
}

// TestBadSource: a source that cannot be read is an error for the caller, and the batch
// remains usable.
func TestBadSource(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		b := p.Begin()
		for _, n := range []int{10, 1 << 20, 3 << 20} {
			cut := io.MultiReader(bytes.NewReader(noise(n)), iotest.ErrReader(io.ErrUnexpectedEOF))
			if _, err := b.Copy(t.Context(), cut); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("copy what is cut off at %d: %v", n, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			long := io.MultiReader(bytes.NewReader(noise(n)), &canceller{cancel: cancel})
			if _, err := b.Copy(ctx, long); n >= 1<<20 && !errors.Is(err, context.Canceled) {
				t.Errorf("copy until cancelled at %d: %v", n, err)
			}
			cancel()
		}
		_, err := b.Copy(t.Context(), strings.NewReader("good"))
		must(t, err)
		must(t, b.Commit(t.Context()))
		p.expect(t, "good", []byte("good"))
		for _, f := range p.files(t) {
			if store.IsTemp(f) {
				t.Errorf("left %s", f)
			}
		}
	})
}

// canceller cancels the context, and returns one more chunk before it ends.
type canceller struct {
	cancel func()
	given  int
}

func (c *canceller) Read(p []byte) (int, error) {
	c.cancel()
	if c.given >= 2<<20 {
		return 0, io.EOF
	}
	c.given += len(p)
	return len(p), nil
}

// TestAbandon: Abandon leaves no files, and neither does a cancelled commit.
func TestAbandon(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		b := p.Begin()
		_, err := b.Put(t.Context(), []byte("dropped"))
		must(t, err)
		must(t, b.Abandon())
		if _, err := b.Put(t.Context(), []byte("late")); err == nil {
			t.Error("an abandoned batch takes objects")
		}
		b = p.Begin()
		_, err = b.Put(t.Context(), []byte("cancelled"))
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Commit(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("commit: %v", err)
		}
		if left := p.files(t); len(left) != 0 {
			t.Errorf("left %q", left)
		}
	})
}

// TestCommitOfKnown: after a commit, an object that was already stored is durable, too,
// even if the process that wrote the object was killed before its sync.
func TestCommitOfKnown(t *testing.T) {
	t.Parallel()
	m := store.NewMemory()
	p := newPlace(m, "/state/objects", objects.Options{})
	data := []byte("known")
	path := p.path(digestOf(data))
	for _, dir := range []string{"/state", p.dir, filepath.Dir(path)} {
		must(t, m.Mkdir(dir, store.DirPerm))
	}
	must(t, m.SyncDir("/"))
	f, err := m.OpenFile(path, os.O_WRONLY|os.O_CREATE, store.FilePerm)
	must(t, err)
	_, err = f.Write(data)
	must(t, err)
	must(t, f.Sync())
	must(t, f.Close())
	b := p.Begin()
	_, err = b.Put(t.Context(), data)
	must(t, err)
	must(t, b.Commit(t.Context()))
	newPlace(m.Crash(), p.dir, p.o).expect(t, "after a power cut", data)
}

// TestMemory: copying a file of any size takes a few buffers. The test is not parallel,
// since it counts all allocations of the process.
func TestMemory(t *testing.T) {
	for _, compress := range []bool{false, true} {
		t.Run(fmt.Sprintf("compress %t", compress), func(t *testing.T) {
			p := newPlace(store.OS(), filepath.Join(t.TempDir(), "objects"), objects.Options{Compress: compress})
			line := words(4400)
			source := io.LimitReader(endless(line), 64<<20)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b := p.Begin()
			ref, err := b.Copy(t.Context(), source)
			must(t, err)
			must(t, b.Commit(t.Context()))
			must(t, p.Verify(t.Context(), ref.Digest))
			runtime.ReadMemStats(&after)
			used := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d bytes", used)
			if used > 12<<20 {
				t.Errorf("%d bytes were allocated", used)
			}
		})
	}
}

// endless repeats a line.
type endless []byte

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }
