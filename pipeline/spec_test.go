package pipeline

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// specExample matches a fenced block of HCL in SPEC.md. The words after "hcl"
// may say "mistake", and "in BLOCK" for an example that is a part of a file.
var specExample = regexp.MustCompile("(?m)^```hcl(.*)\n((?:.*\n)*?)```$")

// specOutput matches a fenced block of text in the paragraph after an example.
// It shows the diagnostics of the example as Runner prints them.
var specOutput = regexp.MustCompile("^\n\n[^\n]*\n\n```text\n((?:.*\n)*?)```")

// surroundings holds the texts that make an example a file, by the block that the example
// belongs to.
var surroundings = map[string]struct{ before, after string }{
	"":           {"", ""},
	"file":       {"", "pipeline \"PRD-001\" {\n  phase \"main\" {\n    workstream \"example\" {\n      command = [\"true\"]\n    }\n  }\n}\n"},
	"included":   {"", "pipeline \"PRD-001\" {\n  phase \"main\" {\n    workstream \"example\" {\n      agent = agent.implementer\n      task  = \"x\"\n      gates = [gate.vet, gate.test]\n    }\n  }\n}\n"},
	"pipeline":   {"pipeline \"PRD-001\" {\n", "  phase \"main\" {\n    workstream \"example\" {\n      command = [\"true\"]\n    }\n  }\n}\n"},
	"phase":      {"pipeline \"PRD-001\" {\n  phase \"main\" {\n", "  }\n}\n"},
	"workstream": {"pipeline \"PRD-001\" {\n  phase \"main\" {\n    workstream \"example\" {\n", "    }\n  }\n}\n"},
}

// summaryComment matches the comment that ends a line with a mistake.
var summaryComment = regexp.MustCompile(` # ([A-Z].*)$`)

// TestSpecExamples loads every example of SPEC.md. An example must have no
// diagnostics, or, if it shows a mistake, exactly those in its comments.
func TestSpecExamples(t *testing.T) {
	t.Parallel()
	spec, err := os.ReadFile("SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := specExample.FindAllSubmatchIndex(spec, -1)
	if len(examples) < 30 {
		t.Fatalf("only %d examples found", len(examples))
	}
	for _, at := range examples {
		line := strings.Count(string(spec[:at[0]]), "\n") + 1
		output := ""
		if m := specOutput.FindSubmatch(spec[at[1]:]); m != nil {
			output = string(m[1])
		}
		t.Run(fmt.Sprintf("line %d", line), func(t *testing.T) {
			t.Parallel()
			testSpecExample(t, string(spec[at[2]:at[3]]), string(spec[at[4]:at[5]]), output)
		})
	}
}

func testSpecExample(t *testing.T, info, example, output string) {
	info, mistake := strings.CutPrefix(info, " mistake")
	around, ok := surroundings[strings.TrimPrefix(info, " in ")]
	if !ok {
		t.Fatalf("unknown words after hcl: %q", info)
	}
	source := around.before + example + around.after
	var want []string
	for i, line := range strings.Split(source, "\n") {
		if m := summaryComment.FindStringSubmatch(line); m != nil {
			want = append(want, fmt.Sprintf("%d: %s", i+1, m[1]))
		}
	}
	if mistake != (len(want) > 0) {
		t.Errorf("an example with the word mistake, and no other, names a summary: %v, %q", mistake, want)
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
