package workspace

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkCacheLoad loads what is known of 50,000 files.
func BenchmarkCacheLoad(b *testing.B) {
	c := newCache(nil, "", "/w")
	for i := range 50_000 {
		stat := fileStat{size: 1000, mtime: int64(i), ctime: int64(i), inode: uint64(i), device: 1}
		c.put(fmt.Sprintf("some/directory/of/a/project/d%d/file%d.go", i%100, i), stat, sums{digest: shaSum("some"), blob: "0123456789012345678901234567890123456789"}, time.Unix(1e9, 0))
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
