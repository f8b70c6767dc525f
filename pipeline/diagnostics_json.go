package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// ReportFormat is the version of Report.
const ReportFormat = "1.0"

// Report is a list of diagnostics for programs, in the shape of `terraform validate
// -json`.
type Report struct {
	FormatVersion string             `json:"format_version"`
	Valid         bool               `json:"valid"`
	ErrorCount    int                `json:"error_count"`
	WarningCount  int                `json:"warning_count"`
	Diagnostics   []ReportDiagnostic `json:"diagnostics"`
}

// ReportDiagnostic is one diagnostic of a Report.
type ReportDiagnostic struct {
	Severity string         `json:"severity"` // error or warning
	Code     string         `json:"code"`     // derived from the summary, such as invalid-duration
	Summary  string         `json:"summary"`
	Detail   string         `json:"detail"`
	Range    *ReportRange   `json:"range,omitempty"`
	Snippet  *ReportSnippet `json:"snippet,omitempty"`
}

// ReportRange is a part of a file, the end exclusive.
type ReportRange struct {
	Filename string         `json:"filename"`
	Start    ReportPosition `json:"start"`
	End      ReportPosition `json:"end"`
}

// ReportPosition is a place in a file. Line and column count from 1, bytes
// from 0.
type ReportPosition struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// ReportSnippet is the source at the start of a range.
type ReportSnippet struct {
	Context              *string       `json:"context"` // the block, null at file level
	Code                 string        `json:"code"`
	StartLine            int           `json:"start_line"`
	HighlightStartOffset int           `json:"highlight_start_offset"` // in characters of Code
	HighlightEndOffset   int           `json:"highlight_end_offset"`
	Values               []ReportValue `json:"values"`
}

// ReportValue describes the value of a reference in an expression that failed.
type ReportValue struct {
	Traversal string `json:"traversal"`
	Statement string `json:"statement"`
}

// DiagnosticsJSON returns a report of diagnostics. Files maps file names to their
// contents.
func DiagnosticsJSON(files map[string][]byte, diags hcl.Diagnostics) Report {
	src := newSources(files)
	report := Report{FormatVersion: ReportFormat, Diagnostics: []ReportDiagnostic{}}
	for _, diag := range ordered(diags) {
		item := ReportDiagnostic{Severity: "error", Code: diagnosticCode(diag), Summary: diag.Summary, Detail: diag.Detail}
		if diag.Severity == hcl.DiagWarning {
			item.Severity = "warning"
			report.WarningCount++
		} else {
			report.ErrorCount++
		}
		if diag.Subject != nil {
			item.Range = reportRange(*diag.Subject)
			item.Snippet = reportSnippet(src, diag)
		}
		report.Diagnostics = append(report.Diagnostics, item)
	}
	report.Valid = report.ErrorCount == 0
	return report
}

func reportRange(rng hcl.Range) *ReportRange {
	position := func(p hcl.Pos) ReportPosition { return ReportPosition{Line: p.Line, Column: p.Column, Byte: p.Byte} }
	return &ReportRange{Filename: rng.Filename, Start: position(rng.Start), End: position(rng.End)}
}

func reportSnippet(src *sources, diag *hcl.Diagnostic) *ReportSnippet {
	s, ok := src.snippet(*diag.Subject)
	if !ok {
		return nil
	}
	item := &ReportSnippet{
		Code:                 s.code,
		StartLine:            diag.Subject.Start.Line,
		HighlightStartOffset: utf8.RuneCountInString(s.code[:s.start]),
		HighlightEndOffset:   utf8.RuneCountInString(s.code[:s.end]),
		Values:               valuesOf(diag),
	}
	if block := src.blockAt(*diag.Subject); block != "" {
		item.Context = &block
	}
	return item
}

// valuesOf describes the values that a failed expression refers to. It leaves out
// unknown and sensitive values.
func valuesOf(diag *hcl.Diagnostic) []ReportValue {
	values := []ReportValue{}
	if diag.Expression == nil || diag.EvalContext == nil {
		return values
	}
	for _, traversal := range diag.Expression.Variables() {
		value, diags := traversal.TraverseAbs(diag.EvalContext)
		if diags.HasErrors() || !value.IsWhollyKnown() || value.ContainsMarked() {
			continue
		}
		item := ReportValue{Traversal: traversalText(traversal), Statement: "is " + valueText(value)}
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
		name, _ := stepName(step)
		if _, isAttr := step.(hcl.TraverseAttr); isAttr {
			text.WriteString("." + name)
		} else {
			text.WriteString("[" + strconv.Quote(name) + "]")
		}
	}
	return text.String()
}

// valueText describes a known value in a few words.
func valueText(value cty.Value) string {
	typ := value.Type()
	switch {
	case value.IsNull():
		return "null"
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
