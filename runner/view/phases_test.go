package view

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/progress"
)

// phased is a run of a pipeline in which everything is to run.
func phased(t *testing.T, source string) *progress.Progress {
	t.Helper()
	file, diags := pipeline.Parse([]byte("pipeline \"PRD-001\" {\n"+source+"}\n"), "PRD-001.hcl")
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
	return progress.New(runner.Beginning{Plan: planned, Pipeline: func() *pipeline.Pipeline { return known }, Parallel: 1})
}

// happens has a run commit events, a second before the next ones and the frame.
func happens(p *progress.Progress, seconds ...[]state.Event) (now time.Time) {
	now = began()
	for _, events := range seconds {
		p.Commit(state.Commit{Time: now, Events: events})
		now = now.Add(time.Second)
	}
	return now
}

// stages is the source of phases with two workstreams each: stage-1 with one-1 and two-1.
func stages(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "phase \"stage-%d\" {\n", i+1)
		for _, name := range []string{"one", "two"} {
			fmt.Fprintf(&b, "workstream \"%s-%d\" {\ncommand = [\"true\"]\n}\n", name, i+1)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// finished are the events of the phases before the one with a number, and of the beginning of that one.
func finished(before int) (seconds [][]state.Event) {
	for i := 1; i <= before; i++ {
		one, two, phase := fmt.Sprint("one-", i), fmt.Sprint("two-", i), fmt.Sprint("stage-", i)
		events := append([]state.Event{state.PhaseStarted{Phase: phase}}, started(one, two)...)
		if i < before {
			events = append(events, state.WorkstreamCompleted{Workstream: one}, state.WorkstreamCompleted{Workstream: two},
				state.PhaseCompleted{Phase: phase, DurationMS: int64(i) * 61500})
		}
		seconds = append(seconds, events)
	}
	return seconds
}

// withOutcomes is the source of a run in which phases end in each of the ways.
const withOutcomes = `
phase "fetch" {
  workstream "sources" { command = ["true"] }
}
phase "documents-with-a-rather-long-name" {
  workstream "manual" { command = ["true"] }
}
phase "build" {
  workstream "lint" {
    command       = ["true"]
    allow_failure = true
  }
  workstream "unit" { command = ["true"] }
}
phase "publish" {
  workstream "push" { command = ["true"] }
}
phase "tidy" {
  run_on = "always"
  workstream "sweep" { command = ["true"] }
}
phase "mourn" {
  run_on = "failed"
  workstream "tell" { command = ["true"] }
}
`

// signedOff is the source of a run that a person must approve twice.
const signedOff = `
phase "build" {
  workstream "unit" {
    command = ["true"]
    gate "look" {
      approval { message = "Is it well?" }
    }
  }
  gate "sign-off" {
    approval { message = "Ship it?" }
  }
}
phase "release" {
  workstream "ship" { command = ["true"] }
}
phase "announce" {
  workstream "tell" { command = ["true"] }
}
`

// phaseTrees are runs with several phases.
func phaseTrees(t *testing.T) map[string]func() (*progress.Progress, time.Time) {
	run := func(source string, seconds ...[]state.Event) func() (*progress.Progress, time.Time) {
		return func() (*progress.Progress, time.Time) {
			p := phased(t, source)
			return p, happens(p, seconds...)
		}
	}
	done := func(phase, workstream string) []state.Event {
		return []state.Event{state.PhaseStarted{Phase: phase}, state.WorkstreamStarted{Workstream: workstream, Attempt: 1}, state.WorkstreamCompleted{Workstream: workstream}, state.PhaseCompleted{Phase: phase, DurationMS: 12300}}
	}
	outcomes := [][]state.Event{
		done("fetch", "sources"), {state.PhaseSkipped{Phase: "documents-with-a-rather-long-name"}},
		append([]state.Event{state.PhaseStarted{Phase: "build"}}, started("lint", "unit")...),
		{state.WorkstreamFailed{Workstream: "lint", Allowed: true}},
	}
	failed := append(outcomes, []state.Event{state.WorkstreamFailed{Workstream: "unit"}})
	inTidy := append(failed, append([]state.Event{state.PhaseStarted{Phase: "tidy"}}, started("sweep")...))
	build := append([]state.Event{state.PhaseStarted{Phase: "build"}}, started("unit")...)
	return map[string]func() (*progress.Progress, time.Time){
		"phases-of-3":        run(stages(3), finished(2)...),
		"phases-of-15-first": run(stages(15), finished(1)...),
		"phases-of-15":       run(stages(15), finished(8)...),
		"phases-of-15-last":  run(stages(15), finished(15)...),
		"phases-outcomes":    run(withOutcomes, outcomes...),
		"phases-failed":      run(withOutcomes, failed...),
		"phases-late":        run(withOutcomes, inTidy...),
		"phases-approvals":   run(signedOff, build),
		"phases-approval":    run(signedOff, build, []state.Event{state.WorkstreamSucceeded{Workstream: "unit"}, state.GateAsked{Verdict: state.Verdict{Gate: "look (unit)"}}}, []state.Event{state.GateApproved{Verdict: state.Verdict{Gate: "look (unit)"}}}),
		"phases-approved": run(signedOff, build, []state.Event{state.GateApproved{Verdict: state.Verdict{Gate: "look (unit)"}}, state.WorkstreamCompleted{Workstream: "unit"}},
			[]state.Event{state.GateApproved{Verdict: state.Verdict{Gate: "sign-off (build)"}}}),
	}
}

// TestPhases holds what is shown of the phases of runs in narrow, usual and wide terminals.
func TestPhases(t *testing.T) {
	t.Parallel()
	for name, run := range phaseTrees(t) {
		var got strings.Builder
		p, now := run()
		for _, width := range []int{40, 60, 100, 200} {
			fmt.Fprintf(&got, "-- %d columns --\n", width)
			f := frame{progress: p, now: now, width: width, height: 30, lastLine: func(progress.Active) string { return "" }}
			f.choose(&keyboard{})
			for _, r := range f.rows() {
				if columns := displaywidth.String(r.text); columns != r.columns || columns >= width {
					t.Errorf("%s: a row takes %d columns of %d, and says %d: %q", name, columns, width, r.columns, r.text)
				}
				got.WriteString(strings.TrimRight(r.text, " ") + "\n")
			}
		}
		compareGolden(t, filepath.Join("testdata", "frames", name+".txt"), got.String())
	}
}

// TestPhasesFit: the rows of phases leave a line of the screen free, and leave the steps their rows. Where they
// are few, some phases share a row, and the help is there.
func TestPhasesFit(t *testing.T) {
	t.Parallel()
	for name, run := range phaseTrees(t) {
		p, now := run()
		for height := 6; height < 40; height++ {
			for _, asked := range []bool{false, true} {
				f := frame{progress: p, now: now, width: 100, height: height, asked: asked, lastLine: func(progress.Active) string { return "" }}
				f.choose(&keyboard{})
				rows := f.rows()
				var texts []string
				for _, r := range rows {
					texts = append(texts, r.text)
				}
				shown := strings.Join(texts, "\n")
				if len(rows) >= height-1 {
					t.Errorf("%s: %d rows on a screen of %d", name, len(rows), height)
				}
				for _, a := range p.Active() {
					if height >= 10 && !strings.Contains(shown, "● "+a.Name) && !strings.Contains(shown, "? "+a.Name) {
						t.Errorf("%s: %s has no row on a screen of %d:\n%s", name, a.Name, height, shown)
					}
				}
				if asked && height >= 10 && !strings.Contains(shown, "?: hide this") {
					t.Errorf("%s: no help on a screen of %d:\n%s", name, height, shown)
				}
			}
		}
	}
}

// TestNoNameIsCutOff: where no name has room, the later phases are counted.
func TestNoNameIsCutOff(t *testing.T) {
	t.Parallel()
	a := ahead{then: justThen, phases: []*progress.Phase{{Name: "a-name-that-is-rather-long"}, {Name: "b"}}}
	for width, want := range map[int]string{80: "then: a-name-that-is-rather-long, b", 34: "then: 2 phases", 30: "then: 2 phases"} {
		if got := a.inOneRow(width); got != want {
			t.Errorf("in %d columns: %q, want %q", width, got, want)
		}
	}
}
