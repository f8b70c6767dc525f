package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/progress"
)

// waiting is a run in which two workstreams run, and others wait for them.
func waiting(t *testing.T) *progress.Progress {
	t.Helper()
	file, diags := pipeline.Parse([]byte(`
pipeline "PRD-001" {
  phase "one" {
    workstream "unit" { command = ["true"] }
    workstream "lint" { command = ["true"] }
    workstream "package" {
      for_each   = toset(["a", "b", "c", "d"])
      command    = ["true"]
      depends_on = [workstream.unit, workstream.lint]
    }
    workstream "deploy" {
      command    = ["true"]
      depends_on = [workstream.unit]
    }
    workstream "ship" {
      command    = ["true"]
      depends_on = [workstream.package]
    }
  }
}`), "PRD-001.hcl")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	known, diags := file.Pipeline(pipeline.Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	phase := plan.Phase{Name: "one", Number: 1}
	for _, ws := range known.Phases[0].Workstreams {
		phase.Steps = append(phase.Steps, plan.Step{Kind: plan.WorkstreamStep, Name: ws.Name, Decision: plan.Run})
	}
	p := progress.New(runner.Beginning{
		Plan: &plan.Plan{Phases: []plan.Phase{phase}}, Pipeline: func() *pipeline.Pipeline { return known }, Parallel: 2,
	})
	p.Commit(state.Commit{Time: began(), Events: append(started("unit", "lint"), state.PhaseStarted{Phase: "one"})})
	return p
}

// TestDescribeWaits: as much is said as there is room for, and the rest is counted.
func TestDescribeWaits(t *testing.T) {
	t.Parallel()
	p := waiting(t)
	for width, want := range map[int]string{
		40:  "waiting: package[…] (4) for unit, lint +2 more",
		65:  "waiting: package[…] (4) for unit, lint; deploy for unit +1 more",
		200: `waiting: package[…] (4) for unit, lint; deploy for unit; ship for package[…] (4)`,
	} {
		if got := describeWaits(p, width, 0); got != want {
			t.Errorf("in %d columns: %q, want %q", width, got, want)
		}
	}
}

// TestWaitsRow: what steps wait for is shown where more could run, or when the user asks, in one row.
func TestWaitsRow(t *testing.T) {
	t.Parallel()
	p := waiting(t)
	shown := func(asked bool, width int) string {
		f := frame{progress: p, now: began(), width: width, height: 24, asked: asked, lastLine: func(progress.Active) string { return "" }}
		f.choose(&keyboard{})
		for _, r := range f.rows() {
			if strings.Contains(r.text, "waiting:") {
				if displaywidth.String(r.text) >= width {
					t.Errorf("%q does not fit into %d columns", r.text, width)
				}
				return r.text
			}
		}
		return ""
	}
	if got := shown(false, 100); got != "" {
		t.Errorf("without a free slot: %q", got)
	}
	for width := 20; width < 120; width++ {
		if shown(true, width) == "" {
			t.Errorf("in %d columns nothing is shown, although the user asked", width)
		}
	}
	p.Commit(state.Commit{Time: began(), Events: []state.Event{state.WorkstreamCompleted{Workstream: "lint"}}})
	if got := fmt.Sprint(shown(false, 100)); !strings.HasPrefix(got, "  waiting: package[…] (4), deploy for unit; ship") {
		t.Errorf("with a free slot: %q", got)
	}
}

// shownBy returns the rows of a frame of a run on a screen of a size.
func shownBy(p *progress.Progress, width, height int) (rows []string) {
	f := frame{progress: p, now: began(), width: width, height: height, asked: true, pauses: true, lastLine: func(progress.Active) string { return "" }}
	f.choose(&keyboard{})
	for _, r := range f.rows() {
		rows = append(rows, r.text)
	}
	return rows
}

// TestHelpRows: with the help, everything that waits has a row as far as there is room, the steps that wait for a
// slot are counted, and every key is there however narrow the terminal is.
func TestHelpRows(t *testing.T) {
	t.Parallel()
	p := waiting(t)
	p.Commit(state.Commit{Time: began(), Events: []state.Event{state.WorkstreamCompleted{Workstream: "unit"}, state.GateStarted{Gate: "vet (x)", Attempt: 1}}})
	keys := []string{"  p: pause at the next boundary   ↑ ↓ or k j: select", "  l: log of the selected row   ?: hide this"}
	for height, want := range map[int][]string{
		24: append([]string{"  waiting for a free slot: 1", "  waiting: package[…] (4) for lint", "           ship for package[…] (4)"}, keys...),
		10: append([]string{"  waiting for a free slot: 1", "  waiting: package[…] (4) for lint; ship for package[…] (4)"}, keys...),
	} {
		got := shownBy(p, 60, height)
		if diff := cmp.Diff(want, got[4:]); diff != "" {
			t.Errorf("%d rows (-want +got):\n%s", height, diff)
		}
	}
	rows := listWaits(waiting(t), "", 2, 0)
	if diff := cmp.Diff([]string{"waiting: package[…] (4) for unit, lint", "         +2 more"}, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAfterAFailure: the live view and the heartbeat say that nothing new starts, and promise no other phase.
func TestAfterAFailure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keepGoing   bool
		live, plain string
	}{
		"fail fast":  {false, "after the failure nothing new starts\n○ tidy  1 workstream", "after the failure nothing new starts"},
		"keep going": {true, "after the failure only these start:\n○ tidy  1 workstream", "after the failure no later phase starts"},
	} {
		p := failing(t, test.keepGoing)
		shown := strings.Join(shownBy(p, 100, 24), "\n")
		v := newPlain(Options{Now: began})
		v.progress = p
		v.printActive(began())
		for text, want := range map[string]string{shown: test.live, v.page.String(): test.plain} {
			if !strings.Contains(text, want) || strings.Contains(text, "ship") {
				t.Errorf("%s: no %q, or the phase that does not start:\n%s", name, want, text)
			}
		}
	}
}

// failing is a run in which a workstream has failed, and another still runs.
func failing(t *testing.T, keepGoing bool) *progress.Progress {
	t.Helper()
	file, diags := pipeline.Parse([]byte(`
pipeline "PRD-001" {
  phase "one" {
    workstream "unit" { command = ["true"] }
    workstream "lint" { command = ["true"] }
  }
  phase "ship" {
    workstream "push" { command = ["true"] }
  }
  phase "tidy" {
    run_on = "always"
    workstream "sweep" { command = ["true"] }
  }
}`), "PRD-001.hcl")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	known, diags := file.Pipeline(pipeline.Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	planned := &plan.Plan{}
	for _, phase := range known.Phases {
		pp := plan.Phase{Name: phase.Name, Number: phase.Number, RunOn: phase.RunOn}
		for _, ws := range phase.Workstreams {
			pp.Steps = append(pp.Steps, plan.Step{Kind: plan.WorkstreamStep, Name: ws.Name, Decision: plan.Run})
		}
		planned.Phases = append(planned.Phases, pp)
	}
	p := progress.New(runner.Beginning{Plan: planned, Pipeline: func() *pipeline.Pipeline { return known }, Parallel: 4, KeepGoing: keepGoing})
	p.Commit(state.Commit{Time: began(), Events: append(append([]state.Event{state.PhaseStarted{Phase: "one"}}, started("unit", "lint")...), state.WorkstreamFailed{Workstream: "lint"})})
	return p
}
