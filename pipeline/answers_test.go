package pipeline

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnswers: an expression has the inputs of an approval as values of their types, and
// says which one is missing.
func TestAnswers(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/valid/answers.hcl")
	if err != nil {
		t.Fatal(err)
	}
	p := build(t, string(src), Inputs{})
	given := map[string]string{"style": "long", "pages": "3", "public": "true", "feedback": "less\ntext", "unknown": "x"}
	results := func(a Answer, ok bool) Results {
		return Results{Answer: func(label string) (Answer, bool) { return a, ok && label == "direction (draft)" }}
	}
	ws := p.Workstream(`revision["de"]`)
	if diff := cmp.Diff([]string{"direction (draft)"}, ws.Answers); diff != "" || !ws.NeedsResults() || len(ws.Upstream) > 0 {
		t.Errorf("%s; upstream %q", diff, ws.Upstream)
	}
	if diff := cmp.Diff([]string{"agreed (text)"}, p.Workstream("index").Answers); diff != "" {
		t.Error(diff)
	}
	inv, diags := ws.Invocation(results(Answer{Inputs: given}, true))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	env := map[string]string{"FEEDBACK": "less\ntext", "STYLE": "long", "ALL": `{"feedback":"less\ntext","pages":3,"public":true,"style":"long"}`}
	if diff := cmp.Diff(env, inv.Env); diff != "" || inv.Command[2] != "./revise.sh de 4" {
		t.Errorf("%s; %q", diff, inv.Command)
	}
	if enabled, diags := p.Phases[1].Enabled(results(Answer{Inputs: given}, true)); !enabled || diags.HasErrors() {
		t.Error(enabled, diags)
	}

	other := map[string]string{"style": "long", "pages": "3", "public": "true", "feedback": "more text"}
	changed, _ := ws.Invocation(results(Answer{Inputs: other}, true))
	if same, _ := ws.Invocation(results(Answer{Inputs: given}, true)); same.Definition != inv.Definition || changed.Definition == inv.Definition {
		t.Error("the digest does not follow the answer")
	}
	sized := p.Gate("sized (draft)")
	was, _ := sized.Definition(results(Answer{Inputs: given}, true))
	given["pages"] = "4"
	if is, diags := sized.Definition(results(Answer{Inputs: given}, true)); is == was || diags.HasErrors() {
		t.Error("the digest of a condition does not follow the answer", diags)
	}

	for _, test := range []struct {
		name    string
		results Results
		want    string
		detail  string
	}{
		{"no answers", Results{}, "Result not available", "direction (draft) has no answer"},
		{"not passed", results(Answer{}, false), "Result not available", "direction (draft) has no answer"},
		{"skipped", results(Answer{Skipped: true}, true), "Missing input", "was skipped, and has no input"},
		{"not given", results(Answer{Inputs: map[string]string{"pages": "1"}}, true), "Missing input", "It was given: pages."},
	} {
		_, diags := ws.Invocation(test.results)
		if len(diags) == 0 || diags[0].Summary != test.want || !strings.Contains(diags[0].Detail, test.detail) {
			t.Errorf("%s: %v", test.name, diags)
		}
	}
}

// TestApprovalInputs: inputs have values as texts, and count in the digest of the gate,
// except for what people read.
func TestApprovalInputs(t *testing.T) {
	t.Parallel()
	digest := func(inputs string) (string, *ApprovalRule) {
		g := build(t, `pipeline "PRD-001" {
  phase "a" {
    workstream "x" { command = ["true"] }
    gate "ok" {
      approval {
        message = "ok?"
`+inputs+`
      }
    }
  }
}`, Inputs{}).Gate("ok (a)")
		sum, diags := g.Definition(Results{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return sum, g.Approval
	}
	none, rule := digest("")
	if len(rule.Inputs) > 0 {
		t.Error(rule.Inputs)
	}
	one, two, yes := "1.5", "2", "true"
	first, rule := digest("input \"n\" {\n type = number\n options = [1 + 0.5, 2]\n default = 1.5\n }")
	if diff := cmp.Diff([]ApprovalInput{{Name: "n", Type: InputNumber, Options: []string{one, two}, Default: &one}}, rule.Inputs); diff != "" {
		t.Error(diff)
	}
	_, rule = digest("input \"sure\" {\n type = bool\n default = true\n description = \"are you?\"\n }")
	if diff := cmp.Diff([]ApprovalInput{{Name: "sure", Type: InputBool, Description: "are you?", Default: &yes}}, rule.Inputs); diff != "" {
		t.Error(diff)
	}
	sums := map[string]string{"without inputs": none}
	for name, inputs := range map[string]string{
		"options and a default": "input \"n\" {\n type = number\n options = [1.5, 2]\n default = 1.5\n }",
		"another default":       "input \"n\" {\n type = number\n options = [1.5, 2]\n default = 2\n }",
		"no default":            "input \"n\" {\n type = number\n options = [1.5, 2]\n }",
		"another type":          "input \"n\" {\n options = [\"1.5\", \"2\"]\n }",
		"another name":          "input \"m\" {\n options = [\"1.5\", \"2\"]\n }",
	} {
		sums[name], _ = digest(inputs)
		for other, sum := range sums {
			if other != name && sum == sums[name] {
				t.Errorf("%s and %s have the same digest", name, other)
			}
		}
	}
	if described, _ := digest("input \"n\" {\n type = number\n options = [1.5, 2]\n default = 1.5\n description = \"how many\"\n }"); described != first || first != sums["options and a default"] {
		t.Error("a description counts in the digest")
	}
}
