package plan_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"prdrunner/runner/plan"
)

// TestExplain: a plan says what changed in a definition or a variable, as far as the
// record and the pipeline file of the last run show it.
func TestExplain(t *testing.T) {
	t.Parallel()
	const source = `
variable "v" { default = "one" }
variable "token" {
  default   = "secret"
  sensitive = true
}
---
phase "one" {
  workstream "a" {
    script = "make ${var.v}"
    env    = { TOKEN = var.token }
    gate "lint" { command = ["lint", var.v] }
  }
  workstream "b" {
    depends_on = [workstream.a]
    command    = ["echo", workstream.a.outputs.id]
  }
}
`
	// captured makes the present pipeline file known as that of the last run.
	captured := func(s *session) {
		was := []byte(s.file())
		s.adjust = func(f *plan.Facts) { f.EarlierPipeline = was }
	}
	for _, tt := range []struct {
		name string
		play func(*session)
		step string
		want string
	}{
		{"the script changed", func(s *session) { s.build(); captured(s); s.edit("make", "build") }, "a", `
			definition script line 1: "make one" → "build one"`},
		{"the script changed, and the earlier file is not known", func(s *session) { s.build(); s.edit("make", "build") }, "a", `
			definition`},
		{"the script changed, and the earlier file is another one", func(s *session) {
			s.build()
			s.edit("make", "test")
			captured(s)
			s.edit("test", "build")
		}, "a", `definition`},
		{"the earlier file has no such workstream", func(s *session) {
			s.build()
			s.adjust = func(f *plan.Facts) {
				f.EarlierPipeline = []byte("pipeline \"PRD-001\" {\n phase \"one\" {\n workstream \"x\" { script = \"x\" }\n}\n}\n")
			}
			s.edit("make", "build")
			s.edit(`"lint", var.v`, `"lint", "-v", var.v`)
		}, "a", `definition`},
		{"the earlier file is no pipeline", func(s *session) {
			s.build()
			s.adjust = func(f *plan.Facts) { f.EarlierPipeline = []byte("{") }
			s.edit("make", "build")
		}, "a", `definition`},
		{"a given value changed", func(s *session) { s.set("v", "two"); s.build(); s.set("v", "three") }, "a", `
			variables v: "two" → "three"
			definition script line 1: "make two" → "make three"`},
		{"a value is given in place of the default", func(s *session) { s.build(); s.set("v", "two") }, "a", `
			variables v: "one" → "two"
			definition script line 1: "make one" → "make two"`},
		{"a default changed", func(s *session) { s.build(); captured(s); s.edit(`"one" }`, `"two" }`) }, "a", `
			variables v: "one" → "two"
			definition script line 1: "make one" → "make two"`},
		{"a default changed, and the earlier file is not known", func(s *session) { s.build(); s.edit(`"one" }`, `"two" }`) }, "a", `
			variables v: none → "two"
			definition`},
		{"a sensitive default changed", func(s *session) { s.build(); captured(s); s.edit("secret", "secrets") }, "a", ``},
		{"a variable has become sensitive", func(s *session) {
			s.edit("one", "uno-1")
			s.build()
			captured(s)
			s.edit(`{ default = "uno-1" }`, "{\n default = \"uno-1\"\n sensitive = true\n}")
		}, "a", `
			variables v
			definition`},
		{"a variable has become sensitive whose value is on record", func(s *session) {
			s.set("v", "uno-2")
			s.build()
			captured(s)
			s.edit(`{ default = "one" }`, "{\n default = \"uno-1\"\n sensitive = true\n}")
		}, "a", `
			variables v
			definition`},
		{"a given value changed that is not on record any more", func(s *session) {
			s.set("v", "two")
			s.build()
			s.st.Variables = nil
			s.set("v", "three")
		}, "a", `
			variables v: none → "three"
			definition`},
		{"a value in a gate changed that is not on record any more", func(s *session) {
			s.edit("make ${var.v}", "make")
			s.set("v", "two")
			s.build()
			s.st.Variables = nil
			s.set("v", "three")
		}, "lint (a)", `definition over var.v`},
		{"an output is used no more", func(s *session) { s.build(); captured(s); s.edit("workstream.a.outputs.id", `"none"`) }, "b", `definition command[1]: "1" → "none"`},
		{"a variable is used no more", func(s *session) { s.build(); captured(s); s.edit("${var.v}", "all") }, "a", `
			variables v: "one" → none
			definition script line 1: "make one" → "make all"`},
		{"a variable is used now", func(s *session) {
			s.edit("${var.v}", "all")
			s.build()
			captured(s)
			s.edit("make all", "make ${var.v}")
		}, "a", `
			variables v: none → "one"
			definition script line 1: "make all" → "make one"`},
		{"the definition of a gate changed", func(s *session) { s.build(); captured(s); s.edit(`"lint", var.v`, `"lint", "-v", var.v`) }, "lint (a)", `definition command[1]: none → "-v"`},
		{"the value in a gate changed", func(s *session) {
			s.edit("make ${var.v}", "make")
			s.set("v", "two")
			s.build()
			s.set("v", "three")
		}, "lint (a)", `definition command[1]: "two" → "three"`},
		{"the value in a gate was the default", func(s *session) {
			s.edit("make ${var.v}", "make")
			s.build()
			s.set("v", "three")
		}, "lint (a)", `definition command[1]: "one" → "three"`},
		{"the value in a gate was given some runs ago", func(s *session) {
			s.edit("make ${var.v}", "make")
			for _, v := range []string{"two", "three", "four"} {
				s.set("v", v)
				s.build()
			}
			s.set("v", "five")
		}, "lint (a)", `definition command[1]: "two" → "five"`},
		{"the earlier file has no such gate", func(s *session) {
			s.build()
			s.adjust = func(f *plan.Facts) {
				f.EarlierPipeline = []byte("pipeline \"PRD-001\" {\n phase \"one\" {\n workstream \"x\" { script = \"x\" }\n}\n}\n")
			}
			s.edit(`"lint", var.v`, `"lint", "-v", var.v`)
		}, "lint (a)", `definition`},
		{"an output changed", func(s *session) {
			s.edit("depends_on = [workstream.a]", "depends_on = [workstream.a]\n effect = \"pure\"")
			s.gives["a"] = map[string]string{"id": "1"}
			s.build()
			s.gives["a"] = map[string]string{"id": "2"}
			s.run("a")
		}, "b", `
			upstream a
			definition over workstream.a.outputs.id`},
		{"sensitive texts are masked", func(s *session) {
			s.build()
			captured(s)
			s.edit("make", "build")
			earlier := s.adjust
			s.adjust = func(f *plan.Facts) {
				earlier(f)
				f.Mask = func(text string) string { return strings.ReplaceAll(text, "one", "***") }
			}
		}, "a", `definition script line 1: "make ***" → "build ***"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, source)
			s.gives["a"] = map[string]string{"id": "1"}
			tt.play(s)
			expect(t, showChanges(s.plan(), tt.step), tt.want)
		})
	}
}

// TestExplainFew: to explain a plan, only a limited number of versions of the pipeline
// are evaluated.
func TestExplainFew(t *testing.T) {
	t.Parallel()
	const changed = 20
	var variables, workstreams strings.Builder
	for i := range changed {
		fmt.Fprintf(&variables, "variable \"v%d\" { default = 1 }\n", i)
		fmt.Fprintf(&workstreams, "workstream \"w%d\" { script = \"make ${var.v%d}\" }\n", i, i)
	}
	s := newSession(t, variables.String()+"---\nphase \"one\" {\n"+workstreams.String()+"}\n")
	s.build()
	was := []byte(s.file())
	s.adjust = func(f *plan.Facts) { f.EarlierPipeline = was }
	s.edit("default = 1", "default = 2")
	p := s.plan()
	explained := 0
	for i := range changed {
		if strings.Contains(showChanges(p, fmt.Sprintf("w%d", i)), "1 → 2") {
			explained++
		}
	}
	if explained != 16 {
		t.Errorf("%d of %d changes are explained, want 16", explained, changed)
	}
}

// showChanges writes each change of a step on a line: its component, what changed, and the
// texts before and now, as far as they are known.
func showChanges(p *plan.Plan, name string) string {
	var lines []string
	for _, phase := range p.Phases {
		for _, step := range phase.Steps {
			if step.Name != name {
				continue
			}
			for _, c := range step.Changes {
				line := strings.TrimSpace(c.Component + " " + string(c.Name))
				if c.OldText != "" || c.NewText != "" {
					line += fmt.Sprintf(": %s → %s", cmp.Or(c.OldText, "none"), cmp.Or(c.NewText, "none"))
				}
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines, "\n")
}
