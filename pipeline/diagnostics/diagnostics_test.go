package diagnostics

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline"
)

const mistaken = `pipeline "PRD-001" {
  phase "a" {
    workstream "x" {
      for_each = toset(["k"])
      command  = ["make", each.key + 1]
	timeout = "1 m"
    }
  }
}
`

func mistakes(t *testing.T) (*pipeline.File, hcl.Diagnostics) {
	t.Helper()
	f, _ := pipeline.Parse([]byte(mistaken), "PRD-001.hcl")
	_, diags := f.Pipeline(pipeline.Inputs{})
	if len(diags) != 2 {
		t.Fatal(diags)
	}
	return f, diags
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	f, diags := mistakes(t)
	diags = append(diags, diags...) // as from Parse and from Pipeline
	var buf bytes.Buffer
	if err := WriteText(&buf, f.Sources(), diags, 0, false); err != nil {
		t.Fatal(err)
	}
	want := `Error: Invalid operand [invalid-operand]

  on PRD-001.hcl line 5, in workstream "x":
   5:       command  = ["make", each.key + 1]
                                ^^^^^^^^

    with each.key is "k"

Unsuitable value for left operand: a number is required.

Error: Invalid duration [invalid-duration]

  on PRD-001.hcl line 6, in workstream "x":
   6:   timeout = "1 m"
                  ^^^^^

"timeout" cannot be "1 m"; write a positive duration with its unit, such as "90s", "10m" or "1h30m".
`
	if diff := cmp.Diff(want, buf.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWriteTextColor(t *testing.T) {
	t.Parallel()
	f, diags := mistakes(t)
	var buf bytes.Buffer
	if err := WriteText(&buf, f.Sources(), diags[:1], 40, true); err != nil {
		t.Fatal(err)
	}
	got := buf.String()
	for _, want := range []string{styleError + "Error" + styleReset, styleHighlight + `"1 m"` + styleReset} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	_, detail, _ := strings.Cut(got, "\n\n\"timeout\"")
	for line := range strings.Lines(detail) {
		if len(line) > 41 {
			t.Errorf("%q is too long", line)
		}
	}
}

// TestWriteTextNeutral holds that a file can't steer the terminal.
func TestWriteTextNeutral(t *testing.T) {
	t.Parallel()
	src := []byte("x = \"\x1b]0;title\x07\u202e\" # \x1b[2J\n")
	diags := hcl.Diagnostics{{
		Severity: hcl.DiagWarning, Summary: "S\x1b[1m", Detail: "D\x1b[1m",
		Subject: &hcl.Range{Filename: "n\x1b.hcl", Start: hcl.Pos{Line: 1, Column: 1}, End: hcl.Pos{Line: 1, Column: 2, Byte: 1}},
	}}
	var buf bytes.Buffer
	if err := WriteText(&buf, map[string][]byte{"n\x1b.hcl": src}, diags, 0, false); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(buf.String(), "\x1b\x07\u202e") || !strings.HasPrefix(buf.String(), "Warning: S") {
		t.Errorf("%q", buf.String())
	}
}

// TestWriteTextOdd holds that ranges that do not fit the source, or
// have none, do no harm.
func TestWriteTextOdd(t *testing.T) {
	t.Parallel()
	at := func(name string, start, end int) *hcl.Range {
		return &hcl.Range{Filename: name, Start: hcl.Pos{Line: 1, Column: 1, Byte: start}, End: hcl.Pos{Line: 9, Column: 1, Byte: end}}
	}
	diags := hcl.Diagnostics{
		{Severity: hcl.DiagError, Summary: "none"}, {Severity: hcl.DiagError, Summary: "other file", Subject: at("other", 0, 1)},
		{Severity: hcl.DiagError, Summary: "beyond", Subject: at("f", 100, 200)}, {Severity: hcl.DiagError, Summary: "long", Subject: at("f", 2, 200)},
		{Severity: hcl.DiagError, Summary: "backwards", Subject: at("f", 3, 1)}, nil,
	}
	var buf bytes.Buffer
	files := map[string][]byte{"f": []byte("a = 1\nb")}
	if err := WriteText(&buf, files, diags, 0, false); err != nil {
		t.Fatal(err)
	}
	if report := NewReport(files, diags); report.ErrorCount != 5 {
		t.Error(report)
	}
	if err := WriteText(brokenWriter{}, files, diags, 0, false); err == nil {
		t.Error("a failed write must be reported")
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestReport(t *testing.T) {
	t.Parallel()
	f, diags := mistakes(t)
	data, err := json.MarshalIndent(NewReport(f.Sources(), diags[:1]), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "format_version": "1.0",
  "valid": false,
  "error_count": 1,
  "warning_count": 0,
  "diagnostics": [
    {
      "severity": "error",
      "code": "invalid-duration",
      "summary": "Invalid duration",
      "detail": "\"timeout\" cannot be \"1 m\"; write a positive duration with its unit, such as \"90s\", \"10m\" or \"1h30m\".",
      "explain": "runner explain invalid-duration",
      "range": {
        "filename": "PRD-001.hcl",
        "start": {
          "line": 6,
          "column": 12,
          "byte": 137
        },
        "end": {
          "line": 6,
          "column": 17,
          "byte": 142
        }
      },
      "snippet": {
        "context": "workstream \"x\"",
        "code": "\ttimeout = \"1 m\"",
        "start_line": 6,
        "highlight_start_offset": 11,
        "highlight_end_offset": 16,
        "values": []
      }
    }
  ]
}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
	empty, _ := json.Marshal(NewReport(nil, nil))
	if want := `{"format_version":"1.0","valid":true,"error_count":0,"warning_count":0,"diagnostics":[]}`; string(empty) != want {
		t.Error(string(empty))
	}
}

// TestValues checks what a diagnostic says about the values that a failed
// expression refers to.
func TestValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 61)
	for want, value := range map[string]cty.Value{
		"is null":  cty.NullVal(cty.String),
		`is "a"`:   cty.StringVal("a"),
		"is true":  cty.True,
		"is false": cty.False,
		"is 1.5":   cty.NumberFloatVal(1.5),
		`is "` + strings.Repeat("é", 60) + `…"`: cty.StringVal(long),
		"is object with 1 attributes":           cty.ObjectVal(map[string]cty.Value{"a": cty.True}),
		"is list of string with 2 elements":     cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")}),
		"":                                      cty.StringVal("secret").Mark("sensitive"),
		// The value of a run that has not begun is not known.
		" ": cty.UnknownVal(cty.String),
	} {
		expr, diags := hclsyntax.ParseExpression([]byte(`x + x`), "f", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		in := &hcl.EvalContext{Variables: map[string]cty.Value{"x": value}}
		report := NewReport(map[string][]byte{"f": []byte("x + x")}, hcl.Diagnostics{
			{Severity: hcl.DiagError, Summary: "S", Subject: expr.Range().Ptr(), Expression: expr, EvalContext: in},
		})
		said := []Value{{Traversal: "x", Statement: want}}
		if strings.TrimSpace(want) == "" {
			said = []Value{}
		}
		if diff := cmp.Diff(said, report.Diagnostics[0].Snippet.Values); diff != "" {
			t.Errorf("%#v: %s", value, diff)
		}
	}
}

// TestValuesAreMaskedBeforeTheyAreCut holds that no part of a secret is left where a value is cut.
func TestValuesAreMaskedBeforeTheyAreCut(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	expr, diags := hclsyntax.ParseExpression([]byte("v + 1"), "a.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	value := cty.StringVal(strings.Repeat("x", 50) + secret)
	diag := &hcl.Diagnostic{Expression: expr, EvalContext: &hcl.EvalContext{Variables: map[string]cty.Value{"v": value}}}
	mask := func(s string) string { return strings.ReplaceAll(s, secret, "***") }
	said := Values(diag, mask)
	if len(said) != 1 || strings.Contains(said[0].Statement, "correct") || !strings.Contains(said[0].Statement, "***") {
		t.Errorf("%+v", said)
	}
}
