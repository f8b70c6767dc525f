package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

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
		if got := describeWaits(p, width); got != want {
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
