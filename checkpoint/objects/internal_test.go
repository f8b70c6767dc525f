package objects

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/store"
)

func TestWorthCompressing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		plain, compressed int
		want              bool
	}{
		{2 * diskBlock, diskBlock, true},
		{2 * diskBlock, diskBlock + 1, false}, // does not save a block
		{100 * diskBlock, 90 * diskBlock, true},
		{100 * diskBlock, 90*diskBlock + 1, false}, // saves blocks, but not a tenth
		{1000, 10, false},
	} {
		if got := worthCompressing(c.plain, c.compressed); got != c.want {
			t.Errorf("%d bytes in place of %d: %v", c.compressed, c.plain, got)
		}
	}
}

// stuck is a reader that never returns a byte.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestReaderWithoutProgress(t *testing.T) {
	t.Parallel()
	if ended, err := new(buffer).readFrom(stuck{}); ended || !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("ended %v, %v", ended, err)
	}
}

// TestForeignDirectories: All leaves out files whose directories cannot hold objects.
func TestForeignDirectories(t *testing.T) {
	t.Parallel()
	m := store.NewMemory()
	for _, sub := range []string{"zz", "abc", "a"} {
		dir := filepath.Join("/objects", sub)
		if err := store.MkdirAll(m, dir); err != nil {
			t.Fatal(err)
		}
		if err := store.WriteFile(m, filepath.Join(dir, strings.Repeat("0", nameLength-dirLength))); err != nil {
			t.Fatal(err)
		}
	}
	for info, err := range New(m, "/objects", Options{}).All(t.Context()) {
		t.Errorf("listed %s, %v", info.Digest, err)
	}
}

// TestEmptyCompressedFile: no encoder writes an empty file, so it holds no object.
func TestEmptyCompressedFile(t *testing.T) {
	t.Parallel()
	m := store.NewMemory()
	s := New(m, "/objects", Options{})
	n := name(strings.Repeat("ab", nameLength/2))
	path := s.targetPath(n, true)
	if err := store.MkdirAll(m, filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := store.WriteFile(m, path); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if err := s.Check(Ref{Digest: n.digest(), Size: 1}); !errors.As(err, &damaged) {
		t.Errorf("check: %v", err)
	}
}

// vanishing removes each file before Remove does.
type vanishing struct{ store.FS }

func (v vanishing) Remove(name string) error {
	_ = v.FS.Remove(name)
	return v.FS.Remove(name)
}

// TestInvalidFileVanishes: another process removes an invalid file before Runner does.
// The commit succeeds nevertheless.
func TestInvalidFileVanishes(t *testing.T) {
	t.Parallel()
	m := store.NewMemory()
	data := []byte("data")
	batch := New(m, "/objects", Options{}).Begin()
	ref, err := batch.Put(t.Context(), data)
	if err == nil {
		err = batch.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	s := New(vanishing{m}, "/objects", Options{})
	path, _, err := s.Path(ref.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Rename(path, path+zstExt); err != nil { // an invalid compressed file
		t.Fatal(err)
	}
	batch = s.Begin()
	if _, err := batch.Put(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	if err := batch.Commit(t.Context()); err != nil {
		t.Errorf("commit: %v", err)
	}
	if _, err := m.Lstat(path + zstExt); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the invalid file is still there: %v", err)
	}
	if err := s.Verify(t.Context(), ref.Digest); err != nil {
		t.Error(err)
	}
}
