package workspace

import (
	"bytes"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Most of what is compared with the last listing is as it was. Then the object of a
// directory is what the files there are now would give, but for the blobs, so that
// nothing of it is decoded.

// isAs reports whether a listing has the files of a directory as its object has
// them, in the form in which encode writes it. A listing that there is not has none.
func (d *wireDir) isAs(data []byte, l *Listing) bool {
	if l == nil || d.sparse {
		return false
	}
	rest, ok := bytes.CutPrefix(data, []byte(`{"files":[`))
	if !ok {
		return false
	}
	var want []byte
	files, size := 0, int64(0)
	for e := range l.within(string(d.Path)) {
		want = want[:0]
		if files > 0 {
			want = append(want, ',')
		}
		if want, ok = e.appendWire(want); !ok {
			return false
		}
		if rest, ok = bytes.CutPrefix(rest, want); !ok {
			return false
		}
		if rest, ok = cutBlob(rest, e.isDir()); !ok {
			return false
		}
		files++
		size += e.Size
	}
	return string(rest) == "]}\n" && files == d.Files && size == d.Bytes
}

// appendWire appends an entry in the form in which encode writes it, up to its blob.
// It is not ok if JSON has another form of its name.
func (e *Entry) appendWire(b []byte) (_ []byte, ok bool) {
	name := e.Path[strings.LastIndexByte(e.Path, '/')+1:]
	if strings.IndexByte(name, '"') >= 0 || !isPlain(name) {
		return b, false
	}
	b = append(append(b, `{"name":"`...), name...)
	b = strconv.AppendUint(append(b, `","mode":"`...), uint64(e.Mode), 8)
	b = strconv.AppendInt(append(b, `","size":`...), e.Size, 10)
	if e.Digest != "" {
		b = append(append(append(b, `,"digest":"`...), e.Digest...), '"')
	}
	return b, true
}

// cutBlob takes the end of a file off the beginning: its blob, if it has one, and the
// brace. A directory has none.
func cutBlob(b []byte, isDir bool) (rest []byte, ok bool) {
	if name, has := bytes.CutPrefix(b, []byte(`,"blob":"`)); has && !isDir {
		end := bytes.IndexByte(name, '"')
		if end < 0 || !isBlobName(name[:end]) {
			return b, false
		}
		b = name[end+1:]
	}
	return bytes.CutPrefix(b, []byte("}"))
}

// within yields the entries that lie in a directory itself, "" for the workspace.
func (l *Listing) within(dir string) iter.Seq[Entry] {
	if dir != "" {
		dir += "/"
	}
	return func(yield func(Entry) bool) {
		from, _ := slices.BinarySearchFunc(l.Entries, dir, comparePath)
		rest := l.Entries[from:]
		for len(rest) > 0 {
			name, ok := strings.CutPrefix(rest[0].Path, dir)
			if !ok {
				return
			}
			if slash := strings.IndexByte(name, '/'); slash < 0 {
				if !yield(rest[0]) {
					return
				}
				rest = rest[1:]
			} else {
				below := rest[0].Path[:len(dir)+slash+1]
				rest = rest[sort.Search(len(rest), func(i int) bool { return !strings.HasPrefix(rest[i].Path, below) }):]
			}
		}
	}
}
