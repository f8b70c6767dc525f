package state_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// TestKnownActs: work that must happen only once is known to have happened if it is done,
// and perhaps if it is uncertain or runs.
func TestKnownActs(t *testing.T) {
	t.Parallel()
	uncertain := state.WorkstreamUncertain{Workstream: "C", Error: state.Failure{Message: "unknown"}}
	for name, tt := range map[string]struct {
		events []state.Event
		want   string
	}{
		"nothing has begun":        {want: ""},
		"it runs":                  {[]state.Event{start("C", 1)}, "maybe"},
		"it is uncertain":          {[]state.Event{start("C", 1), uncertain}, "maybe"},
		"it may be one of before":  {[]state.Event{uncertain}, "maybe"},
		"it is done":               {[]state.Event{start("C", 1), done("C")}, "done"},
		"it failed":                {[]state.Event{start("C", 1), state.WorkstreamFailed{Workstream: "C"}}, ""},
		"it was done by hand":      {[]state.Event{start("C", 1), uncertain, state.WorkstreamResolved{Workstream: "C", Resolution: state.ResolvedDone}}, "done"},
		"it has not happened":      {[]state.Event{start("C", 1), uncertain, state.WorkstreamResolved{Workstream: "C", Resolution: state.ResolvedRerun}}, ""},
		"another one may run anew": {[]state.Event{start("A", 1), done("A"), start("B", 1)}, ""},
	} {
		f := &fold{T: t, State: &state.State{}}
		f.apply(small("S1"))
		f.apply(tt.events...)
		var got []string
		for _, a := range f.KnownActs() {
			is := "done"
			if a.Uncertain {
				is = "maybe"
			}
			got = append(got, is)
			if a.Workstream != "C" || a.Session != "S1" {
				t.Errorf("%s: %+v", name, a)
			}
		}
		checkpointtest.Same(t, name, strings.Join(got, " "), tt.want)
	}
}

// TestFirstCommit: the commits of a session that begins from a complete one are numbered
// on from that one.
func TestFirstCommit(t *testing.T) {
	t.Parallel()
	from := small("S2")
	from.From = &state.State{Session: "S1", Seq: 7, Phases: []*state.Phase{}}
	for want, events := range map[uint64][]state.Event{8: {from}, 1: {small("S1")}} {
		checkpointtest.Same(t, "the first commit", (&state.Commit{Events: events}).FirstSeq(), want)
	}
	for _, c := range []state.Commit{{}, {Events: []state.Event{start("A", 1)}}} {
		checkpointtest.Same(t, "the first commit", c.FirstSeq(), 1)
	}
	try := func(seq uint64, e state.Event) error {
		return new(state.State).Apply(state.Commit{Seq: seq, Time: time.UnixMilli(1), Events: []state.Event{e}})
	}
	checkpointtest.Must(t, try(8, from))
	broken := from
	broken.From = &state.State{Seq: 7, Phases: []*state.Phase{nil}}
	var version *state.VersionError
	newer := small("S1")
	newer.FormatVersion = "99.0"
	if err := try(9, from); !errors.Is(err, state.ErrFold) {
		t.Errorf("a commit is missing: %v", err)
	}
	if err := try(8, broken); !errors.Is(err, state.ErrFold) {
		t.Errorf("from a state without a structure: %v", err)
	}
	if err := try(1, newer); !errors.As(err, &version) {
		t.Errorf("of a newer version: %v", err)
	}
}

// TestEventsThatDoNotFit: an event about something that the state does not have is
// refused.
func TestEventsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, e := range []state.Event{
		small("S2"),
		state.PhaseStarted{Phase: "none"}, state.PhaseCompleted{Phase: "none"}, state.PhaseSkipped{Phase: "none"},
		start("none", 1), state.WorkstreamUncertain{Workstream: "none"}, state.GateStarted{Gate: "none"},
		state.CheckpointPinned{ID: "none"}, state.CheckpointUnpinned{ID: "none"}, state.CheckpointDamaged{ID: "none"}, state.CheckpointRebuilt{ID: "none"},
		state.RollbackFailed{ID: "none"}, state.HookEnded{Event: "complete", Hook: 1},
	} {
		if err := newFold(t).try(e); !errors.Is(err, state.ErrFold) {
			t.Errorf("%s: %v", e.Kind(), err)
		}
	}
}
