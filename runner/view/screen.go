package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Control sequences of terminals (ECMA-48). A terminal that does not know synchronized output
// ignores it.
const (
	beginFrame = "\x1b[?2026h" // show nothing until endFrame
	endFrame   = "\x1b[?2026l"
	eraseRight = "\x1b[K" // from the cursor to the end of the line
	eraseBelow = "\x1b[J" // from the cursor to the end of the screen
)

// screen is the lower end of a terminal: lines that are drawn again and again, below text that
// stays. The cursor is at the end of the last line that was drawn.
type screen struct {
	out   *output
	drawn []row // on the screen
	width int   // of the terminal when they were drawn
}

// update prints text above the lines, which replace those on the screen. It writes nothing if
// nothing has changed. The text must end with a newline, and a line must be narrower than
// the terminal, which has width columns.
func (s *screen) update(text string, lines []row, width int) {
	if text == "" && width == s.width && s.shows(lines) {
		return
	}
	var b strings.Builder
	b.WriteString(beginFrame)
	b.WriteString(s.toTop(width))
	if text != "" || width != s.width { // another width may have moved what was drawn
		b.WriteString(eraseBelow)
		b.WriteString(text)
	}
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(eraseRight)
		b.WriteString(l.text)
	}
	if text == "" && len(lines) < len(s.drawn) {
		b.WriteString(eraseBelow)
	}
	b.WriteString(endFrame)
	s.drawn, s.width = lines, width
	_, _ = s.out.Write([]byte(b.String())) // Err returns the error
}

// shows reports whether the lines are on the screen already.
func (s *screen) shows(lines []row) bool { return slices.Equal(lines, s.drawn) }

// toTop moves the cursor to the beginning of the first line that was drawn. A terminal that has
// become narrower since has broken the lines.
func (s *screen) toTop(width int) string {
	rows := 0
	for _, l := range s.drawn {
		rows += max(1, (l.columns+width-1)/width)
	}
	if rows <= 1 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", rows-1)
}

// row is one line of the live part of a screen, with the columns that it takes.
type row struct {
	text    string
	columns int
}

// rowWriter writes a row that is cut where the terminal ends.
type rowWriter struct {
	page  Page
	width int // the columns of the terminal
	used  int
	gap   int // the columns that stay free before the next text
	cut   bool
}

// add adds text, as far as there is room. Where something was cut, nothing more is added.
func (w *rowWriter) add(s Style, text string) {
	if text == "" || w.cut {
		return
	}
	text, w.gap = strings.Repeat(" ", w.gap)+OneLine(text), 0
	if room := w.room(); displaywidth.String(text) > room {
		text, w.cut = cut(text, room), true
	}
	w.used += displaywidth.String(text)
	w.page.WriteString(string(w.page.Paint(s, text)))
}

// cut shortens a text to a number of columns, and marks that.
func cut(text string, columns int) string {
	if columns <= 0 {
		return ""
	}
	return displaywidth.TruncateString(text, columns, "…")
}

// room returns the number of columns that are left.
func (w *rowWriter) room() int { return w.width - 1 - w.used }

// to moves to a column, where the next text begins.
func (w *rowWriter) to(column int) { w.gap = max(0, column-w.used) }

// row returns what was written.
func (w *rowWriter) row() row { return row{w.page.String(), w.used} }
