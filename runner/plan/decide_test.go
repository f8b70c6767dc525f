package plan

import (
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	same := state.Digest{Definition: "d1"}
	edited := []Conflict{{Path: "out/a", Workstream: "A", Recorded: "x", Found: "y"}}
	gone := []Conflict{{Path: "out/a", Workstream: "A", Recorded: "x"}}
	completed := func(mod func(*state.Workstream)) *state.Workstream {
		w := &state.Workstream{Name: "A", Status: state.Completed, Attempts: 1, Digest: same}
		if mod != nil {
			mod(w)
		}
		return w
	}
	gate := func(status state.StepStatus) *state.Workstream {
		return completed(func(w *state.Workstream) {
			w.Status = state.Succeeded
			w.Gates = []*state.Gate{{Label: "lint (A)", Status: status}}
		})
	}
	hit := func() (*checkpoint.Result, bool) {
		return &checkpoint.Result{Session: "A", Work: state.Work{Attempt: 1}}, false
	}
	miss := func() (*checkpoint.Result, bool) { return nil, false }
	maybe := func() (*checkpoint.Result, bool) { return nil, true }
	unknown := When{pending: []string{"Z"}}
	tests := []struct {
		name   string
		s      subject
		want   Decision
		reason string
	}{
		{"not in the state", subject{digestKnown: true}, Run, "not run yet"},
		{"not enabled", subject{when: When{skipReason: "its when is false"}}, Skipped, "its when is false"},
		{"enabled unknown, completed", subject{when: unknown, record: completed(nil), digest: same, digestKnown: true}, Depends, "whether it runs depends on the result of Z"},
		{"enabled unknown, never run", subject{when: unknown, digestKnown: true}, Depends, "whether it runs depends on the result of Z"},
		{"enabled unknown, skipped before", subject{when: unknown, record: &state.Workstream{Status: state.Skipped}, digestKnown: true}, Depends, "whether it runs depends on the result of Z"},
		{"enabled unknown, chosen", subject{when: unknown, record: completed(nil), digest: same, digestKnown: true, forced: "it was invalidated"}, Rerun, "it was invalidated, if it is enabled"},
		{"enabled unknown, a once step, chosen", subject{ws: &pipeline.Workstream{Name: "A", Effect: pipeline.Once}, when: unknown, record: completed(nil), digest: same, digestKnown: true, forced: "it was invalidated"}, Depends, "whether it runs"},
		{"enabled unknown, a once step, killed", subject{ws: &pipeline.Workstream{Name: "A", Effect: pipeline.Once}, when: unknown, record: completed(func(w *state.Workstream) { w.Status = state.Running })}, Uncertain, "never recorded"},
		{"enabled unknown, not chosen", subject{when: unknown, excluded: "it was not chosen by --only"}, Blocked, "--only"},
		{"unchanged", subject{record: completed(nil), digest: same, digestKnown: true}, Reuse, "nothing changed"},
		{"definition changed", subject{record: completed(nil), digest: state.Digest{Definition: "d2"}, digestKnown: true}, Rerun, "definition changed"},
		{"variable changed", subject{record: completed(nil), digest: state.Digest{Definition: "d1", Variables: map[string]string{"v": "2"}}, digestKnown: true}, Rerun, "variables changed: v"},
		{"its change in place was lost", subject{record: completed(nil), digest: same, digestKnown: true, lostChange: "Z has made out/a anew since"}, Rerun, "Z has made out/a anew since"},
		{"a once step changed", subject{ws: &pipeline.Workstream{Name: "A", Effect: pipeline.Once}, record: completed(nil), digest: state.Digest{Definition: "d2"}, digestKnown: true}, Uncertain, "must not run twice"},
		{"chosen", subject{record: completed(nil), digest: same, digestKnown: true, forced: "it was invalidated"}, Rerun, "it was invalidated"},
		{"a once step chosen", subject{ws: &pipeline.Workstream{Name: "A", Effect: pipeline.Once}, record: completed(nil), digest: same, digestKnown: true, forced: "it was invalidated"}, Uncertain, "must not run twice"},
		{"upstream runs", subject{record: completed(nil), rerunFirst: []string{"Z"}}, Depends, "Z"},
		{"upstream is blocked", subject{record: completed(nil), blocked: []string{"Z"}}, Blocked, "needs Z"},
		{"artifact missing", subject{record: completed(nil), digest: same, digestKnown: true, conflicts: gone}, Rerun, "out/a is missing"},
		{"artifact edited, undecided", subject{record: completed(nil), digest: same, digestKnown: true, conflicts: edited}, Reuse, "edited since"},
		{"artifact edited, kept", subject{record: completed(nil), digest: same, digestKnown: true, conflicts: edited, onConflict: ConflictKeep}, Judge, "the edit is kept"},
		{"artifact edited, restored", subject{record: completed(nil), digest: same, digestKnown: true, conflicts: edited, onConflict: ConflictRestore}, Rerun, "made again"},
		{"artifact missing, kept as an object", subject{record: completed(nil), digest: same, digestKnown: true, conflicts: []Conflict{{Path: "out/a", Kept: true}}}, Reuse, "out/a is missing, and is restored"},
		{"artifact edited, restored from its object", subject{record: completed(nil), digest: same, digestKnown: true, conflicts: []Conflict{{Path: "out/a", Found: "x", Kept: true}}, onConflict: ConflictRestore}, Reuse, "out/a was edited, and is restored"},
		{"killed", subject{record: completed(func(w *state.Workstream) { w.Status = state.Running }), digestKnown: true}, Run, "was interrupted"},
		{"a once step killed", subject{ws: &pipeline.Workstream{Name: "A", Effect: pipeline.Once}, record: completed(func(w *state.Workstream) { w.Status = state.Running }), digestKnown: true}, Uncertain, "never recorded"},
		{"failed", subject{record: completed(func(w *state.Workstream) {
			w.Status, w.Error = state.Failed, &state.Failure{Message: "boom"}
		}), digestKnown: true}, Run, "boom"},
		{"uncertain", subject{record: completed(func(w *state.Workstream) { w.Status = state.Uncertain }), digestKnown: true}, Uncertain, "nobody knows"},
		{"gate failed, fixed by hand", subject{record: gate(state.Failed), digest: same, digestKnown: true, conflicts: edited}, Judge, "lint (A)"},
		{"gate failed, rerun asked for", subject{ws: &pipeline.Workstream{Name: "A", RerunOnGateFailure: true}, record: gate(state.Failed), digest: same, digestKnown: true}, Rerun, "on_gate_failure"},
		{"gate rejected", subject{record: completed(func(w *state.Workstream) { w.Rejected = "ok (A)" }), digest: same, digestKnown: true}, Rerun, "ok (A) was rejected"},
		{"a once step rejected", subject{ws: &pipeline.Workstream{Name: "A", Effect: pipeline.Once}, record: completed(func(w *state.Workstream) { w.Rejected = "ok (A)" }), digest: same, digestKnown: true}, Uncertain, "ok (A) was rejected"},
		{"a once step rejected, not chosen", subject{ws: &pipeline.Workstream{Name: "A", Effect: pipeline.Once}, record: completed(func(w *state.Workstream) { w.Rejected = "ok (A)" }), digest: same, digestKnown: true, excluded: "it was not chosen by --only"}, Blocked, "--only"},
		{"gate waiting", subject{record: gate(state.Waiting), digest: same, digestKnown: true}, Judge, "lint (A) comes next"},
		{"imported", subject{record: completed(func(w *state.Workstream) { w.Imported, w.Digest = true, state.Digest{} }), digest: same, digestKnown: true}, Reuse, "PRD document"},
		{"not chosen", subject{digestKnown: true, excluded: "it was not chosen by --only"}, Blocked, "--only"},
		{"not chosen but changed", subject{record: completed(nil), digest: state.Digest{Definition: "d2"}, digestKnown: true, excluded: "it was not chosen by --only"}, Blocked, "--only"},
		{"it can't be evaluated", subject{record: completed(nil), evalError: "it can't be evaluated: Missing output"}, Rerun, "Missing output"},
		{"changed, and cached", subject{record: completed(nil), digest: state.Digest{Definition: "d2"}, digestKnown: true, findCached: hit}, Cached, "definition changed"},
		{"never run here, and cached", subject{digestKnown: true, findCached: hit}, Cached, "not run yet"},
		{"unchanged, and cached", subject{record: completed(nil), digest: same, digestKnown: true, findCached: hit}, Reuse, "nothing changed"},
		{"cached, and chosen", subject{record: completed(nil), digest: same, digestKnown: true, forced: "it was invalidated", findCached: hit}, Rerun, "it was invalidated"},
		{"never run here, cached, and chosen", subject{digestKnown: true, forced: "it was invalidated", findCached: hit}, Run, "not run yet"},
		{"cached only with another digest", subject{digestKnown: true, findCached: miss}, Run, "not run yet"},
		{"perhaps cached, once upstream has run", subject{rerunFirst: []string{"Z"}, findCached: maybe}, Depends, "on the result of Z"},
		{"not cached, and upstream runs", subject{rerunFirst: []string{"Z"}, findCached: miss}, Run, "not run yet"},
		{"not chosen, and cached", subject{digestKnown: true, excluded: "it was not chosen by --only", findCached: hit}, Blocked, "--only"},
		{"not chosen but done", subject{record: completed(nil), digest: same, digestKnown: true, excluded: "it was not chosen by --only"}, Reuse, "nothing changed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.s.ws == nil {
				tt.s.ws = &pipeline.Workstream{Name: "A"}
			}
			if tt.s.record == nil {
				tt.s.record = &state.Workstream{Name: "A", Status: state.Pending}
			}
			if tt.s.record.Gates != nil {
				tt.s.ws.Gates = []*pipeline.Gate{{Name: "lint", Workstream: tt.s.ws}}
			}
			got := decide(tt.s)
			if got.Decision != tt.want || !strings.Contains(string(got.Reason), tt.reason) {
				t.Errorf("got %s (%s), want %s (…%s…)", got.Decision, got.Reason, tt.want, tt.reason)
			}
			if (got.Decision == Cached) != (got.Cached != nil) || (got.Cached == nil) != (got.Result == nil) {
				t.Errorf("%s, and the result of %+v", got.Decision, got.Cached)
			}
		})
	}
}

