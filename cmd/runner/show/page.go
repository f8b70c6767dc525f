package show

import (
	"bytes"
	"io"
	"regexp"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// page collects an answer for people, and writes it at once. All answers look alike: a title,
// facts, and sections with a heading. Printf, of view.Page, paints; what is written otherwise is
// made harmless, as Screen does it.
type page struct {
	*view.Page
	to    io.Writer
	clean io.Writer // writes to Page
}

// newPage returns an empty page that end writes to w. It has colours if w is a Screen that has.
func newPage(w io.Writer) *page {
	p := &page{Page: view.NewPage(false, nil), to: w}
	s, ok := w.(*Screen)
	if ok && s.Color {
		p.Page = view.NewPage(true, s.neutralizer())
	}
	if ok {
		p.Columns = s.Width()
	}
	p.clean = view.NewRevealer(&p.Buffer)
	return p
}

// Write implements io.Writer.
func (p *page) Write(b []byte) (int, error) { return p.clean.Write(b) }

// WriteString writes a text as Write does. A page does not fail.
func (p *page) WriteString(s string) { _, _ = p.Write([]byte(s)) }

// title writes what the answer is about, after a mark, which may be "".
func (p *page) title(mark, text string) {
	if mark != "" {
		mark += " "
	}
	p.Printf("%s%s\n", mark, p.Paint(view.Bold, text))
}

// fact returns a fact without a style.
func fact(name, value string) info.Fact { return info.Fact{Name: name, Value: value} }

// factIn returns a fact with a style.
func factIn(style view.Style, name, value string) info.Fact {
	return info.Fact{Name: name, Value: value, Style: style}
}

// facts writes facts below each other. Those without a value are left out.
func (p *page) facts(list ...info.Fact) { p.factsBelow("  ", list...) }

// factsBelow writes facts with the given indentation.
func (p *page) factsBelow(indent string, list ...info.Fact) {
	var rows [][]view.Cell
	for _, f := range list {
		if f.Value != "" {
			rows = append(rows, []view.Cell{{Text: f.Name + ":"}, {Text: f.Value, Style: f.Style}})
		}
	}
	p.Table(indent, rows)
}

// heading begins a section.
func (p *page) heading(text string) { p.Printf("\n%s\n", p.Paint(view.Bold, text+":")) }

// commands lists commands to type next, each with its purpose, which stands below if there is no
// room beside the commands.
func (p *page) commands(cmdline advice.CommandLine, list ...advice.Suggestion) {
	rows := make([][]view.Cell, len(list))
	commands, purposes := 0, 0 // their widths
	for i, s := range list {
		command := cmdline.Command(s.Command)
		rows[i] = []view.Cell{{Text: command}, {Text: s.Purpose, Style: view.Dim}}
		commands, purposes = max(commands, displaywidth.String(command)), max(purposes, displaywidth.String(s.Purpose))
	}
	if p.Columns <= 0 || 2+commands+2+purposes <= p.Columns {
		p.Table("  ", rows)
		return
	}
	for _, row := range rows {
		p.Command("  ", row[0].Text)
		p.Table("      ", [][]view.Cell{row[1:]})
	}
}

// styleOfMark returns the style of a text that begins with a mark.
func styleOfMark(text string) view.Style {
	switch {
	case strings.HasPrefix(text, "✓"), strings.HasPrefix(text, "←"):
		return view.Green
	case strings.HasPrefix(text, "✗"):
		return view.Red
	case strings.HasPrefix(text, "!"), strings.HasPrefix(text, "?"):
		return view.Yellow
	}
	return view.None
}

// paintMarks paints the marks at the beginnings of lines.
func (p *page) paintMarks() []byte {
	mark := regexp.MustCompile(`(?m)^( *(?:- )?)([✓✗!]) `)
	return mark.ReplaceAllFunc(p.Bytes(), func(found []byte) []byte {
		symbol := strings.Trim(string(found), "- ")
		return []byte(strings.Replace(string(found), symbol, string(p.Paint(styleOfMark(symbol), symbol)), 1))
	})
}

// rows returns how many rows of a screen with some columns the page takes; 0: a line is never too long.
func (p *page) rows(columns int) int {
	n := 0
	for line := range bytes.Lines(p.Bytes()) {
		n++
		if width := displaywidth.String(view.Clean(string(line))); columns > 0 && width > columns {
			n += (width - 1) / columns
		}
	}
	return n
}

// end writes the page.
func (p *page) end() error {
	var err error
	if s, ok := p.to.(*Screen); ok && s.Color {
		err = s.writePainted(p.paintMarks())
	} else {
		_, err = p.to.Write(p.Bytes())
	}
	return err
}
