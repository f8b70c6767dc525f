package page

import (
	"html/template"
	"regexp"
	"strings"

	"prdrunner/runner/view"
)

// painted returns HTML that shows what a command printed in the colours of the command. Anything else in the text that
// controls a terminal has no effect.
func painted(text string) template.HTML {
	var b strings.Builder
	classes, at := "", 0
	write := func(part string) {
		part = template.HTMLEscapeString(view.Clean(part))
		if classes != "" && part != "" {
			part = `<span class="` + classes + `">` + part + "</span>"
		}
		b.WriteString(part)
	}
	for _, m := range regexp.MustCompile("\x1b\\[([0-9;]*)m").FindAllStringSubmatchIndex(text, -1) {
		write(text[at:m[0]])
		at = m[1]
		for code := range strings.SplitSeq(text[m[2]:m[3]], ";") {
			classes = addClass(classes, view.Style(code))
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
