package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// inPhase returns a pipeline whose only phase holds the given lines.
func inPhase(lines string) string {
	return "pipeline \"PRD-001\" {\n  phase \"main\" {\n" + lines + "\n  }\n}\n"
}

func summariesOf(source string, in Inputs) []string {
	f, _ := Parse([]byte(source), "PRD-001.hcl")
	_, diags := f.Pipeline(in)
	var got []string
	for _, diag := range diags {
		got = append(got, diag.Summary)
	}
	return got
}

func TestExitCodeBounds(t *testing.T) {
	t.Parallel()
	for code, valid := range map[int]bool{0: false, 1: true, 255: true, 256: false} {
		got := summariesOf(inWorkstream(fmt.Sprintf("command = [\"x\"]\nretry {\n on_exit_codes = [%d]\n}", code)), Inputs{})
		if valid != (len(got) == 0) {
			t.Errorf("%d: %q", code, got)
		}
	}
}

// TestMetricWithNumber holds that a metric may be named by a number.
func TestMetricWithNumber(t *testing.T) {
	t.Parallel()
	p := build(t, inWorkstream("script = \"true\"\nwhen = metric[5] == 1"), Inputs{})
	if got := p.Workstream("w").WhenMetrics(); !slices.Equal(got, []string{"5"}) {
		t.Errorf("%q", got)
	}
}

// TestUnrelatedDependency holds that waiting for one workstream proves nothing about
// another one.
func TestUnrelatedDependency(t *testing.T) {
	t.Parallel()
	source := inPhase(`
    workstream "a" { command = ["x"] }
    workstream "b" { command = ["x"] }
    workstream "c" {
      depends_on = [workstream.a]
      command    = ["x"]
    }
    workstream "d" {
      depends_on = [workstream.c]
      command    = ["x", workstream.%s.outputs.o]
    }`)
	if got := summariesOf(fmt.Sprintf(source, "a"), Inputs{}); got != nil {
		t.Errorf("a has completed: %q", got)
	}
	if got := summariesOf(fmt.Sprintf(source, "b"), Inputs{}); !slices.Equal(got, []string{"Result of a workstream that does not run earlier"}) {
		t.Errorf("b need not have completed: %q", got)
	}
}

// TestFilesetOfNumbers holds that a warning names only texts that the author wrote.
func TestFilesetOfNumbers(t *testing.T) {
	t.Parallel()
	in := Inputs{Workspace: "testdata/workspace", Matches: func([]string) bool { return true }}
	for call, want := range map[string]string{`"none", "*"`: `"*" in "none"`, `"none", 5`: "No file matches it now", `5, "*"`: "No file matches it now"} {
		f, _ := Parse([]byte(inWorkstream("command = [\"x\", join(\",\", fileset("+call+"))]")), "PRD-001.hcl")
		_, diags := f.Pipeline(in)
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("fileset(%s): %v", call, diags)
		}
	}
}

// TestUnknownReferenceHasNoPart holds that the parts of a definition include the value of
// a reference only if the value is known.
func TestUnknownReferenceHasNoPart(t *testing.T) {
	t.Parallel()
	p := build(t, inPhase(`
    workstream "a" { command = ["x"] }
    workstream "b" {
      depends_on = [workstream.a]
      command    = ["x"]
      gate "g" {
        condition     = workstream.a.outputs.o == "1" && metric.m > 0
        error_message = "no"
      }
    }`), Inputs{})
	gate := p.Workstream("b").Gates[0]
	r := Results{Metrics: map[string]any{"m": "text"}, Open: true}
	var names []string
	for _, p := range gate.definitionParts(r) {
		names = append(names, p.name)
	}
	if want := []string{"kind", "condition", "metric.m"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q: the output is not known", names, want)
	}
	if one, diags := gate.Definition(r); diags.HasErrors() || one == "" {
		t.Error(diags)
	}
}

// TestWholeNumberBounds holds that a bound itself is allowed.
func TestWholeNumberBounds(t *testing.T) {
	t.Parallel()
	for n, valid := range map[string]bool{"0": false, "1": true, "1.5": false, "1000000": true, "1000001": false} {
		got := summariesOf(inWorkstream("command = [\"x\"]\nretry {\n attempts = "+n+"\n}"), Inputs{})
		if valid != (len(got) == 0) {
			t.Errorf("%s: %q", n, got)
		}
	}
}

// TestSensitiveOfMistakenFile holds that a variable whose declaration may say that it is
// sensitive counts as such.
func TestSensitiveOfMistakenFile(t *testing.T) {
	t.Parallel()
	f, _ := Parse([]byte(`
variable "plain" {}
variable "no" { sensitive = false }
variable "yes" { sensitive = true }
variable "mistaken" { sensitive = nothing }
variable "text" { sensitive = "true" }
`), "f.hcl")
	if got, want := f.Sensitive(), []string{"yes", "mistaken", "text"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
