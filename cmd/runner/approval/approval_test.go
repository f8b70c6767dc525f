package approval

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/cli"
)

// session returns a session with two workstreams and two gates of each, and two checkpoints.
func session() *state.State {
	var list []*state.Workstream
	for _, name := range []string{"a", "b"} {
		w := &state.Workstream{Name: name, Attempts: 1}
		for i := range 2 {
			w.Gates = append(w.Gates, &state.Gate{Label: fmt.Sprintf("g%d (%s)", i, name), Status: state.Waiting})
		}
		list = append(list, w)
	}
	st := &state.State{PRD: "PRD-001", Phases: []*state.Phase{{Name: "one", Workstreams: list, Gates: []*state.Gate{{Label: "ok (one)", Status: state.Waiting}}}}}
	for i, seq := range []uint64{1, 5} {
		trigger := state.TriggerStart
		if i > 0 {
			trigger = state.TriggerPhaseTransition
		}
		st.Checkpoints = append(st.Checkpoints, &state.CheckpointRef{ID: fmt.Sprintf("CP-%d", i+1), Seq: seq, Valid: true, Trigger: trigger})
	}
	return st.Clone() // knows which gate is whose
}

// filesOf returns what a survey says of each gate, and the checkpoints with which the workspace was compared.
func filesOf(t *testing.T, st *state.State, commits ...state.Commit) (said map[string]string, compared []string) {
	t.Helper()
	s := &survey{Reader: Reader{Env: &cli.Environment{}, State: st}, done: map[string]comparison{}}
	for _, c := range commits {
		if err := s.starts.visit(c); err != nil {
			t.Fatal(err)
		}
	}
	s.compare = func(base *state.CheckpointRef) (*compare.Comparison, error) {
		compared = append(compared, base.ID)
		return &compare.Comparison{From: compare.Point{ID: base.ID}}, nil
	}
	said = map[string]string{}
	for g := range st.Gates() {
		if _, files := s.files(g); files.Unknown != "" {
			said[g.Label] = string(files.Unknown)
		} else {
			said[g.Label] = files.Checkpoint + " " + files.Before
		}
	}
	return said, compared
}

// TestOneComparison: gates whose work began after the same checkpoint share a comparison.
func TestOneComparison(t *testing.T) {
	t.Parallel()
	said, compared := filesOf(t, session(),
		state.Commit{Seq: 2, Events: []state.Event{state.PhaseStarted{Phase: "one"}, state.WorkstreamStarted{Workstream: "a"}}},
		state.Commit{Seq: 6, Events: []state.Event{state.WorkstreamStarted{Workstream: "b"}}},
		state.Commit{Seq: 7, Events: []state.Event{state.WorkstreamStarted{Workstream: "a", Attempt: 2}}},
	)
	if diff := cmp.Diff([]string{"CP-1", "CP-2"}, compared); diff != "" {
		t.Errorf("the workspace was compared with (-want +got):\n%s", diff)
	}
	want := map[string]string{
		"g0 (a)": "CP-1 before a began", "g1 (a)": "CP-1 before a began", "ok (one)": "CP-1 before one began",
		"g0 (b)": "CP-2 before b began", "g1 (b)": "CP-2 before b began",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("the files are compared with (-want +got):\n%s", diff)
	}
}

// TestStartOfSuccessor: a session that began with the results of another one counts no edit made between the two, and
// says so.
func TestStartOfSuccessor(t *testing.T) {
	t.Parallel()
	st := session()
	st.BeganFrom = &state.Predecessor{Session: "earlier"}
	said, _ := filesOf(t, st, state.Commit{Seq: 2, Events: []state.Event{state.PhaseStarted{Phase: "one"}}}, state.Commit{Seq: 6, Events: []state.Event{state.WorkstreamStarted{Workstream: "b"}}})
	first := "CP-1 when this session began; what changed before is not counted"
	want := map[string]string{"g0 (a)": first, "g1 (a)": first, "ok (one)": first, "g0 (b)": "CP-2 before b began", "g1 (b)": "CP-2 before b began"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("the files are compared with (-want +got):\n%s", diff)
	}
}

// TestCompactedStart: of work that began before the journal does, no moment is claimed.
func TestCompactedStart(t *testing.T) {
	t.Parallel()
	began := time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)
	from := session()
	from.Phases[0].StartedAt, from.Workstream("b").Session = &began, "earlier"
	said, _ := filesOf(t, session(),
		state.Commit{Seq: 9, State: from},
		state.Commit{Seq: 10, Events: []state.Event{state.WorkstreamStarted{Workstream: "a", Attempt: 2}}},
	)
	lost := "the journal was compacted since, and no longer says when "
	earlier := "CP-1 when this session began; what changed before is not counted"
	want := map[string]string{"g0 (a)": lost + "a began", "g1 (a)": lost + "a began", "ok (one)": lost + "one began", "g0 (b)": earlier, "g1 (b)": earlier}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("the files are compared with (-want +got):\n%s", diff)
	}
}
