package state_test

import (
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// rejectable returns a state with an earlier phase, a phase with a chain of two workstreams
// and with instances of a block, and a later phase. Everything but the last instance is done.
func rejectable(t *testing.T) *fold {
	t.Helper()
	ws := func(name string, batch int, gates ...string) state.WorkstreamShape {
		return state.WorkstreamShape{Name: name, Batch: batch, Gates: gates}
	}
	p := &play{fold: &fold{T: t}, kinds: map[state.Kind]bool{}}
	e := small("s")
	e.Shape = state.Shape{Phases: []state.PhaseShape{
		{Name: "plan", Workstreams: []state.WorkstreamShape{ws("design", 1)}},
		{Name: "build", Gates: []string{"ship"}, Workstreams: []state.WorkstreamShape{
			ws("api", 1), ws("app", 2, "look"), ws(`page["a"]`, 1), ws(`page["b"]`, 1), ws(`page["c"]`, 2),
		}},
		{Name: "later", Workstreams: []state.WorkstreamShape{ws("archive", 1)}},
	}}
	p.begin(e)
	p.do(done("design"), done("api"), done("app"), done(`page["a"]`), done(`page["b"]`), done("archive"))
	return p.fold
}

func TestRejectionNamesWork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		gate  string
		names []string
		want  []string
		err   string
	}{
		{gate: "ship (build)"},
		{gate: "ship (build)", names: []string{"app", "design", "app"}, want: []string{"app", "design"}},
		{gate: "ship (build)", names: []string{"page"}, want: []string{`page["a"]`, `page["b"]`}},
		{gate: "look (app)", names: []string{"app", "api", "design"}, want: []string{"app", "api", "design"}},
		{gate: "look (app)", names: []string{`page["c"]`}, err: `page["c"] does not come before look (app)`},
		{gate: "ship (build)", names: []string{`page["c"]`}, err: `page["c"] is pending, so it has no result to reject`},
		{gate: "ship (build)", names: []string{"design", "archive"}, err: "archive does not come before ship (build)"},
		{gate: "ship (build)", names: []string{"pag"}, err: `there is no workstream "pag"; it can be: api, app, page["a"], page["b"], design`},
	} {
		f := rejectable(t)
		got, err := state.Rejection{State: f.State, Gate: f.Gate(tt.gate)}.Work(tt.names)
		switch {
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s to %q: %v, want %q", tt.gate, tt.names, err, tt.err)
		case tt.err == "" && (err != nil || !slices.Equal(got, tt.want)):
			t.Errorf("%s to %q: %q, %v, want %q", tt.gate, tt.names, got, err, tt.want)
		}
	}
}

// TestRejectionNamesWhatRunsAgain: with To, only the named workstreams run again, and those
// that the gate judged are told of the rejection, until they have done their work or the
// gate has passed.
func TestRejectionNamesWhatRunsAgain(t *testing.T) {
	t.Parallel()
	const ship = "ship (build)"
	f := rejectable(t)
	check := func(when string, rejected, told []string) {
		t.Helper()
		var again, have []string
		for w := range f.Records() {
			if w.Rejected == ship {
				again = append(again, w.Name)
			}
			if slices.Contains(w.Objections, ship) {
				have = append(have, w.Name)
			}
		}
		if !slices.Equal(again, rejected) || !slices.Equal(have, told) {
			t.Errorf("%s: run again %q, told %q; want %q, %q", when, again, have, rejected, told)
		}
		if _, has := f.Feedback.Objections[ship]; has != (len(told) > 0) {
			t.Errorf("%s: the objection is on record: %v", when, has)
		}
	}
	f.apply(state.GateRejected{Verdict: state.Verdict{Gate: ship}, By: checkpointtest.By, Reason: "no", To: []string{"design"}})
	check("rejected", []string{"design"}, []string{"design", "api", "app", `page["a"]`, `page["b"]`})
	f.apply(state.WorkstreamInvalidated{Workstream: "design", Reason: "rejected"})
	check("invalidated", nil, []string{"design", "api", "app", `page["a"]`, `page["b"]`})
	f.apply(start("design", 2), done("design"), start("api", 2), done("api"))
	check("done again", nil, []string{"app", `page["a"]`, `page["b"]`})
	f.apply(state.GateApproved{Verdict: state.Verdict{Gate: ship}, By: checkpointtest.By})
	check("approved", nil, nil)
	if err := f.try(state.GateRejected{Verdict: state.Verdict{Gate: ship}, To: []string{"none"}}); err == nil {
		t.Error("a rejection of an unknown workstream fits the state")
	}
}

// TestObjectionOutlivesItsGate: work that was rejected is told why although its gate passed
// before it ran again, and no objection stays when its phase has completed.
func TestObjectionOutlivesItsGate(t *testing.T) {
	t.Parallel()
	const ship = "ship (build)"
	f := rejectable(t)
	f.apply(state.GateRejected{Verdict: state.Verdict{Gate: ship}, By: checkpointtest.By, Reason: "no", To: []string{"design"}},
		state.GatePassed{Verdict: state.Verdict{Gate: ship}}, state.PhaseCompleted{Phase: "build"})
	if f.Feedback.Objections[ship].Comment != "no" || !slices.Contains(f.Workstream("design").Objections, ship) {
		t.Errorf("%+v; %q", f.Feedback, f.Workstream("design").Objections)
	}
	f.apply(start("design", 2), done("design"), state.PhaseCompleted{Phase: "plan"})
	if len(f.Feedback.Objections) > 0 {
		t.Errorf("after everything has run: %+v", f.Feedback)
	}
}
