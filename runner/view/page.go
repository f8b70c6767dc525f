package view

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Style holds the parameters of an SGR escape sequence (ANSI).
type Style string

// The styles. A colour has a meaning: green is done, red is failed, and yellow waits or needs
// attention. What matters less, such as work that was reused, is dim.
const (
	None   Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Painted is text that is safe to print unchanged.
type Painted string

// Page collects text to be printed in one write. Its Printf cleans every text argument
// except Painted ones.
type Page struct {
	bytes.Buffer
	// Columns is the width of the terminal that shows the page. Rows of tables that are wider are divided
	// at spaces. 0: rows may have any width.
	Columns int

	color   bool
	neutral func(string) string // for a CI system; nil: it stays as it is
}

// NewPage returns an empty page. neutral changes a text so that a CI system takes no part of it
// for a command; nil changes nothing.
func NewPage(color bool, neutral func(text string) string) *Page {
	return &Page{color: color, neutral: neutral}
}

// oneLine makes a text from outside safe in one line.
func (p *Page) oneLine(text string) string {
	text = OneLine(text)
	if p.neutral != nil {
		text = p.neutral(text)
	}
	return text
}

// Printf adds text to the page. The format is printed unchanged.
func (p *Page) Printf(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case Painted:
		case string:
			args[i] = p.oneLine(a)
		case error:
			args[i] = p.oneLine(a.Error())
		case fmt.Stringer:
			args[i] = p.oneLine(a.String())
		default:
			if v := reflect.ValueOf(a); v.Kind() == reflect.String {
				args[i] = p.oneLine(v.String())
			}
		}
	}
	fmt.Fprintf(&p.Buffer, format, args...)
}

// Line adds a line, as Printf adds text. One that is wider than Columns is divided at spaces, and what follows is
// indented.
func (p *Page) Line(format string, args ...any) { p.line(2, format, args...) }

// line adds a line, and indents what does not fit by some more spaces.
func (p *Page) line(more int, format string, args ...any) {
	before := p.Len()
	p.Printf(format, args...)
	line := string(p.Bytes()[before:])
	p.Truncate(before)
	indent := len(line) - len(strings.TrimLeft(line, " "))
	for _, part := range wrapLine(line, p.Columns, indent+more) {
		p.WriteString(part + "\n")
	}
}

// Paragraph adds the lines of a text, each that is not empty after an indent.
func (p *Page) Paragraph(indent, text string) {
	for _, line := range Lines(text) {
		if line != "" {
			line = indent + line
		}
		p.line(0, "%s", line)
	}
}

// Paint returns a text in one line, cleaned, in a style.
func (p *Page) Paint(s Style, text string) Painted {
	text = p.oneLine(text)
	if !p.color || text == "" || s == None {
		return Painted(text)
	}
	return Painted("\x1b[" + string(s) + "m" + text + "\x1b[0m")
}

// Cell is a cell of a table.
type Cell struct {
	Text  string
	Style Style
}

// gap is the space between two columns of a table.
const gap = "  "

// Table adds rows whose columns begin below each other. Empty cells at the end of a row are left
// out. What does not fit into a row goes on below its last column, if there is room.
func (p *Page) Table(indent string, rows [][]Cell) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displaywidth.String(p.oneLine(c.Text)))
		}
	}
	for _, row := range rows {
		for len(row) > 0 && row[len(row)-1].Text == "" {
			row = row[:len(row)-1]
		}
		line, last := indent, 0
		for i, c := range row {
			if i > 0 {
				line += gap
			}
			last = painted(line)
			line += string(p.Paint(c.Style, c.Text))
			if i < len(row)-1 {
				line += strings.Repeat(" ", widths[i]-displaywidth.String(p.oneLine(c.Text)))
			}
		}
		for _, part := range wrapLine(line, p.Columns, last) {
			p.WriteString(part + "\n")
		}
	}
}
