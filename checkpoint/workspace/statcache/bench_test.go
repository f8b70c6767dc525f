package statcache

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkCacheLoad loads the entries of 50,000 files.
func BenchmarkCacheLoad(b *testing.B) {
	c := New(nil, "", "/w")
	for i := range 50_000 {
		stat := Stat{Size: 1000, Mtime: int64(i), Ctime: int64(i), Inode: uint64(i), device: 1}
		c.Put(fmt.Sprintf("some/directory/of/a/project/d%d/file%d.go", i%100, i), stat, Sums{Digest: digestOf("some"), Blob: "0123456789012345678901234567890123456789"}, time.Unix(1e9, 0))
	}
	data := c.encode()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.decode(data); !ok {
			b.Fatal("not trusted")
		}
	}
}
