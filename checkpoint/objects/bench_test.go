package objects_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
)

// BenchmarkCopy copies files in the page cache to durable objects. The case hash is the
// lower bound for the large file.
func BenchmarkCopy(b *testing.B) {
	large := func(b *testing.B) (*os.File, int64) {
		const size = 512 << 20
		path := filepath.Join(b.TempDir(), "large")
		piece, all := noise(1<<20), new(bytes.Buffer)
		for i := range uint64(size >> 20) {
			binary.LittleEndian.PutUint64(piece, i)
			all.Write(piece)
		}
		must(b, os.WriteFile(path, all.Bytes(), store.FilePerm))
		f, err := os.Open(path)
		must(b, err)
		must(b, f.Sync())
		b.Cleanup(func() { _ = f.Close() })
		b.SetBytes(size)
		return f, size
	}
	b.Run("hash", func(b *testing.B) {
		f, size := large(b)
		for b.Loop() {
			_, err := io.CopyBuffer(struct{ io.Writer }{sha256.New()}, io.NewSectionReader(f, 0, size), make([]byte, 1<<20))
			must(b, err)
		}
	})
	for name, o := range map[string]objects.Options{"large": {}, "large and noisy, compressing": {Compress: true}} {
		b.Run(name, func(b *testing.B) {
			f, _ := large(b)
			for b.Loop() {
				benchmarkBatch(b, o, []*os.File{f})
			}
		})
	}
	b.Run("many", func(b *testing.B) {
		const count, size = 5000, 20_000
		files := make([]*os.File, count)
		for i := range files {
			path := filepath.Join(b.TempDir(), "small")
			data := noise(size)
			binary.LittleEndian.PutUint64(data, uint64(i))
			must(b, os.WriteFile(path, data, store.FilePerm))
			f, err := os.Open(path)
			must(b, err)
			defer f.Close()
			must(b, f.Sync())
			files[i] = f
		}
		b.SetBytes(count * size)
		for b.Loop() {
			benchmarkBatch(b, objects.Options{}, files)
		}
	})
}

// benchmarkBatch copies files into a new store, and removes the store while the timer is
// stopped.
func benchmarkBatch(b *testing.B, o objects.Options, files []*os.File) {
	dir := b.TempDir()
	batch := objects.New(store.OS(), filepath.Join(dir, "objects"), o).Begin()
	for _, f := range files {
		_, err := f.Seek(0, io.SeekStart)
		must(b, err)
		_, err = batch.Copy(b.Context(), f)
		must(b, err)
	}
	must(b, batch.Commit(b.Context()))
	b.StopTimer()
	must(b, os.RemoveAll(filepath.Join(dir, "objects")))
	b.StartTimer()
}
