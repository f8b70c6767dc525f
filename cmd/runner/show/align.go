package show

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// alignColumns writes lines with tabs between their cells as columns, two spaces apart.
// All lines have the same number of cells. With thousands of lines, package tabwriter
// takes most of the time that it takes to show them.
func alignColumns(b *strings.Builder, lines []byte) {
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
