package pipeline

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	wordwrap "github.com/mitchellh/go-wordwrap"
)

const (
	styleError     = "\x1b[1;31m"
	styleWarning   = "\x1b[1;33m"
	styleHighlight = "\x1b[4m"
	styleReset     = "\x1b[0m"
)

// WriteDiagnostics writes diagnostics for people: the severity, the summary, the place
// with its block, the source with the mistake marked, and what to do. Files maps file
// names to their contents. For a file that is missing there, only the place is shown. A
// width of 0 does not wrap lines.
func WriteDiagnostics(w io.Writer, files map[string][]byte, diags hcl.Diagnostics, width int, color bool) error {
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

// ordered sorts diagnostics by place: files in the order of their first diagnostic, then
// by line. Diagnostics without a place come first. Duplicates are left out; they arise
// when callers join the diagnostics of Parse and Pipeline, or those of several pipelines
// that include the same file.
func ordered(diags hcl.Diagnostics) hcl.Diagnostics {
	type mistake struct {
		severity        hcl.DiagnosticSeverity
		summary, detail string
		place           hcl.Range
	}
	seen := make(map[mistake]bool, len(diags))
	var kept hcl.Diagnostics
	for _, diag := range diags {
		if diag == nil {
			continue
		}
		m := mistake{severity: diag.Severity, summary: diag.Summary, detail: diag.Detail}
		if diag.Subject != nil {
			m.place = *diag.Subject
		}
		if !seen[m] {
			seen[m] = true
			kept = append(kept, diag)
		}
	}
	files := map[string]int{}
	place := func(diag *hcl.Diagnostic) (file, offset int) {
		if diag.Subject == nil {
			return 0, 0
		}
		if files[diag.Subject.Filename] == 0 {
			files[diag.Subject.Filename] = len(files) + 1
		}
		return files[diag.Subject.Filename], diag.Subject.Start.Byte
	}
	for _, diag := range kept {
		place(diag) // numbers the files
	}
	slices.SortStableFunc(kept, func(a, b *hcl.Diagnostic) int {
		fileA, offsetA := place(a)
		fileB, offsetB := place(b)
		return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(offsetA, offsetB))
	})
	return kept
}

// diagnosticCode returns the stable identifier of a diagnostic: its summary in lower
// case, with dashes. Programs compare it, and people search for it.
func diagnosticCode(diag *hcl.Diagnostic) string {
	words := strings.FieldsFunc(strings.ToLower(diag.Summary), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	})
	return strings.Join(words, "-")
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
	t.printf("%s: %s [%s]\n", severity, neutral(diag.Summary), diagnosticCode(diag))
	if diag.Subject != nil {
		t.printf("\n")
		t.snippet(diag)
	}
	if values := valuesOf(diag); len(values) > 0 {
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
	s, ok := t.sources.snippet(*diag.Subject)
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

// sources are the files that diagnostics point into.
type sources struct {
	files  map[string][]byte
	parsed map[string]*hclsyntax.Body
}

func newSources(files map[string][]byte) *sources {
	return &sources{files: files, parsed: map[string]*hclsyntax.Body{}}
}

// snippet is the first line of a range, and the part of the line that the range covers.
type snippet struct {
	code       string
	start, end int // in bytes
}

func (s *sources) snippet(rng hcl.Range) (snippet, bool) {
	src, ok := s.files[rng.Filename]
	if !ok || rng.Start.Byte < 0 || rng.Start.Byte > len(src) {
		return snippet{}, false
	}
	begin := bytes.LastIndexByte(src[:rng.Start.Byte], '\n') + 1
	line := src[begin:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	start := min(rng.Start.Byte-begin, len(line))
	end := min(max(rng.End.Byte-begin, start), len(line))
	return snippet{code: string(line), start: start, end: end}, true
}

// blockAt names the innermost block around a range: workstream "WS1".
func (s *sources) blockAt(rng hcl.Range) string {
	body := s.parsedBody(rng.Filename)
	name := ""
	for body != nil {
		i := slices.IndexFunc(body.Blocks, func(block *hclsyntax.Block) bool { return block.Range().ContainsOffset(rng.Start.Byte) })
		if i < 0 {
			break
		}
		block := body.Blocks[i]
		name = block.Type
		for _, label := range block.Labels {
			name += fmt.Sprintf(" %q", label)
		}
		body = block.Body
	}
	return name
}

func (s *sources) parsedBody(filename string) *hclsyntax.Body {
	if body, done := s.parsed[filename]; done {
		return body
	}
	var body *hclsyntax.Body
	if src, ok := s.files[filename]; ok && tooDeep(src, filename) == nil {
		// Mistakes in the file are ignored: the caller is writing them already.
		if file, _ := hclsyntax.ParseConfig(src, filename, hcl.InitialPos); file != nil {
			body, _ = file.Body.(*hclsyntax.Body)
		}
	}
	s.parsed[filename] = body
	return body
}
