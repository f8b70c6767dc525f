package why_test

import (
	"fmt"
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
	"prdrunner/runner/why"
)

// TestEachCauseOnce: a cause to which many ways lead is told once, in the plan and in the journal.
func TestEachCauseOnce(t *testing.T) {
	t.Parallel()
	const layers = 40 // of two workstreams, each of which needs both of the layer before: 2^40 ways
	var steps []plan.Step
	var commits [][]state.Event
	name := func(layer, i int) string { return fmt.Sprintf("w%d-%d", layer, i) }
	for round := range 2 {
		for layer := range layers {
			for i := range 2 {
				d := state.Digest{Definition: "sha256:d", Upstream: fmt.Sprint(round), Results: map[string]string{}}
				if layer > 0 {
					d.Results[name(layer-1, 0)], d.Results[name(layer-1, 1)] = fmt.Sprint(round), fmt.Sprint(round)
				} else {
					d.Upstream, d.Inputs = "", fmt.Sprint(round)
				}
				commits = append(commits, append([]state.Event{started(name(layer, i), round+1, d)}, succeeded(name(layer, i), d)...))
			}
		}
	}
	for layer := range layers {
		for i := range 2 {
			s := plan.Step{Kind: plan.WorkstreamStep, Name: name(layer, i), Decision: plan.Rerun, Reason: "inputs changed"}
			if layer > 0 {
				s.Decision, s.On = plan.Depends, []string{name(layer-1, 0), name(layer-1, 1)}
			}
			steps = append(steps, s)
		}
	}
	got := explain(t, &plan.Plan{Phases: []plan.Phase{{Steps: steps}}}, journal(t, commits...), name(layers-1, 0))
	for what, cause := range map[string]*why.Cause{"the next build": got.Next, "the last run": got.Last.Cause} {
		full, above := map[string]int{}, 0
		cause.Causes(func(c *why.Cause) {
			if c.Above {
				above++
			} else {
				full[c.Name]++
			}
		})
		if len(full) != 2*layers-1 || above != 2*(layers-2) {
			t.Errorf("%s: %d causes are told and %d named, want %d and %d", what, len(full), above, 2*layers-1, 2*(layers-2))
		}
		for name, n := range full {
			if n != 1 {
				t.Errorf("%s: %s is told %d times", what, name, n)
			}
		}
	}
}

// recorded returns the state of a session in which notes has completed, and its gate has passed.
func recorded(seq uint64, d state.Digest) *state.State {
	return &state.State{Seq: seq, Phases: []*state.Phase{{Name: "p", Workstreams: []*state.Workstream{{
		Name: "notes", Status: state.Completed, Attempts: 1, WorkSeq: 2, StartedAt: &began, Digest: d,
		Artifacts: []state.Artifact{{Path: "notes.md"}},
		Gates:     []*state.Gate{{Label: "lint (notes)", Status: state.Passed, Attempts: 1, At: &began}},
	}, {Name: "archive", Status: state.Pending}}}}}
}

func notesFrom(version string) state.Digest {
	return state.Digest{Definition: "sha256:d", Inputs: version, Files: []state.FileRef{{Path: "changes/1.md", Digest: version}}}
}

var stepsOfNotes = &plan.Plan{Phases: []plan.Phase{{Steps: []plan.Step{
	{Kind: plan.WorkstreamStep, Name: "notes", Decision: plan.Reuse},
	{Kind: plan.GateStep, Name: "lint (notes)", Decision: plan.Reuse},
	{Kind: plan.WorkstreamStep, Name: "archive", Decision: plan.Run},
}}}}

