package plan_test

import (
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// TestSameShape: a state has the shape of a pipeline as long as names, titles, batches,
// effects and gates are the same.
func TestSameShape(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  title = "First"
  workstream "a" {
    title = "A"
    script = "a"
    gate "lint" { command = ["lint"] }
  }
  workstream "b" { script = "b" }
  gate "check" { command = ["check"] }
}
phase "two" {
  workstream "c" { script = "c" }
}
`
	for _, tt := range []struct{ name, old, by string }{
		{"a phase more", `phase "two" {`, "phase \"more\" {\n workstream \"d\" { script = \"d\" }\n}\nphase \"two\" {"},
		{"the name of a phase", `phase "two"`, `phase "last"`},
		{"the title of a phase", `"First"`, `"1"`},
		{"a gate of a phase more", `  gate "check"`, "gate \"more\" { command = [\"more\"] }\ngate \"check\""},
		{"the name of a gate of a phase", `gate "check"`, `gate "test"`},
		{"a workstream more", `workstream "b"`, "workstream \"d\" { script = \"d\" }\nworkstream \"b\""},
		{"the name of a workstream", `workstream "b"`, `workstream "d"`},
		{"the title of a workstream", `"A"`, `"a better one"`},
		{"the batch of a workstream", `"b" { script = "b" }`, "\"b\" {\n script = \"b\"\n depends_on = [workstream.a]\n }"},
		{"the effect of a workstream", `"b" { script = "b" }`, "\"b\" {\n script = \"b\"\n effect = \"once\"\n }"},
		{"a gate of a workstream more", `    gate "lint"`, "gate \"more\" { command = [\"more\"] }\ngate \"lint\""},
		{"the name of a gate of a workstream", `gate "lint"`, `gate "test"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, source)
			s.start()
			s.edit(tt.old, tt.by)
			if plan.SameShape(s.st, s.p) {
				t.Error("the pipeline has another shape, but SameShape is true")
			}
			s.start()
			if !plan.SameShape(s.st, s.p) {
				t.Error("the state was given the shape of the pipeline, but SameShape is false")
			}
		})
	}
	s := newSession(t, source)
	s.start()
	s.edit(`script = "b"`, `script = "other"`)
	if !plan.SameShape(s.st, s.p) || plan.SameShape(&state.State{}, s.p) {
		t.Error("want a shape to include phases, but not scripts")
	}
}

// TestRoleOf: RoleOf says for what the pipeline uses a file, so that no plan is written
// to such a file.
func TestRoleOf(t *testing.T) {
	t.Parallel()
	s := newSession(t, `
document = "docs/PRD-001.json"
phase "one" {
  workstream "a" {
    inputs    = ["src/*"]
    artifacts = ["out"]
    script    = "a"
    gate "lint" {
      inputs  = ["rules"]
      command = ["lint"]
    }
  }
  gate "check" {
    inputs  = ["report"]
    command = ["check"]
  }
}
`)
	for file, want := range map[string]string{
		"docs/PRD-001.json": "the document of PRD-001",
		"src/x":             "among the inputs of a",
		"out":               "among the artifacts of a",
		"rules":             "among what lint (a) judges",
		"report":            "among what check (one) judges",
		"plan.json":         "",
	} {
		if got := plan.RoleOf(s.p, file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
}
