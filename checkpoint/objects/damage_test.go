package objects_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
)

// stored returns a file system in memory with one object, the path of its file, and the
// content of the file.
func stored(t testing.TB, data []byte, o objects.Options) (p place, path string, file []byte) {
	t.Helper()
	p = newPlace(store.NewMemory(), "/objects", o)
	b := p.Begin()
	_, err := b.Put(t.Context(), data)
	must(t, err)
	must(t, b.Commit(t.Context()))
	path = p.path(digestOf(data))
	if o.Compress {
		path += ".zst"
	}
	file, err = store.ReadFile(p.fs, path)
	must(t, err)
	return p, path, file
}

func (p place) path(digest string) string { return filepath.Join(p.dir, digest[7:9], digest[9:]) }

// TestDamage changes every byte into every other one, cuts the file at every length, and
// appends a byte. Verify and Get report each change as damage.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data []byte
		o    objects.Options
	}{
		"raw":        {[]byte("the bytes of an object"), objects.Options{}},
		"compressed": {words(9000), objects.Options{Compress: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, path, file := stored(t, c.data, c.o)
			for i := range file {
				for by := 1; by < 256; by++ {
					changed := bytes.Clone(file)
					changed[i] ^= byte(by)
					p.expectDamage(t, fmt.Sprintf("byte %d changed by %#x", i, by), path, changed, c.data)
				}
				p.expectDamage(t, fmt.Sprintf("cut at %d", i), path, file[:i], c.data)
			}
			p.expectDamage(t, "one byte more", path, append(bytes.Clone(file), 0), c.data)
			must(t, store.WriteFile(p.fs, path, file))
			p.expect(t, "mended", c.data)
		})
	}
}

// expectDamage replaces the file of an object, and expects that it is reported as
// damaged.
func (p place) expectDamage(t *testing.T, what, path string, file, data []byte) {
	t.Helper()
	must(t, store.WriteFile(p.fs, path, file))
	var damaged *objects.DamagedError
	if err := p.Verify(t.Context(), digestOf(data)); !errors.As(err, &damaged) || damaged.Path != path {
		t.Errorf("%s: verify: %v", what, err)
	}
	got, err := p.Get(t.Context(), digestOf(data), 1<<20)
	if !errors.As(err, &damaged) && !errors.Is(err, objects.ErrTooLarge) || got != nil {
		t.Errorf("%s: got %d bytes, %v", what, len(got), err)
	}
}

// TestUnreadable: an object that cannot be read is not reported as damaged.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for _, o := range []objects.Options{{}, {Compress: true}} {
		p, _, _ := stored(t, words(9000), o)
		s := objects.New(unreadable{p.fs}, p.dir, o)
		var damaged *objects.DamagedError
		if err := s.Verify(t.Context(), digestOf(words(9000))); !errors.Is(err, errDisk) || errors.As(err, &damaged) {
			t.Errorf("verify: %v", err)
		}
	}
}

type unreadable struct{ store.FS }

func (u unreadable) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	return unreadableFile{f}, err
}

type unreadableFile struct{ store.File }

func (unreadableFile) Read([]byte) (int, error) { return 0, errDisk }

// TestPutMends: putting the bytes of an object replaces any kind of damaged file.
func TestPutMends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data []byte
		o    objects.Options
	}{
		"small":      {[]byte("the bytes of an object"), objects.Options{}},
		"compressed": {words(9000), objects.Options{Compress: true}},
		"streamed":   {words(300_000), objects.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, path, file := stored(t, c.data, c.o)
			flipped := bytes.Clone(file)
			flipped[len(file)/2] ^= 1
			for what, wrong := range map[string][]byte{"flipped": flipped, "cut": file[:len(file)-1], "empty": nil} {
				must(t, store.WriteFile(p.fs, path, wrong))
				b := p.Begin()
				for range 2 {
					_, err := b.Copy(t.Context(), bytes.NewReader(c.data))
					must(t, err)
				}
				must(t, b.Commit(t.Context()))
				p.expect(t, what, c.data)
			}
		})
	}
}

// TestMend: an obviously wrong file is replaced, compressed or not, and a correct one is
// not written again.
func TestMend(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		for _, wrong := range []string{"", ".zst"} {
			data := append(words(9000), wrong...)
			path := p.path(digestOf(data)) + wrong
			must(t, store.MkdirAll(p.fs, filepath.Dir(path)))
			must(t, store.WriteFile(p.fs, path, nil))
			b := p.Begin()
			_, err := b.Copy(t.Context(), bytes.NewReader(data))
			must(t, err)
			must(t, b.Commit(t.Context()))
			p.expect(t, "mended"+wrong, data)
		}
		before := p.files(t)
		b := newPlace(&faulty{FS: p.fs}, p.dir, objects.Options{Compress: !p.o.Compress}).Begin()
		_, err := b.Put(t.Context(), words(9000))
		must(t, err)
		must(t, b.Commit(t.Context()))
		if after := p.files(t); len(after) != 2 || fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("files %q, before %q", after, before)
		}
	})
}

