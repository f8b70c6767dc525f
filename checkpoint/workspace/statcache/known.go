package statcache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"sort"
)

// loadedFiles holds the entries of a cache file, undecoded: callers look up most entries
// once, in order.
type loadedFiles struct {
	data   []byte
	begins []int // the offset of each file's entry, sorted by path
}

// loadedFile is a decoded entry. It refers to the data of knownFiles.
type loadedFile struct {
	path []byte
	stat Stat
	mask uint32
	sha  []byte
	blob []byte // empty: not computed
}

// indexFiles finds the offset of each entry. bad reports that the last entry is cut off.
func indexFiles(data []byte) (k loadedFiles, bad bool) {
	const typical = 96
	k = loadedFiles{data: data, begins: make([]int, 0, len(data)/typical)}
	sorted := true
	var last []byte
	r := cacheReader{data: data}
	for r.offset < len(data) && !r.bad {
		k.begins = append(k.begins, r.offset)
		f := r.readFile()
		sorted = sorted && bytes.Compare(last, f.path) <= 0
		last = f.path
	}
	if !sorted {
		slices.SortFunc(k.begins, func(a, b int) int {
			x, y := cacheReader{data: data, offset: a}, cacheReader{data: data, offset: b}
			return cmp.Or(bytes.Compare(x.readString(), y.readString()), cmp.Compare(a, b))
		})
	}
	return k, r.bad
}

func (k *loadedFiles) pathAt(i int) []byte {
	r := cacheReader{data: k.data, offset: k.begins[i]}
	return r.readString()
}

func (k *loadedFiles) fileAt(i int) loadedFile {
	r := cacheReader{data: k.data, offset: k.begins[i]}
	return r.readFile()
}

// findPath returns the index of a path, or the index at which it would be inserted. It
// tries the index near first.
func (k *loadedFiles) findPath(path string, near int) (int, bool) {
	if near < len(k.begins) && string(k.pathAt(near)) == path {
		return near, true
	}
	i := sort.Search(len(k.begins), func(i int) bool { return string(k.pathAt(i)) >= path })
	return i, i < len(k.begins) && string(k.pathAt(i)) == path
}

func (f *loadedFile) decodeSums() Sums {
	var buf [len(digestPrefix) + 4*sha256.Size]byte // room for both digests, which share a string
	b := hex.AppendEncode(append(buf[:0], digestPrefix...), f.sha)
	end := len(b)
	all := string(hex.AppendEncode(b, f.blob))
	return Sums{Digest: all[:end], Blob: all[end:], MaskOnly: f.mask}
}

func (f loadedFile) asEntry() entry {
	return entry{path: string(f.path), stat: f.stat, sums: f.decodeSums()}
}

// cacheReader reads the parts of a cache file in order.
type cacheReader struct {
	data   []byte
	offset int
	bad    bool
}

func (r *cacheReader) readFile() loadedFile {
	return loadedFile{
		path: r.readString(),
		stat: Stat{Size: r.readVarint(), Mtime: r.readInt64(), Ctime: r.readInt64(), Inode: r.readUvarint(), device: r.readUvarint()},
		mask: uint32(r.readUvarint()) & 0o070,
		sha:  r.readBytes(sha256.Size),
		blob: r.readString(),
	}
}

// readBytes reads n bytes, or none if there are fewer.
func (r *cacheReader) readBytes(n int) []byte {
	if n > len(r.data)-r.offset {
		r.offset, r.bad = len(r.data), true
		return nil
	}
	r.offset += n
	return r.data[r.offset-n : r.offset]
}

// readString reads a string: a length, then as many bytes.
func (r *cacheReader) readString() []byte { return r.readBytes(int(min(r.readUvarint(), 1<<30))) }

func (r *cacheReader) readInt64() int64 {
	const size = 8
	b := r.readBytes(size)
	if len(b) < size {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}

func (r *cacheReader) readUvarint() uint64 {
	v, n := binary.Uvarint(r.data[r.offset:])
	if n <= 0 {
		r.offset, r.bad = len(r.data), true
		return 0
	}
	r.offset += n
	return v
}

func (r *cacheReader) readVarint() int64 {
	v := r.readUvarint()
	return int64(v>>1) ^ -int64(v&1)
}
