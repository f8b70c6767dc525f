package objects_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everywhere runs a test on each file system, with and without compression.
func everywhere(t *testing.T, test func(t *testing.T, p place)) {
	t.Parallel()
	for _, compress := range []bool{false, true} {
		name := map[bool]string{false: "raw", true: "compressed"}[compress]
		o := objects.Options{Compress: compress}
		t.Run(name+" on disk", func(t *testing.T) {
			t.Parallel()
			test(t, newPlace(store.OS(), filepath.Join(t.TempDir(), "state", "objects"), o))
		})
		t.Run(name+" in memory", func(t *testing.T) {
			t.Parallel()
			test(t, newPlace(store.NewMemory(), "/state/objects", o))
		})
	}
}

// place is a store and its directory.
type place struct {
	*objects.Store
	fs  store.FS
	dir string
	o   objects.Options
}

func newPlace(fsys store.FS, dir string, o objects.Options) place {
	return place{Store: objects.New(fsys, dir, o), fs: fsys, dir: dir, o: o}
}

// files lists the names of all files below the directory.
func (p place) files(t *testing.T) []string {
	t.Helper()
	var all []string
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := p.fs.ReadDir(filepath.Join(p.dir, dir))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		must(t, err)
		for _, e := range entries {
			if e.IsDir() {
				walk(filepath.Join(dir, e.Name()))
			} else {
				all = append(all, filepath.ToSlash(filepath.Join(dir, e.Name())))
			}
		}
	}
	walk("")
	return all
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// noise cannot be compressed; words can.
func noise(n int) []byte {
	data := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)})
	_, _ = r.Read(data)
	return data
}

func words(n int) []byte {
	return bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog\n"), n/44+1)[:n]
}

// samples have sizes around all limits.
func samples() map[string][]byte {
	const chunk = 1 << 18
	return map[string][]byte{
		"empty": nil, "byte": {7}, "block": words(4096), "words": words(20_000), "noise": noise(20_000),
		"less than a chunk": noise(chunk - 1), "a chunk": words(chunk), "more than a chunk": noise(chunk + 1),
		"many chunks": words(5*chunk + 17), "many noisy chunks": noise(4*chunk + 1),
		"noise after words": append(words(chunk), noise(chunk)...),
	}
}

func TestRoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		b := p.Begin()
		refs := map[string]objects.Ref{}
		for name, data := range samples() {
			put, err := b.Put(t.Context(), data)
			must(t, err)
			if want := (objects.Ref{Digest: digestOf(data), Size: int64(len(data))}); put != want {
				t.Errorf("%s: put as %v, want %v", name, put, want)
			}
			refs[name] = put
		}
		for name, data := range samples() {
			copied, err := b.Copy(t.Context(), iotest.HalfReader(bytes.NewReader(data)))
			if err != nil || copied != refs[name] {
				t.Errorf("%s: copied as %v, %v, put as %v", name, copied, err, refs[name])
			}
			if has, err := p.Has(copied.Digest); has || err != nil {
				t.Errorf("%s: has before the commit: %v, %v", name, has, err)
			}
		}
		must(t, b.Commit(t.Context()))
		must(t, b.Abandon())
		for name, data := range samples() {
			p.expect(t, name, data)
		}
		if files := p.files(t); len(files) != len(samples()) {
			t.Errorf("left %q", files)
		}
	})
}

// expect reads an object in every way, and expects the given bytes.
func (p place) expect(t *testing.T, what string, data []byte) {
	t.Helper()
	d := digestOf(data)
	if has, err := p.Has(d); !has || err != nil {
		t.Errorf("%s: has: %v, %v", what, has, err)
	}
	if err := p.Verify(t.Context(), d); err != nil {
		t.Errorf("%s: verify: %v", what, err)
	}
	if got, err := p.Get(t.Context(), d, int64(len(data))); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%s: got %d bytes, %v", what, len(got), err)
	}
	if _, err := p.Get(t.Context(), d, int64(len(data))-1); !errors.Is(err, objects.ErrTooLarge) {
		t.Errorf("%s: get with too low a limit: %v", what, err)
	}
	r, err := p.Open(d)
	must(t, err)
	if got, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(r, 100))); err != nil || !bytes.HasPrefix(data, got) {
		t.Errorf("%s: read %d bytes, %v", what, len(got), err)
	}
	must(t, r.Close())
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("%s: read after close: %v", what, err)
	}
}
