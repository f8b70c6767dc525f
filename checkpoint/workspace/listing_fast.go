package workspace

import (
	"bytes"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"prdrunner/checkpoint/text"
)

// scanFiles parses the object of a directory, in exactly the form that encode writes, and
// calls add for each file. Every command that captures reads a listing first, and a
// general JSON decoder took most of the time. scanFiles returns false for any other form,
// such as a name with an escape. Then the caller must use decodeObject and ignore the
// earlier calls of add.
func scanFiles(data string, add func(wireFile) error) (ok bool, err error) {
	s := scanner{rest: data}
	s.expect(`{"files":[`)
	for first := true; !s.bad && !s.hasPrefix(`]`); first = false {
		if !first {
			s.expect(`,`)
		}
		f := s.parseFile()
		if s.bad {
			break
		}
		if err := add(f); err != nil {
			return true, err
		}
	}
	s.expect("]}\n")
	return !s.bad && s.rest == "", nil
}

// scanner parses text from the beginning of rest.
type scanner struct {
	rest string
	bad  bool
}

func (s *scanner) parseFile() (f wireFile) {
	s.expect(`{"name":`)
	f.Name = text.Text(s.parseString())
	s.expect(`,"mode":`)
	f.Mode = s.parseString()
	s.expect(`,"size":`)
	f.Size = s.parseNumber()
	if s.hasPrefix(`,"digest":`) {
		s.expect(`,"digest":`)
		f.Digest = s.parseString()
	}
	if s.hasPrefix(`,"blob":`) {
		s.expect(`,"blob":`)
		f.Blob = s.parseString()
	}
	s.expect(`}`)
	return f
}

func (s *scanner) hasPrefix(prefix string) bool { return strings.HasPrefix(s.rest, prefix) }

func (s *scanner) expect(prefix string) {
	if s.bad || !s.hasPrefix(prefix) {
		s.bad = true
		return
	}
	s.rest = s.rest[len(prefix):]
}

// parseString parses a string without escapes.
func (s *scanner) parseString() string {
	s.expect(`"`)
	end := strings.IndexByte(s.rest, '"')
	if s.bad || end < 0 {
		s.bad = true
		return ""
	}
	value := s.rest[:end]
	s.rest = s.rest[end+1:]
	if !isPlain(value) {
		s.bad = true
	}
	return value
}

// isPlain reports whether JSON has the string without escapes.
func isPlain(value string) bool {
	ascii := true
	for i := range len(value) {
		b := value[i]
		if b < ' ' || b == '\\' {
			return false
		}
		ascii = ascii && b < utf8.RuneSelf
	}
	return ascii || utf8.ValidString(value)
}

// parseNumber parses a number as encode writes it: digits without leading zeros or a sign.
func (s *scanner) parseNumber() int64 {
	end := 0
	for end < len(s.rest) && s.rest[end] >= '0' && s.rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(s.rest[:end], 10, 64)
	if err != nil || end > 1 && s.rest[0] == '0' {
		s.bad = true
	}
	s.rest = s.rest[end:]
	return n
}

// Most directories have not changed since the last listing. The object of such a directory
// is equal to the encoding of its files now, except for the blobs, so that it need not be
// decoded.

// equalsDir reports whether data, the object of the directory, equals the encoding of the
// directory's files in l, apart from their blobs. A nil listing has no files.
func (d *wireDir) equalsDir(data []byte, l *Listing) bool {
	if l == nil || d.sparse {
		return false
	}
	rest, ok := bytes.CutPrefix(data, []byte(`{"files":[`))
	if !ok {
		return false
	}
	var want []byte
	files, size := 0, int64(0)
	for e := range l.entriesIn(string(d.Path)) {
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
		if rest, ok = cutBlob(rest, e.IsDir()); !ok {
			return false
		}
		files++
		size += e.Size
	}
	return string(rest) == "]}\n" && files == d.Files && size == d.Bytes
}

// appendWire appends the entry as encode writes it, up to its blob. It returns false if
// JSON would escape the name.
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

// cutBlob cuts the end of a file's encoding from the beginning of b: the blob, if there is
// one, and the brace. A directory has no blob.
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

// entriesIn yields the entries directly in a directory; "" is the workspace.
func (l *Listing) entriesIn(dir string) iter.Seq[Entry] {
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
