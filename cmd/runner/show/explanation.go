package show

import (
	"fmt"
	"io"
	"strings"

	wordwrap "github.com/mitchellh/go-wordwrap"

	"prdrunner/cmd/runner/explain"
)

// readableWidth is the longest line of a text for people, in columns.
const readableWidth = 90

// Explanation prints what there is to say about a word. A width of 0 is that of no terminal.
func Explanation(w io.Writer, name string, topics []explain.Topic, width int) error {
	var b strings.Builder
	for i, t := range topics {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s (%s)\n\n%s\n", name, t.Kind, wrap(t.Headline, width, ""))
		if t.Body != "" {
			b.WriteString("\n")
			printMarkdown(&b, t.Body, width, nil)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap wraps a text at a width, but not beyond readableWidth, and indents each line. It does
// not break what stands between backquotes, so that a command can be copied.
func wrap(text string, width int, indent string) string {
	if width <= 0 || width > readableWidth {
		width = readableWidth
	}
	const unbroken = "\u00a0"
	parts := strings.Split(text, "`")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], " ", unbroken)
	}
	lines := wordwrap.WrapString(strings.Join(parts, "`"), uint(max(20, width-len(indent))))
	return indent + strings.ReplaceAll(strings.ReplaceAll(lines, unbroken, " "), "\n", "\n"+indent)
}

// Explanations lists all that `runner explain` knows.
func Explanations(w io.Writer, sections []explain.Section, width int) error {
	var b strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&b, "%s\n\n", s.Heading)
		for _, t := range s.Topics {
			named(&b, strings.Join(t.Names, ", "), t.Headline, width)
		}
		b.WriteString("\n")
	}
	b.WriteString("`runner explain NAME` says more.\n")
	_, err := io.WriteString(w, b.String())
	return err
}
