package main

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// align writes lines of as many cells each, between which there are tabs, in columns
// two spaces apart. Where there are thousands of lines, package tabwriter takes most of
// the time that it takes to show them.
func align(b *strings.Builder, lines []byte) {
	var widths []int
	for line := range bytes.Lines(lines) {
		for i := 0; ; i++ {
			cell, rest, more := bytes.Cut(line, []byte("\t"))
			if !more {
				break
			}
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCount(cell)+2)
			line = rest
		}
	}
	for line := range bytes.Lines(lines) {
		for i := 0; ; i++ {
			cell, rest, more := bytes.Cut(line, []byte("\t"))
			b.Write(cell)
			if !more {
				break
			}
			for missing := widths[i] - utf8.RuneCount(cell); missing > 0; missing -= len(blanks) {
				b.WriteString(blanks[:min(missing, len(blanks))])
			}
			line = rest
		}
	}
}

const blanks = "                                "
