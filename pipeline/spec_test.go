package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/pipeline/pipelinetest"
)

// specOutput matches a fenced block of text in the paragraph after an example.
// It shows the diagnostics of the example as Runner prints them.
var specOutput = regexp.MustCompile("^\n\n[^\n]*\n\n```text\n((?:.*\n)*?)```")

// summaryComment matches the comment that ends a line with a mistake.
var summaryComment = regexp.MustCompile(` # ([A-Z].*)$`)

// TestSpecExamples loads every example of SPEC.md. An example must have no
// diagnostics, or, if it shows a mistake, exactly those in its comments.
func TestSpecExamples(t *testing.T) {
	t.Parallel()
	examples := pipelinetest.Examples(Spec())
	if len(examples) < 30 {
		t.Fatalf("only %d examples found", len(examples))
	}
	for _, e := range examples {
		output := ""
		if m := specOutput.FindStringSubmatch(Spec()[e.End:]); m != nil {
			output = m[1]
		}
		t.Run(fmt.Sprintf("line %d", e.Line), func(t *testing.T) {
			t.Parallel()
			testSpecExample(t, e, output)
		})
	}
}

func testSpecExample(t *testing.T, e pipelinetest.Example, output string) {
	source, ok := e.Source()
	if !ok {
		t.Fatalf("unknown words after hcl: %q", e.Info)
	}
	var want []string
	for i, line := range strings.Split(source, "\n") {
		if m := summaryComment.FindStringSubmatch(line); m != nil {
			want = append(want, fmt.Sprintf("%d: %s", i+1, m[1]))
		}
	}
	if e.Mistake() != (len(want) > 0) {
		t.Errorf("an example with the word mistake, and no other, names a summary: %q, %q", e.Info, want)
	}
	f, _ := Parse([]byte(source), "PRD-001.hcl")
	_, diags := f.Pipeline(Inputs{Workspace: "testdata/workspace", Open: true})
	var got []string
	for _, diag := range diags {
		got = append(got, fmt.Sprintf("%d: %s", diag.Subject.Start.Line, diag.Summary))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, render(t, f, diags))
	}
	if output != "" && output != render(t, f, diags) {
		t.Errorf("the page shows another output than\n%s", render(t, f, diags))
	}
}
