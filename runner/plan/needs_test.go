package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// TestMissingResults: a workstream can count as done only if all outputs and metrics of
// the workstream that the pipeline needs are recorded.
func TestMissingResults(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  workstream "early" { script = "early" }
}
phase "two" {
  workstream "a" {
    script = "a"
    gate "covered" {
      metric = "coverage"
      min    = 80
    }
  }
  workstream "b" {
    depends_on = [workstream.a]
    command    = ["b", workstream.a.outputs.id, workstream.a.outputs.id]
  }
  workstream "d" {
    depends_on = [workstream.a]
    command    = ["d", try(workstream.a.outputs.note, "")]
  }
}
phase "three" {
  when = workstream.a.outputs.deploy == "yes"
  workstream "c" {
    effect  = "once"
    command = ["c", workstream.b.outputs.id]
    verify  = ["verify", workstream.a.outputs.url]
    gate "smoke" { command = ["smoke", workstream.a.outputs.host] }
  }
  gate "check" {
    condition     = workstream.a.outputs.check == "ok"
    error_message = "no"
  }
  gate "ok" {
    approval { message = "Go?" }
  }
}
hook {
  on      = ["complete"]
  command = ["tell", workstream.a.outputs.report]
}
`
	const all = `
		id for b
		deploy for three
		url for c
		host for smoke (c)
		check for check (three)
		report for a hook
		metric.coverage for covered (a)`
	outputs := func(names ...string) *state.Work {
		w := &state.Work{Outputs: make(map[string]state.Text)}
		for _, name := range names {
			w.Outputs[name] = "yes"
		}
		return w
	}
	for _, tt := range []struct {
		name string
		play func(*session)
		work *state.Work
		want string
	}{
		{"nothing is on record", func(*session) {}, nil, all},
		{"an empty record", func(*session) {}, &state.Work{}, all},
		{"an output is on record", func(*session) {}, outputs("id", "url"), `
			deploy for three
			host for smoke (c)
			check for check (three)
			report for a hook
			metric.coverage for covered (a)`},
		{"the phase that needs them is not enabled", func(s *session) {
			s.edit(`workstream.a.outputs.deploy == "yes"`, "false")
		}, nil, `
			id for b
			report for a hook
			metric.coverage for covered (a)`},
		{"the workstream that needs one is not enabled", func(s *session) {
			s.edit(`workstream "b" {`, "workstream \"b\" {\n when = false")
		}, outputs("deploy", "url", "host", "check", "report"), `
			metric.coverage for covered (a)`},
		{"the metric is on record", func(*session) {}, &state.Work{
			Outputs: outputs("id", "deploy", "url", "host", "check", "report").Outputs,
			Metrics: map[string]any{"coverage": json.Number("84")},
		}, ``},
		{"another workstream has set the metric", func(s *session) {
			s.reports["early"] = map[string]any{"coverage": json.Number("84")}
			s.run("early")
		}, outputs("id", "deploy", "url", "host", "check", "report"), ``},
		{"its own earlier run has set the metric", func(s *session) {
			s.reports["a"] = map[string]any{"coverage": json.Number("84")}
			s.run("a")
		}, outputs("id", "deploy", "url", "host", "check", "report"), `
			metric.coverage for covered (a)`},
		{"one before it may still set the metric", func(s *session) {
			s.edit(`script = "a"`, "script = \"a\"\n depends_on = [workstream.early]")
		}, outputs("id", "deploy", "url", "host", "check", "report"), ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, source)
			s.start()
			tt.play(s)
			var lines []string
			for _, m := range s.planner().MissingResults(s.p.Workstream("a"), tt.work) {
				lines = append(lines, m.Name+" for "+m.By)
			}
			expect(t, strings.Join(lines, "\n"), tt.want)
		})
	}
}

func TestMissingResultsError(t *testing.T) {
	t.Parallel()
	s := newSession(t, "phase \"one\" {\n workstream \"a\" { script = \"a\" }\n}\nphase \"two\" {\n workstream \"b\" { command = [workstream.a.outputs.id] }\n}\n")
	s.start()
	missing := s.planner().MissingResults(s.p.Workstream("a"), nil)
	one := error(&plan.MissingResultsError{Workstream: "a", Missing: missing})
	const want = "its output id, which b needs (PRD-001.hcl:6), is not on record"
	if one.Error() != want {
		t.Errorf("got %q, want %q", one, want)
	}
	more := append(missing, plan.MissingResult{Name: "metric.m", By: "ok (a)", At: missing[0].At})
	const both = "not on record are its output id, which b needs (PRD-001.hcl:6), and its metric m, which ok (a) needs (PRD-001.hcl:6)"
	if got := (&plan.MissingResultsError{Workstream: "a", Missing: more}).Error(); got != both {
		t.Errorf("got %q, want %q", got, both)
	}
}
