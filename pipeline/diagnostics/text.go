package diagnostics

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	wordwrap "github.com/mitchellh/go-wordwrap"
)

const (
	styleError     = "\x1b[1;31m"
	styleWarning   = "\x1b[1;33m"
	styleHighlight = "\x1b[4m"
	styleReset     = "\x1b[0m"
)

// WriteText writes diagnostics for people: the severity, the summary, the place
// with its block, the source with the mistake marked, and what to do. Files maps file
// names to their contents. For a file that is missing there, only the place is shown. A
// width of 0 does not wrap lines.
func WriteText(w io.Writer, files map[string][]byte, diags hcl.Diagnostics, width int, color bool) error {
	out := bufio.NewWriter(w)
	t := &textWriter{out: out, sources: newSources(files), width: width, color: color}
	for i, diag := range ordered(diags) {
		if i > 0 {
			t.printf("\n")
		}
		t.diagnostic(diag)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write diagnostics: %w", err)
	}
	return nil
}

type textWriter struct {
	out     *bufio.Writer // its errors surface in Flush
	sources *sources
	width   int
	color   bool
}

func (t *textWriter) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(t.out, format, args...)
}

func (t *textWriter) styled(style, text string) string {
	if !t.color || text == "" {
		return text
	}
	return style + text + styleReset
}

func (t *textWriter) diagnostic(diag *hcl.Diagnostic) {
	severity := t.styled(styleError, "Error")
	if diag.Severity == hcl.DiagWarning {
		severity = t.styled(styleWarning, "Warning")
	}
	t.printf("%s: %s [%s]\n", severity, neutral(diag.Summary), Code(diag.Summary))
	if diag.Subject != nil {
		t.printf("\n")
		t.snippet(diag)
	}
	if values := Values(diag, nil); len(values) > 0 {
		t.printf("\n")
		for i, v := range values {
			prefix := "    "
			if i > 0 {
				prefix = "         "
			} else {
				prefix += "with "
			}
			t.printf("%s%s\n", prefix, neutral(v.Traversal+" "+v.Statement))
		}
	}
	if diag.Detail != "" {
		t.printf("\n%s\n", t.wrapped(neutral(diag.Detail)))
	}
}

func (t *textWriter) wrapped(text string) string {
	if t.width <= 0 {
		return text
	}
	return wordwrap.WrapString(text, uint(t.width))
}

// snippet shows the lines of the subject, its first line marked.
func (t *textWriter) snippet(diag *hcl.Diagnostic) {
	place := fmt.Sprintf("  on %s line %d", neutral(diag.Subject.Filename), diag.Subject.Start.Line)
	if block := t.sources.blockAt(*diag.Subject); block != "" {
		place += ", in " + neutral(block)
	}
	s, ok := t.sources.excerpt(*diag.Subject)
	if !ok {
		t.printf("%s\n", place)
		return
	}
	t.printf("%s:\n", place)
	before, marked, after := s.code[:s.start], s.code[s.start:s.end], s.code[s.end:]
	t.printf("%4d: %s%s%s\n", diag.Subject.Start.Line, neutral(before), t.styled(styleHighlight, neutral(marked)), neutral(after))
	if !t.color {
		// Without colour, the mark stands on a line of its own.
		indent := strings.Repeat(" ", utf8.RuneCountInString(neutral(before)))
		t.printf("      %s%s\n", indent, strings.Repeat("^", max(1, utf8.RuneCountInString(neutral(marked)))))
	}
}

// neutral replaces characters that could control a terminal, and shows tabs as two
// spaces.
func neutral(text string) string {
	text = strings.ReplaceAll(text, "\t", "  ")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\u200d': // U+200D joins characters into one that is displayed, such as an emoji
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			return utf8.RuneError
		}
		return r
	}, text)
}
