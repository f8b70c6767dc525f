package state_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// fold is a state to which a test applies events, one commit each.
type fold struct {
	*testing.T
	*state.State
}

// newFold returns the state of a started session of the cashier's five workstreams.
func newFold(t *testing.T) *fold {
	t.Helper()
	f := &fold{T: t, State: &state.State{}}
	f.apply(checkpointtest.Started("S1", checkpointtest.Cashier()))
	return f
}

func (f *fold) try(events ...state.Event) error {
	return f.Apply(state.Commit{Seq: f.Seq + 1, Time: time.UnixMilli(int64(f.Seq) + 1).UTC(), Events: events}) //nolint:gosec // few commits
}

func (f *fold) apply(events ...state.Event) {
	f.Helper()
	for _, e := range events {
		if err := f.try(e); err != nil {
			f.Fatal(err)
		}
	}
}

// checkpoint adds a checkpoint, and returns a copy of the state.
func (f *fold) checkpoint(id string, trigger state.Trigger) *state.State {
	f.Helper()
	f.apply(state.CheckpointCreated{ID: id, Trigger: trigger, Step: f.CurrentStep()})
	return f.Clone()
}

// rollBack records a rollback to a checkpoint. then is the state of that checkpoint.
func (f *fold) rollBack(id, to string, scope state.RollbackScope, then *state.State, skipped ...state.Text) {
	f.Helper()
	f.checkpoint("safety-"+id, state.TriggerPreRollback)
	f.apply(state.RollbackStarted{ID: id, To: to, ToSeq: f.Checkpoint(to).Seq, Safety: "safety-" + id, Scope: scope},
		state.RollbackCompleted{ID: id, State: then, Skipped: skipped})
}

func (f *fold) valid() (ids []string) {
	for _, ref := range f.ValidTrail() {
		ids = append(ids, ref.ID)
	}
	return ids
}

