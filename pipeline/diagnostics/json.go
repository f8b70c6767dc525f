package diagnostics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// formatVersion is the version of Report.
const formatVersion = "1.0"

// Report is a list of diagnostics for programs, in the shape of `terraform validate
// -json`.
type Report struct {
	FormatVersion string       `json:"format_version"`
	Valid         bool         `json:"valid"`
	ErrorCount    int          `json:"error_count"`
	WarningCount  int          `json:"warning_count"`
	Diagnostics   []Diagnostic `json:"diagnostics"`
}

// Diagnostic is one diagnostic of a Report.
type Diagnostic struct {
	Severity string   `json:"severity"` // error or warning
	Code     string   `json:"code"`     // derived from the summary, such as invalid-duration
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail"`
	Explain  string   `json:"explain"` // the command that says more
	Range    *Range   `json:"range,omitempty"`
	Snippet  *Snippet `json:"snippet,omitempty"`
}

// Range is a part of a file, the end exclusive.
type Range struct {
	Filename string   `json:"filename"`
	Start    Position `json:"start"`
	End      Position `json:"end"`
}

// Position is a place in a file. Line and column count from 1, bytes
// from 0.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Snippet is the source at the start of a range.
type Snippet struct {
	Context              *string `json:"context"` // the block, null at file level
	Code                 string  `json:"code"`
	StartLine            int     `json:"start_line"`
	HighlightStartOffset int     `json:"highlight_start_offset"` // in characters of Code
	HighlightEndOffset   int     `json:"highlight_end_offset"`
	Values               []Value `json:"values"`
}

// Value describes the value of a reference in an expression that failed.
type Value struct {
	Traversal string `json:"traversal"`
	Statement string `json:"statement"`
}

// NewReport returns a report of diagnostics. Files maps file names to their
// contents.
func NewReport(files map[string][]byte, diags hcl.Diagnostics) Report {
	src := newSources(files)
	report := Report{FormatVersion: formatVersion, Diagnostics: []Diagnostic{}}
	for _, diag := range ordered(diags) {
		item := Diagnostic{Severity: "error", Code: Code(diag.Summary), Summary: diag.Summary, Detail: diag.Detail}
		item.Explain = "runner explain " + item.Code
		if diag.Severity == hcl.DiagWarning {
			item.Severity = "warning"
			report.WarningCount++
		} else {
			report.ErrorCount++
		}
		if diag.Subject != nil {
			item.Range = newRange(*diag.Subject)
			item.Snippet = newSnippet(src, diag)
		}
		report.Diagnostics = append(report.Diagnostics, item)
	}
	report.Valid = report.ErrorCount == 0
	return report
}

func newRange(rng hcl.Range) *Range {
	position := func(p hcl.Pos) Position { return Position{Line: p.Line, Column: p.Column, Byte: p.Byte} }
	return &Range{Filename: rng.Filename, Start: position(rng.Start), End: position(rng.End)}
}

func newSnippet(src *sources, diag *hcl.Diagnostic) *Snippet {
	s, ok := src.excerpt(*diag.Subject)
	if !ok {
		return nil
	}
	item := &Snippet{
		Code:                 s.code,
		StartLine:            diag.Subject.Start.Line,
		HighlightStartOffset: utf8.RuneCountInString(s.code[:s.start]),
		HighlightEndOffset:   utf8.RuneCountInString(s.code[:s.end]),
		Values:               Values(diag, nil),
	}
	if block := src.blockAt(*diag.Subject); block != "" {
		item.Context = &block
	}
	return item
}

// Values describes the values that a failed expression refers to. It leaves out unknown and
// sensitive values. mask changes each text before it is cut and quoted; nil leaves texts as they are.
func Values(diag *hcl.Diagnostic, mask func(string) string) []Value {
	values := []Value{}
	if diag.Expression == nil || diag.EvalContext == nil {
		return values
	}
	for _, traversal := range diag.Expression.Variables() {
		value, diags := traversal.TraverseAbs(diag.EvalContext)
		if diags.HasErrors() || !value.IsWhollyKnown() || value.ContainsMarked() {
			continue
		}
		item := Value{Traversal: traversalText(traversal), Statement: "is " + valueText(value, mask)}
		if !slices.Contains(values, item) {
			values = append(values, item)
		}
	}
	return values
}

func traversalText(traversal hcl.Traversal) string {
	var text strings.Builder
	text.WriteString(traversal.RootName())
	for _, step := range traversal[1:] {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			text.WriteString("." + step.Name)
		case hcl.TraverseIndex:
			text.WriteString("[" + strconv.Quote(keyText(step.Key)) + "]")
		}
	}
	return text.String()
}

func keyText(key cty.Value) string {
	switch {
	case key.IsNull() || !key.IsKnown():
		return ""
	case key.Type() == cty.String:
		return key.AsString()
	case key.Type() == cty.Number:
		return key.AsBigFloat().Text('f', -1)
	}
	return ""
}

// valueText describes a known value in a few words.
func valueText(value cty.Value, mask func(string) string) string {
	typ := value.Type()
	switch {
	case value.IsNull():
		return "null"
	case typ == cty.String && mask != nil:
		return strconv.Quote(shortened(mask(value.AsString())))
	case typ == cty.String:
		return strconv.Quote(shortened(value.AsString()))
	case typ == cty.Number:
		return value.AsBigFloat().Text('g', 10)
	case typ == cty.Bool:
		return strconv.FormatBool(value.True())
	case typ.IsObjectType():
		return fmt.Sprintf("object with %d attributes", len(typ.AttributeTypes()))
	case value.CanIterateElements():
		return fmt.Sprintf("%s with %d elements", typ.FriendlyName(), value.LengthInt())
	}
	return typ.FriendlyName()
}

func shortened(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}
