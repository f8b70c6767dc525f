package lsp

import (
	"net/url"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// text is the content of a document, with the places where its lines begin.
type text struct {
	source string
	lines  []int // the offsets of the beginnings of lines
}

func newText(source string) *text {
	t := &text{source: source, lines: []int{0}}
	for i := range len(source) {
		if source[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// offset returns the offset in bytes of a position. A position behind the end of a line is the end.
func (t *text) offset(p position) int {
	if p.Line < 0 || p.Line >= len(t.lines) {
		return len(t.source)
	}
	at, end := t.lines[p.Line], len(t.source)
	if p.Line+1 < len(t.lines) {
		end = t.lines[p.Line+1] - 1
	}
	for units := 0; at < end && units < p.Character; {
		r, size := utf8.DecodeRuneInString(t.source[at:])
		at += size
		units += unitsOf(r)
	}
	return at
}

// position returns the position of an offset.
func (t *text) position(offset int) position {
	offset = min(max(offset, 0), len(t.source))
	line := sort.SearchInts(t.lines, offset+1) - 1
	units := 0
	for _, r := range t.source[t.lines[line]:offset] {
		units += unitsOf(r)
	}
	return position{line, units}
}

// unitsOf returns how many units of UTF-16 a character takes.
func unitsOf(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

func (t *text) span(from, to int) textRange { return textRange{t.position(from), t.position(to)} }

func (t *text) hclRange(r hcl.Range) textRange { return t.span(r.Start.Byte, r.End.Byte) }

// replaced returns the text with a part replaced.
func (t *text) replaced(r textRange, by string) *text {
	from, to := t.offset(r.Start), t.offset(r.End)
	return newText(t.source[:from] + by + t.source[max(from, to):])
}

// pathOf returns the path of a file that a URI names, "" if it names none.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" { // file:///C:/x
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path)
}

// uriOf returns the URI of a file.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