func TestDecideGate(t *testing.T) {
	t.Parallel()
	phase := &pipeline.Phase{Name: "p"}
	ws := &pipeline.Workstream{Name: "A", Phase: phase}
	passed := &state.Gate{Label: "lint (A)", Status: state.Passed, Attempts: 1, Definition: "d", Judged: "j"}
	kept := []Step{{Name: "A", Decision: Judge}}
	tests := []struct {
		name   string
		s      gateSubject
		want   Decision
		reason string
	}{
		{"never judged", gateSubject{owners: kept, record: &state.Gate{Status: state.Pending}}, Run, "not judged yet"},
		{"unchanged", gateSubject{owners: kept, record: passed, definition: "d", judged: "j", allDeclared: true}, Reuse, "nothing changed"},
		{"nothing declared, workspace changed", gateSubject{owners: kept, record: passed, definition: "d", judged: "j", changeReason: "main.go was modified"}, Judge, "main.go was modified"},
		{"nothing declared, workspace unchanged", gateSubject{owners: kept, record: passed, definition: "d", judged: "j", workspaceUnchanged: true}, Reuse, "nothing changed"},
		{"definition changed", gateSubject{owners: kept, record: passed, definition: "e", judged: "j", allDeclared: true}, Judge, "its definition changed"},
		{"files changed", gateSubject{owners: kept, record: passed, definition: "d", judged: "k", allDeclared: true}, Judge, "what it judged changed"},
		{"owner skipped", gateSubject{owners: []Step{{Name: "A", Decision: Skipped}}, record: passed}, Skipped, "skipped"},
		{"owner runs", gateSubject{owners: []Step{{Name: "A", Decision: Rerun}}, record: passed}, Depends, "on the result of A"},
		{"owner uncertain", gateSubject{owners: []Step{{Name: "A", Decision: Uncertain}}}, Blocked, "needs A"},
		{"failed", gateSubject{owners: kept, record: &state.Gate{Status: state.Failed, Attempts: 1, Error: &state.Failure{Message: "no"}}}, Judge, "it failed: no"},
		{"waiting", gateSubject{owners: kept, record: &state.Gate{Status: state.Waiting, Definition: "d", Judged: "j"}}, Judge, "waits for an approval"},
		{"from --from", gateSubject{owners: kept, record: passed, definition: "d", judged: "j", allDeclared: true, forced: "everything runs again"}, Judge, "everything runs again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.s.gate = &pipeline.Gate{Name: "lint", Kind: pipeline.GateCommand, Phase: phase, Workstream: ws}
			got := decideGate(tt.s)
			if got.Decision != tt.want || !strings.Contains(string(got.Reason), tt.reason) {
				t.Errorf("got %s (%s), want %s (…%s…)", got.Decision, got.Reason, tt.want, tt.reason)
			}
		})
	}
}
