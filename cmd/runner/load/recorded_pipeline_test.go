package load

import (
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// TestAddPipeline: the pipeline of a run is known if its files are as the run read them and it can be evaluated with the
// values on record, and no others.
func TestAddPipeline(t *testing.T) {
	t.Parallel()
	const source = `
variable "who" { type = string }
variable "list" {
  type    = list(string)
  default = []
}
variable "anything" { default = 1 }
pipeline "PRD-001" {
  phase "a" {
    workstream "w" { command = ["echo", var.who] }
  }
  phase "b" {
    run_on = "always"
    workstream "x" { command = ["true"] }
  }
}
`
	files := map[string]string{"PRD-001.hcl": source}
	given := map[string]string{"who": `"it is ${me}"`, "list": `["a","b"]`}
	for name, test := range map[string]struct {
		files     map[string]string
		variables map[string]string
		environ   string
		caller    *state.Caller
		want      bool
	}{
		"as it was":                          {files, given, "", nil, true},
		"it has changed":                     {map[string]string{"PRD-001.hcl": source + "# changed\n"}, given, "", nil, false},
		"it is gone":                         {nil, given, "", nil, false},
		"a value is not on record":           {files, nil, "", nil, false},
		"a value on record has no variable":  {files, map[string]string{"who": `"me"`, "other": `"x"`}, "", nil, false},
		"a number reads as a text":           {files, map[string]string{"who": `"me"`, "anything": `5`}, "", nil, false},
		"the environment gives another list": {files, given, `PRDRUNNER_VAR_list=["c"]`, nil, true},
		"the environment gives one more":     {files, given, "PRDRUNNER_VAR_anything=5", nil, false},
		"another one calls it":               {files, given, "", &state.Caller{PRD: "PRD-002"}, false},
	} {
		p := in(t, test.files, test.environ)
		file, diags := pipeline.Parse([]byte(source), "PRD-001.hcl")
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		known, diags := file.Pipeline(pipeline.Inputs{Variables: map[string]pipeline.Input{"who": {Text: "x"}}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		st := &state.State{PRD: "PRD-001", Pipeline: state.FileRef{Path: "PRD-001.hcl", Digest: known.Digest}, Caller: test.caller}
		b := runner.Beginning{Plan: &plan.Plan{Phases: []plan.Phase{{Name: "a"}, {Name: "b"}}}}
		AddPipeline(p.env, st, test.variables, &b)
		switch {
		case (b.Pipeline != nil) != test.want:
			t.Errorf("%s: it is known: %t", name, b.Pipeline != nil)
		case test.want && (b.Pipeline().Workstream("w") == nil || b.Plan.Phases[1].RunOn != pipeline.RunOnAlways):
			t.Errorf("%s: it is another one, or its second phase runs on %q", name, b.Plan.Phases[1].RunOn)
		}
	}
}