// TestHooksEndInTheirOrder: each hook that is due ends once, and none ends before an
// earlier one has ended.
func TestHooksEndInTheirOrder(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	if err := f.try(state.HookEnded{Event: "complete", Hook: 1}); !errors.Is(err, state.ErrFold) {
		t.Errorf("no hook is due: %v", err)
	}
	f.apply(state.HooksDue{Event: "failed", Hooks: 2})
	for name, e := range map[string]state.HookEnded{
		"of another event": {Event: "complete", Hook: 1},
		"the second first": {Event: "failed", Hook: 2},
	} {
		if err := f.try(e); !errors.Is(err, state.ErrFold) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.apply(state.HookEnded{Event: "failed", Hook: 1})
	if f.Hooks == nil || f.Hooks.Ended != 1 {
		t.Errorf("after the first: %+v", f.Hooks)
	}
	if f.apply(state.HookEnded{Event: "failed", Hook: 2}); f.Hooks != nil {
		t.Errorf("after the last: %+v", f.Hooks)
	}
}

// TestRejectedWorkRunsAgain: a rejection marks the workstream that the gate judged, if
// the work of the workstream is done.
func TestRejectedWorkRunsAgain(t *testing.T) {
	t.Parallel()
	const gate = "schema-validation (WS1)"
	reject := state.GateRejected{Verdict: state.Verdict{Gate: gate}}
	f := newFold(t)
	f.apply(state.WorkstreamSucceeded{Workstream: "WS1"}, state.GateAsked{Verdict: state.Verdict{Gate: gate}}, reject)
	if got := f.Workstream("WS1").Rejected; got != gate {
		t.Errorf("work that is done is marked with %q", got)
	}
	f = newFold(t)
	f.apply(state.GateAsked{Verdict: state.Verdict{Gate: gate}}, reject)
	if got := f.Workstream("WS1").Rejected; got != "" {
		t.Errorf("work that is not done is marked with %q", got)
	}
}

// TestLatest: latest is the current checkpoint, and latest~N counts back over the valid
// ones. Damaged checkpoints are skipped, unless there are no others.
func TestLatest(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	for _, id := range []string{"a", "b", "c"} {
		f.checkpoint(id, state.TriggerManual)
	}
	want := func(ref, id string, passedOver ...string) {
		t.Helper()
		found, err := f.FindCheckpoint(ref)
		switch {
		case id == "":
			if !errors.Is(err, state.ErrNoCheckpoint) {
				t.Errorf("%s: %+v, %v", ref, found, err)
			}
		case err != nil || found.ID != id:
			t.Errorf("%s: %+v, %v; want %s", ref, found, err, id)
		default:
			if got := f.PassedOver(ref, found); !slices.Equal(got, passedOver) {
				t.Errorf("%s passes over %q, want %q", ref, got, passedOver)
			}
		}
	}
	want("latest", "c")
	want("latest~2", "a")
	want("latest~3", "")
	want("latest~x", "")
	f.apply(state.CheckpointDamaged{ID: "b", Reason: "a byte differs"})
	want("latest", "c")
	want("latest~1", "a", "b")
	want("latest~2", "")
	want("b", "b")
	f.apply(state.CheckpointDamaged{ID: "a"}, state.CheckpointDamaged{ID: "c"})
	want("latest", "c")
	want("latest~2", "a")
	if names := f.Names(); names["a"] != "0" || names["b"] != "latest~1" {
		t.Errorf("names %v", names)
	}
}

// TestOthersOfStep names the valid checkpoints of the same step and moment.
func TestOthersOfStep(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	f.checkpoint("a", state.TriggerManual)
	if got := f.OthersOfStep(f.Checkpoint("a")); got != "" {
		t.Errorf("there is no other: %q", got)
	}
	f.checkpoint("b", state.TriggerManual)
	f.apply(state.WorkstreamStarted{Workstream: "WS1", Attempt: 1})
	f.checkpoint("later", state.TriggerManual)
	if got, want := f.OthersOfStep(f.Checkpoint("a")), "; of step 0 there is also b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRollbackAndUndo: a rollback makes the later checkpoints invalid, and undoing the
// rollback makes them valid again. The checkpoint that undoes a rollback is needed until
// the rollback is undone.
func TestRollbackAndUndo(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	one := f.checkpoint("one", state.TriggerManual)
	f.apply(checkpointtest.Work("WS1", "schema-validation", "a")...)
	f.checkpoint("two", state.TriggerManual)
	f.rollBack("R1", "one", state.RollbackAll, one)
	if got := f.valid(); !slices.Equal(got, []string{"one"}) || f.Checkpoint("two").InvalidatedBy != "R1" || f.Workstream("WS1").Status != state.Pending {
		t.Errorf("after the rollback %q are valid, WS1 is %s", got, f.Workstream("WS1").Status)
	}
	if f.Status != state.StatusPaused || f.Workstream("WS1").Attempts != 1 {
		t.Errorf("status %s, %d attempts", f.Status, f.Workstream("WS1").Attempts)
	}
	if got := slices.Collect(maps.Keys(f.Undoers())); !slices.Equal(got, []string{"safety-R1"}) || f.RollbackWith("safety-R1") != "R1" {
		t.Errorf("needed to undo it: %q", got)
	}
	undone := f.Clone()
	f.rollBack("R2", "safety-R1", state.RollbackAll, f.Clone())
	if got := f.valid(); !slices.Equal(got, []string{"one", "two", "safety-R1"}) {
		t.Errorf("after undoing it %q are valid", got)
	}
	if got := slices.Collect(maps.Keys(f.Undoers())); !slices.Equal(got, []string{"safety-R2"}) {
		t.Errorf("needed to undo the undoing: %q", got)
	}

	for name, tt := range map[string]struct {
		scope   state.RollbackScope
		skipped []state.Text
		needed  []string
	}{
		"the files alone":            {scope: state.RollbackFiles, needed: []string{"safety-R1", "safety-R3"}},
		"all but a file":             {scope: state.RollbackAll, skipped: []state.Text{"a"}, needed: []string{"safety-R1", "safety-R3"}},
		"everything":                 {scope: state.RollbackAll, needed: []string{"safety-R3"}},
		"the state alone, of it all": {scope: state.RollbackState, needed: []string{"safety-R1", "safety-R3"}},
	} {
		g := &fold{T: t, State: undone.Clone()}
		var then *state.State
		if tt.scope != state.RollbackFiles {
			then = g.Clone()
		}
		g.rollBack("R3", "safety-R1", tt.scope, then, tt.skipped...)
		if got := slices.Sorted(maps.Keys(g.Undoers())); !slices.Equal(got, tt.needed) {
			t.Errorf("undone was %s: %q are needed, want %q", name, got, tt.needed)
		}
	}
}

// TestRollbackOfWorkThatHappensOnce: after a rollback to a checkpoint at which a once
// step had not ended, the step is uncertain, because nothing undoes what the step did.
func TestRollbackOfWorkThatHappensOnce(t *testing.T) {
	t.Parallel()
	shape := checkpointtest.Cashier()
	shape.Phases[0].Workstreams[0].Once = true
	f := &fold{T: t, State: &state.State{}}
	f.apply(checkpointtest.Started("S1", shape))
	before := f.checkpoint("before", state.TriggerManual)
	f.apply(state.WorkstreamStarted{Workstream: "WS1", Attempt: 1})
	during := f.checkpoint("during", state.TriggerManual)
	f.apply(state.WorkstreamSucceeded{Workstream: "WS1", Work: state.Work{Attempt: 1}})
	for name, tt := range map[string]struct {
		to      string
		then    *state.State
		message string
	}{
		"before it started": {"before", before, "it has happened, and a rollback went back before it"},
		"while it ran":      {"during", during, "it was running at the checkpoint that a rollback went back to"},
	} {
		g := &fold{T: t, State: f.Clone()}
		g.rollBack("R1", tt.to, state.RollbackAll, tt.then)
		if w := g.Workstream("WS1"); w.Status != state.Uncertain || w.Error == nil || string(w.Error.Message) != tt.message {
			t.Errorf("%s: %s, %+v", name, w.Status, w.Error)
		}
		if acts := g.KnownActs(); len(acts) == 0 || acts[0].Workstream != "WS1" {
			t.Errorf("%s: the acts are %+v", name, acts)
		}
	}
}

// TestBrokenRollbacks: an event of a rollback is refused if it does not fit the rollback
// that is in progress.
func TestBrokenRollbacks(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	f.checkpoint("one", state.TriggerManual)
	if err := f.try(state.RollbackCompleted{ID: "R1"}); !errors.Is(err, state.ErrFold) {
		t.Errorf("none is under way: %v", err)
	}
	f.apply(state.RollbackStarted{ID: "R1", To: "one", ToSeq: f.Seq, Safety: "one", Scope: state.RollbackAll, StateSeq: f.Seq})
	if got := f.FinishedWith(); !slices.Equal(got, []string{"one", "one", "one"}) {
		t.Errorf("needed to finish it: %q", got)
	}
	for name, e := range map[string]state.Event{
		"a second one":                  state.RollbackStarted{ID: "R2"},
		"the end of another one":        state.RollbackFailed{ID: "R2"},
		"a state without a structure":   state.RollbackCompleted{ID: "R1", State: &state.State{Phases: []*state.Phase{nil}}},
		"the completion of another one": state.RollbackCompleted{ID: "R2"},
	} {
		if err := f.try(e); !errors.Is(err, state.ErrFold) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.apply(state.RollbackFailed{ID: "R1", Error: "no"})
	if f.Rollback != nil || len(f.Rollbacks) != 1 || len(f.Undoers()) > 0 || f.RollbackWith("one") != "" || len(f.FinishedWith()) > 0 {
		t.Errorf("after it failed: %+v, %+v", f.Rollback, f.Rollbacks)
	}
}

// TestRememberActs: the user has decided that a once step runs again. The decision no
// longer counts when the state learns that another session has done the step.
func TestRememberActs(t *testing.T) {
	t.Parallel()
	shape := checkpointtest.Cashier()
	shape.Phases[0].Workstreams[0].Once = true
	at := time.UnixMilli(50).UTC()
	for _, name := range []string{"WS1", "WS2"} {
		f := &fold{T: t, State: &state.State{}}
		f.apply(checkpointtest.Started("S1", shape), state.WorkstreamStarted{Workstream: name, Attempt: 1},
			state.WorkstreamFailed{Workstream: name, Error: state.Failure{Message: "no"}})
		f.Workstream(name).Status, f.Workstream(name).Repeat = state.Failed, true
		f.RememberActs([]state.Act{{Workstream: name, Session: "S0", At: at}, {Workstream: "none"}})
		w, revoked := f.Workstream(name), name == "WS1"
		if w.Repeat == revoked || (w.Status == state.Pending) != revoked {
			t.Errorf("%s: repeat %t, %s", name, w.Repeat, w.Status)
		}
		if newest := state.NewestAct(f.Acts, name); newest == nil || newest.Session != "S0" {
			t.Errorf("%s: %+v", name, f.Acts)
		}
	}
}

// TestMergeActs: of equal acts, MergeActs keeps the newest.
func TestMergeActs(t *testing.T) {
	t.Parallel()
	act := func(session string, at int64, uncertain bool) state.Act {
		return state.Act{Workstream: "WS1", Session: session, At: time.UnixMilli(at), Uncertain: uncertain}
	}
	acts := state.MergeActs(nil, act("old", 1, false), act("new", 3, false), act("between", 2, false), act("maybe", 1, true), act("as new", 3, false))
	if len(acts) != 2 || acts[0].Session != "as new" || acts[1].Session != "maybe" {
		t.Errorf("%+v", acts)
	}
	if got := state.UnknownActs([]state.Act{act("x", 3, false), act("y", 4, false)}, acts); len(got) != 1 || got[0].Session != "y" {
		t.Errorf("unknown: %+v", got)
	}
	if got := state.NewestAct(acts, "WS2"); got != nil {
		t.Errorf("of another workstream: %+v", got)
	}
}

// TestAmbiguousReference: the beginning of an id finds a checkpoint only if no other id
// begins with the same text.
func TestAmbiguousReference(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	f.checkpoint("CP-aa", state.TriggerManual)
	f.checkpoint("CP-ab", state.TriggerManual)
	var ambiguous *state.AmbiguousError
	if _, err := f.FindCheckpoint("CP-a"); !errors.As(err, &ambiguous) || !strings.Contains(err.Error(), "CP-aa, CP-ab") {
		t.Errorf("CP-a: %v", err)
	}
	for ref, want := range map[string]string{"CP-ab": "CP-ab", "CP-aa": "CP-aa"} {
		if found, err := f.FindCheckpoint(ref); err != nil || found.ID != want {
			t.Errorf("%s: %+v, %v", ref, found, err)
		}
	}
	var unknown *state.UnknownCheckpointError
	for _, ref := range []string{"", "CP-b"} {
		if _, err := f.FindCheckpoint(ref); !errors.As(err, &unknown) {
			t.Errorf("%q: %v", ref, err)
		}
	}
}