// TestCompacted: the state that a compacted journal begins with tells the runs before it.
func TestCompacted(t *testing.T) {
	t.Parallel()
	var h why.History
	visit := func(c state.Commit) {
		t.Helper()
		if err := h.Visit(c); err != nil {
			t.Fatal(err)
		}
	}
	visit(state.Commit{Seq: 50, Time: began.Add(time.Hour), State: recorded(50, notesFrom("1"))})
	last := explain(t, stepsOfNotes, &h, "notes").Last
	if last == nil || !last.At.Equal(began) || last.Attempt != 1 || last.Seq != 2 || last.Ended != "completed" {
		t.Errorf("the last run of notes: %+v", last)
	} else if got, want := last.Cause.Chain(), "notes ran: the journal was compacted since, and no longer says why"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if last := explain(t, stepsOfNotes, &h, "lint (notes)").Last; last == nil || last.Ended != "passed" || !last.At.Equal(began) {
		t.Errorf("the last verdict: %+v", last)
	}
	if last := explain(t, stepsOfNotes, &h, "archive").Last; last != nil {
		t.Errorf("archive has not run: %+v", last)
	}
	visit(state.Commit{Seq: 51, Time: began.Add(2 * time.Hour), Events: []state.Event{started("notes", 2, notesFrom("2"))}})
	if got, want := explain(t, stepsOfNotes, &h, "notes").Last.Cause.Chain(), "notes ran again: inputs changed: changes/1.md"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRolledBack: after a rollback the work at its target counts, and that after it does not.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	archive := state.Digest{Definition: "sha256:d", Inputs: "x", Files: []state.FileRef{{Path: "other.md", Digest: "x"}}}
	commits := [][]state.Event{
		{started("notes", 1, notesFrom("1"))}, succeeded("notes", notesFrom("1"), state.Artifact{Path: "notes.md"}),
		{started("notes", 2, notesFrom("2"))}, succeeded("notes", notesFrom("2")),
		{started("archive", 1, archive)}, succeeded("archive", archive, state.Artifact{Path: "notes.md"}),
	}
	back := func(to *state.State) []state.Event {
		return []state.Event{state.RollbackCompleted{ID: "R1", State: to}}
	}
	commits = append(commits, back(recorded(2, notesFrom("1")))) // commit 7
	last := func(commits [][]state.Event, name string) *why.Run {
		return explain(t, stepsOfNotes, journal(t, commits...), name).Last
	}
	if got := last(commits, "notes"); got.Seq != 1 || got.Ended != "completed" {
		t.Errorf("the last run of notes is %+v, want that of commit 1", got)
	}
	if got := last(commits, "archive"); got.Seq != 5 || got.Ended != "completed; a rollback took it back" {
		t.Errorf("the last run of archive is %+v, want one that was taken back", got)
	}
	for _, c := range []struct {
		name string
		then state.Digest
		want string
	}{
		{"notes", notesFrom("2"), "notes ran again: inputs changed: changes/1.md"},
		{"archive", archive, "archive ran again: a rollback took it back"},
	} {
		got := last(append(commits[:7:7], []state.Event{started(c.name, 3, c.then)}), c.name)
		if chain := got.Cause.Chain(); chain != c.want {
			t.Errorf("%q, want %q", chain, c.want)
		}
	}
	// A file of the target is again that of the workstream which had made it then.
	uses := &plan.Plan{Phases: []plan.Phase{{Steps: []plan.Step{{
		Kind: plan.WorkstreamStep, Name: "reader", Decision: plan.Rerun, Changes: []plan.Change{{Component: "inputs", Name: "notes.md"}},
	}}}}}
	if got, want := explain(t, uses, journal(t, commits...), "reader").Next.Chain(), "reader runs again, because notes ran: it had not run yet"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// A rollback to the state before the first one undoes it.
	undone := recorded(6, notesFrom("2"))
	undone.Phases[0].Workstreams[1] = &state.Workstream{Name: "archive", Status: state.Completed, Attempts: 1, WorkSeq: 6, Digest: archive}
	if got := last(append(commits[:7:7], back(undone)), "archive"); got.Seq != 5 || got.Ended != "completed" {
		t.Errorf("after the rollback was undone: %+v", got)
	}
}
