package page

import (
	"html/template"
	"regexp"
	"strings"
	"unicode/utf8"

	"prdrunner/runner/view"
)

// Painted returns HTML that shows what a command printed in the colours of the command. Anything else in the text that
// controls a terminal has no effect.
func Painted(text string) template.HTML {
	var p Painter
	return p.Paint(text) + p.show(p.rest)
}

// Painter paints a text that comes in pieces. The zero value is ready to use.
type Painter struct {
	classes string // of what comes next
	rest    string // the end of the last piece, if the next one continues a character or a control sequence
}

// Paint returns HTML for a piece, as Painted does for a text.
func (p *Painter) Paint(piece string) template.HTML {
	text := p.rest + piece
	whole := wholeUpTo(text)
	p.rest = text[whole:]
	return p.show(text[:whole])
}

// longestSequence bounds how long the end of a control sequence is waited for.
const longestSequence = 32

// wholeUpTo returns where the last character or control sequence of a text begins, if its end is missing; otherwise the end.
func wholeUpTo(text string) int {
	end := len(text)
	if at := strings.LastIndexByte(text, '\x1b'); at >= 0 && end-at < longestSequence && !regexp.MustCompile("^\x1b(\\[[0-9;?]*[@-~]|[^\\[])").MatchString(text[at:]) {
		return at
	}
	for at := end - 1; at >= 0 && end-at < utf8.UTFMax; at-- {
		if utf8.RuneStart(text[at]) {
			if !utf8.FullRuneInString(text[at:]) {
				return at
			}
			break
		}
	}
	return end
}

func (p *Painter) show(text string) template.HTML {
	var b strings.Builder
	at := 0
	write := func(part string) {
		part = template.HTMLEscapeString(view.Clean(part))
		if p.classes != "" && part != "" {
			part = `<span class="` + p.classes + `">` + part + "</span>"
		}
		b.WriteString(part)
	}
	for _, m := range regexp.MustCompile("\x1b\\[([0-9;]*)m").FindAllStringSubmatchIndex(text, -1) {
		write(text[at:m[0]])
		at = m[1]
		for code := range strings.SplitSeq(text[m[2]:m[3]], ";") {
			p.classes = addClass(p.classes, view.Style(code))
		}
	}
	write(text[at:])
	return template.HTML(b.String()) //nolint:gosec // each part of the text is escaped
}

// addClass adds the class that shows a style to some classes. Without a style, none is left.
func addClass(classes string, style view.Style) string {
	class := ""
	switch style {
	case view.None, "0":
		return ""
	case view.Bold:
		class = "bold"
	case view.Dim:
		class = "dim"
	case view.Red:
		class = "bad"
	case view.Green:
		class = "ok"
	case view.Yellow:
		class = "wait"
	}
	return strings.TrimSpace(classes + " " + class)
}
