package workspace

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"prdrunner/checkpoint/text"
)

// scanFiles reads the object of a directory in the form in which encode writes
// it. A listing is read at the start of every command that captures, and most
// of that time went into reading JSON of any form. It is not ok for anything
// else, as a name with an escape, which decodeObject reads or refuses.
func scanFiles(data []byte, count int) (files []wireFile, ok bool) {
	s := scanner{rest: data}
	s.skip(`{"files":[`)
	// The count is not ours: no more room than the bytes could fill.
	files = make([]wireFile, 0, min(count, len(data)/len(`{"name":"","mode":"","size":0}`)))
	for !s.bad && !s.has(`]`) {
		if len(files) > 0 {
			s.skip(`,`)
		}
		files = append(files, s.file())
	}
	s.skip("]}\n")
	return files, !s.bad && len(s.rest) == 0
}

// scanner takes parts off the beginning of what is left.
type scanner struct {
	rest []byte
	bad  bool
}

func (s *scanner) file() (f wireFile) {
	s.skip(`{"name":`)
	f.Name = text.Text(s.string())
	s.skip(`,"mode":`)
	f.Mode = s.string()
	s.skip(`,"size":`)
	f.Size = s.number()
	if s.has(`,"digest":`) {
		s.skip(`,"digest":`)
		f.Digest = s.string()
	}
	if s.has(`,"blob":`) {
		s.skip(`,"blob":`)
		f.Blob = s.string()
	}
	s.skip(`}`)
	return f
}

func (s *scanner) has(prefix string) bool {
	return len(s.rest) >= len(prefix) && string(s.rest[:len(prefix)]) == prefix
}

func (s *scanner) skip(prefix string) {
	if s.bad || !s.has(prefix) {
		s.bad = true
		return
	}
	s.rest = s.rest[len(prefix):]
}

// string takes a string without an escape.
func (s *scanner) string() string {
	s.skip(`"`)
	end := bytes.IndexByte(s.rest, '"')
	if s.bad || end < 0 {
		s.bad = true
		return ""
	}
	value := s.rest[:end]
	s.rest = s.rest[end+1:]
	if !isPlain(value) {
		s.bad = true
	}
	return string(value)
}

// isPlain reports whether JSON has the bytes of a string as they are.
func isPlain(value []byte) bool {
	ascii := true
	for _, b := range value {
		if b < ' ' || b == '\\' {
			return false
		}
		ascii = ascii && b < utf8.RuneSelf
	}
	return ascii || utf8.Valid(value)
}

// number takes a number as encode writes it: digits, and nothing before them.
func (s *scanner) number() int64 {
	end := 0
	for end < len(s.rest) && s.rest[end] >= '0' && s.rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(string(s.rest[:end]), 10, 64)
	if err != nil || end > 1 && s.rest[0] == '0' {
		s.bad = true
	}
	s.rest = s.rest[end:]
	return n
}
