package view

import (
	"regexp"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// minHang is how many columns must be left below the last column of a table, or what is wrapped there
// goes further to the left.
const minHang = 12

// wrapLine divides a line that is wider than some columns at spaces. The lines after the first begin with hang
// spaces. Only a word that is wider than a line is divided itself. The text may be painted.
func wrapLine(line string, columns, hang int) []string {
	if columns <= 0 || painted(line) <= columns {
		return []string{line}
	}
	if columns-hang < minHang {
		hang = max(0, min(4, columns-minHang))
	}
	w := wrapped{columns: columns, hang: strings.Repeat(" ", hang)}
	for _, token := range regexp.MustCompile(` +|[^ ]+`).FindAllString(line, -1) {
		w.add(token)
	}
	return append(w.lines, w.line)
}

// Command adds a command to type. One that is wider than the terminal is divided between its arguments, so
// that a shell still takes it for one.
func (p *Page) Command(indent, command string) {
	const goesOn = " \\"
	line := indent + p.oneLine(command)
	if p.Columns <= 0 || painted(line) <= p.Columns {
		p.WriteString(line + "\n")
		return
	}
	w := wrapped{columns: p.Columns - len(goesOn), hang: indent + "  ", whole: true}
	for _, token := range regexp.MustCompile(` +|(?:\\.|'[^']*'|[^ '\\])+|.`).FindAllString(line, -1) {
		w.add(token)
	}
	p.WriteString(strings.Join(append(w.lines, w.line), goesOn+"\n") + "\n")
}

// painted returns the columns of a text that may be painted.
func painted(text string) int { return displaywidth.String(Clean(text)) }

// wrapped collects the lines into which one is divided.
type wrapped struct {
	columns int
	hang    string
	whole   bool // no word is divided
	lines   []string
	line    string // the current one
	spaces  string // those before the next word
	words   bool   // the current line has a word
}

// add adds spaces, or a word.
func (w *wrapped) add(token string) {
	if strings.HasPrefix(token, " ") {
		w.spaces = token
		return
	}
	begun := painted(w.line + w.spaces)
	fits := w.whole || painted(token) <= w.columns-len(w.hang) // in a line of its own
	if w.words && begun+painted(token) > w.columns && (fits || begun >= w.columns) {
		w.next()
	}
	word := Clean(token)
	paint, end, _ := strings.Cut(token, word)
	w.line += w.spaces + paint
	w.divide(word)
	w.line, w.spaces, w.words = w.line+end, "", true
}

// divide adds a word, of which a part goes into the next line if it is wider than this one.
func (w *wrapped) divide(word string) {
	for !w.whole && painted(w.line+word) > w.columns {
		head := displaywidth.TruncateString(word, max(1, w.columns-painted(w.line)), "")
		if head == "" || head == word { // a character is wider than the line
			break
		}
		w.line, word = w.line+head, word[len(head):]
		w.next()
		w.line = w.spaces
	}
	w.line += word
}

// next begins another line.
func (w *wrapped) next() {
	w.lines = append(w.lines, w.line)
	w.line, w.spaces, w.words = "", w.hang, false
}
