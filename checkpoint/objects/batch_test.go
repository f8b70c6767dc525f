package objects_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
)

// TestStoredObjectsAreNotReplaced: an object that is stored keeps its file, whether it is
// added as bytes, from a reader, or from a reader that needs several buffers.
func TestStoredObjectsAreNotReplaced(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		short, long := words(9000), words(600_000)
		b := p.Begin()
		for _, data := range [][]byte{short, long} {
			_, err := b.Put(t.Context(), data)
			must(t, err)
		}
		must(t, b.Commit(t.Context()))
		for name, add := range map[string]func(b *objects.Batch) error{
			"put":      func(b *objects.Batch) error { _, err := b.Put(t.Context(), short); return err },
			"copied":   func(b *objects.Batch) error { _, err := b.Copy(t.Context(), bytes.NewReader(short)); return err },
			"streamed": func(b *objects.Batch) error { _, err := b.Copy(t.Context(), bytes.NewReader(long)); return err },
		} {
			was := map[string]os.FileInfo{}
			for _, file := range p.files(t) {
				info, err := p.fs.Lstat(filepath.Join(p.dir, file))
				must(t, err)
				was[file] = info
			}
			b := p.Begin()
			must(t, add(b))
			must(t, b.Commit(t.Context()))
			for _, file := range p.files(t) {
				now, err := p.fs.Lstat(filepath.Join(p.dir, file))
				must(t, err)
				if had, ok := was[file]; !ok || !store.Same(had, now) {
					t.Errorf("an object that is stored was %s, and the batch wrote %s", name, file)
				}
			}
		}
	})
}

// ending is a reader that calls end before its first byte.
type ending struct {
	io.Reader
	end func()
}

func (e ending) Read(p []byte) (int, error) {
	e.end()
	return e.Reader.Read(p)
}

// TestAbandonedBatchRefusesWhatItReads: a batch that is abandoned while it reads an object
// refuses the object, and leaves no file of it.
func TestAbandonedBatchRefusesWhatItReads(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		for _, size := range []int{10, 600_000} {
			b := p.Begin()
			source := ending{bytes.NewReader(noise(size)), func() { must(t, b.Abandon()) }}
			if ref, err := b.Copy(t.Context(), source); err == nil {
				t.Errorf("an abandoned batch took %d bytes as %s", size, ref.Digest)
			}
			if left := p.files(t); len(left) != 0 {
				t.Errorf("an abandoned batch left %q of %d bytes", left, size)
			}
		}
	})
}

// TestCloneIsTheFileOrNothing: where a file can be cloned, the clone becomes an object with
// its bytes. Where it cannot, no file is left, and the caller has nothing to keep.
func TestCloneIsTheFileOrNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		for _, size := range []int{objects.CloneAbove, objects.CloneAbove + 1} {
			data := noise(size)
			path := filepath.Join(t.TempDir(), "file")
			must(t, os.WriteFile(path, data, 0o600))
			from, err := os.Open(path)
			must(t, err)
			b := p.Begin()
			c, shared, err := b.Clone(t.Context(), from, int64(size))
			must(t, err)
			if shared && (size <= objects.CloneAbove || p.o.Compress) {
				t.Fatalf("a file of %d bytes was cloned, compress %t", size, p.o.Compress)
			}
			if shared {
				ref, err := c.Keep(t.Context(), c)
				if err != nil || ref.Digest != digestOf(data) || ref.Size != int64(size) {
					t.Errorf("the clone is kept as %v, %v", ref, err)
				}
			} else if left := p.files(t); c != nil || len(left) > 0 {
				t.Errorf("a file that cannot be cloned gave %v, and left %q", c, left)
			}
			must(t, b.Commit(t.Context()))
			must(t, from.Close())
			if has, err := p.Has(digestOf(data)); err != nil || has != shared {
				t.Errorf("the store has the object: %t, %v, want %t", has, err, shared)
			}
		}
	})
}
