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

// knownFiles holds the entries of a cache file, undecoded: callers ask for most of the
// entries once, and in order.
type knownFiles struct {
	data   []byte
	begins []int // the offset of each file's entry, sorted by path
}

// knownFile is a decoded entry. It refers to the data of knownFiles.
type knownFile struct {
	path []byte
	stat Stat
	mask uint32
	sha  []byte
	blob []byte // empty: not computed
}

// indexFiles finds the offset of each entry. bad reports that the last entry is cut off.
func indexFiles(data []byte) (k knownFiles, bad bool) {
	const typical = 96
	k = knownFiles{data: data, begins: make([]int, 0, len(data)/typical)}
	sorted := true
	var last []byte
	r := cacheReader{data: data}
	for r.at < len(data) && !r.bad {
		k.begins = append(k.begins, r.at)
		f := r.file()
		sorted = sorted && bytes.Compare(last, f.path) <= 0
		last = f.path
	}
	if !sorted {
		slices.SortFunc(k.begins, func(a, b int) int {
			x, y := cacheReader{data: data, at: a}, cacheReader{data: data, at: b}
			return cmp.Or(bytes.Compare(x.bytes(), y.bytes()), cmp.Compare(a, b))
		})
	}
	return k, r.bad
}

func (k *knownFiles) path(i int) []byte {
	r := cacheReader{data: k.data, at: k.begins[i]}
	return r.bytes()
}

func (k *knownFiles) at(i int) knownFile {
	r := cacheReader{data: k.data, at: k.begins[i]}
	return r.file()
}

// find returns the index of a path, or the index at which it would be inserted. It tries
// near first.
func (k *knownFiles) find(path string, near int) (int, bool) {
	if near < len(k.begins) && string(k.path(near)) == path {
		return near, true
	}
	i := sort.Search(len(k.begins), func(i int) bool { return string(k.path(i)) >= path })
	return i, i < len(k.begins) && string(k.path(i)) == path
}

func (f *knownFile) sums() Sums {
	var buf [len(digestPrefix) + 4*sha256.Size]byte // room for both digests, which share a string
	b := hex.AppendEncode(append(buf[:0], digestPrefix...), f.sha)
	end := len(b)
	all := string(hex.AppendEncode(b, f.blob))
	return Sums{Digest: all[:end], Blob: all[end:], MaskOnly: f.mask}
}

func (f knownFile) cached() cached {
	return cached{path: string(f.path), stat: f.stat, sums: f.sums()}
}

// cacheReader reads the parts of a cache file in order.
type cacheReader struct {
	data []byte
	at   int
	bad  bool
}

func (r *cacheReader) file() knownFile {
	return knownFile{
		path: r.bytes(),
		stat: Stat{Size: r.varint(), Mtime: r.fixed(), Ctime: r.fixed(), Inode: r.uvarint(), device: r.uvarint()},
		mask: uint32(r.uvarint()) & 0o070,
		sha:  r.take(sha256.Size),
		blob: r.bytes(),
	}
}

// take reads n bytes, or none if there are fewer.
func (r *cacheReader) take(n int) []byte {
	if n > len(r.data)-r.at {
		r.at, r.bad = len(r.data), true
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

// bytes reads a string: a length, then as many bytes.
func (r *cacheReader) bytes() []byte { return r.take(int(min(r.uvarint(), 1<<30))) }

func (r *cacheReader) fixed() int64 {
	const size = 8
	b := r.take(size)
	if len(b) < size {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}

func (r *cacheReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data[r.at:])
	if n <= 0 {
		r.at, r.bad = len(r.data), true
		return 0
	}
	r.at += n
	return v
}

func (r *cacheReader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}
