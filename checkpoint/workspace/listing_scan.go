package workspace

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"prdrunner/checkpoint/text"
)

// scanFiles parses the object of a directory, in exactly the form that encode writes, and
// calls add for each file. Every command that captures reads a listing first, and a
// general JSON decoder took most of the time. scanFiles returns false for any other form,
// such as a name with an escape; then the caller uses decodeObject and ignores the earlier
// calls of add.
func scanFiles(data string, add func(wireFile) error) (ok bool, err error) {
	s := scanner{rest: data}
	s.skip(`{"files":[`)
	for first := true; !s.bad && !s.has(`]`); first = false {
		if !first {
			s.skip(`,`)
		}
		f := s.file()
		if s.bad {
			break
		}
		if err := add(f); err != nil {
			return true, err
		}
	}
	s.skip("]}\n")
	return !s.bad && s.rest == "", nil
}

// scanner parses text from the beginning of rest.
type scanner struct {
	rest string
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

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.rest, prefix) }

func (s *scanner) skip(prefix string) {
	if s.bad || !s.has(prefix) {
		s.bad = true
		return
	}
	s.rest = s.rest[len(prefix):]
}

// string parses a string without escapes.
func (s *scanner) string() string {
	s.skip(`"`)
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

// number parses a number as encode writes it: digits without leading zeros or a sign.
func (s *scanner) number() int64 {
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