// TestNoFile: a link or a directory with the name of an object is not an object.
func TestNoFile(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		data := []byte("data")
		d := digestOf(data)
		must(t, store.MkdirAll(p.fs, filepath.Dir(p.path(d))))
		must(t, store.WriteFile(p.fs, filepath.Join(p.dir, "target"), data))
		must(t, p.fs.Symlink("../target", p.path(d)))
		var damaged *objects.DamagedError
		if err := p.Verify(t.Context(), d); !errors.As(err, &damaged) {
			t.Errorf("verify: %v", err)
		}
		if has, err := p.Has(d); has || err != nil {
			t.Errorf("has: %v, %v", has, err)
		}
		b := p.Begin()
		_, err := b.Put(t.Context(), data)
		must(t, err)
		must(t, b.Commit(t.Context()))
		p.expect(t, "in place of the link", data)
	})
}

// TestHole: an object with a hole of 1 TiB is damaged, and is not read to its end.
func TestHole(t *testing.T) {
	t.Parallel()
	p := newPlace(store.OS(), filepath.Join(t.TempDir(), "objects"), objects.Options{})
	data := []byte("data")
	b := p.Begin()
	_, err := b.Put(t.Context(), data)
	must(t, err)
	must(t, b.Commit(t.Context()))
	must(t, os.Truncate(p.path(digestOf(data)), 1<<40))
	var damaged *objects.DamagedError
	if err := p.Verify(t.Context(), digestOf(data)); !errors.As(err, &damaged) || !strings.Contains(damaged.Detail, "longer than 64 GiB") {
		t.Errorf("verify: %v", err)
	}
}

// TestBomb: a small compressed file decompresses to 64 MiB. Get refuses more than its
// limit. Without a limit, the object is reported as damaged.
func TestBomb(t *testing.T) {
	t.Parallel()
	p, path, _ := stored(t, words(9000), objects.Options{Compress: true})
	e, err := zstd.NewWriter(nil)
	must(t, err)
	bomb := e.EncodeAll(make([]byte, 64<<20), nil)
	must(t, e.Close())
	must(t, store.WriteFile(p.fs, path, bomb))
	d := digestOf(words(9000))
	if data, err := p.Get(t.Context(), d, 1000); !errors.Is(err, objects.ErrTooLarge) || data != nil {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
	var damaged *objects.DamagedError
	if _, err := p.Get(t.Context(), d, math.MaxInt64); !errors.As(err, &damaged) {
		t.Errorf("get without a limit: %v", err)
	}
	r, err := p.Open(d)
	must(t, err)
	defer r.Close()
	for range 2 {
		if n, err := io.Copy(io.Discard, r); !errors.As(err, &damaged) {
			t.Errorf("read %d bytes, %v", n, err)
		}
	}
}

// FuzzCompressed: no compressed file yields other bytes than those of the object, or a
// panic.
func FuzzCompressed(f *testing.F) {
	data := words(9000)
	p, path, file := stored(f, data, objects.Options{Compress: true})
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Add(append(bytes.Clone(file), file...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, garbage []byte) {
		must(t, store.WriteFile(p.fs, path, garbage))
		got, err := p.Get(t.Context(), digestOf(data), 1<<20)
		var damaged *objects.DamagedError
		switch {
		case err == nil && bytes.Equal(got, data):
		case errors.As(err, &damaged) || errors.Is(err, objects.ErrTooLarge):
		default:
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	})
}

// TestLinkedSubdirectory: an object that would lie behind a link is not written.
func TestLinkedSubdirectory(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		data := []byte("data")
		outside := filepath.Join(filepath.Dir(p.dir), "outside")
		must(t, store.MkdirAll(p.fs, outside))
		must(t, store.MkdirAll(p.fs, p.dir))
		must(t, p.fs.Symlink("../outside", filepath.Dir(p.path(digestOf(data)))))
		b := p.Begin()
		_, err := b.Put(t.Context(), data)
		if err == nil { // the file system in memory follows no links
			err = b.Commit(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), "not a directory") {
			t.Errorf("put and commit: %v", err)
		}
		if left, err := p.fs.ReadDir(outside); err != nil || len(left) > 0 {
			t.Errorf("outside there is %v, %v", left, err)
		}
	})
}
