package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
)

// TestOutdatedWork: work that is done is outdated if what it was made from is not there any more.
func TestOutdatedWork(t *testing.T) {
	t.Parallel()
	// b is made from the result of a, c from the file of a, d from the result of b, and e from nothing.
	session := func(change func(st *state.State, a *state.Workstream)) *state.State {
		a := &state.Workstream{Name: "a", Status: state.Completed, WorkSeq: 1, FilesSeq: 1, Artifacts: []state.Artifact{{Path: "a.txt", Digest: "1"}}}
		b := &state.Workstream{Name: "b", Status: state.Completed, WorkSeq: 2, Digest: state.Digest{Results: map[string]string{"a": "1"}}}
		c := &state.Workstream{Name: "c", Status: state.Succeeded, WorkSeq: 3, Digest: state.Digest{Files: []state.FileRef{{Path: "a.txt", Digest: "1"}, {Path: "other"}}}}
		d := &state.Workstream{Name: "d", Status: state.Completed, WorkSeq: 4, Digest: state.Digest{Results: map[string]string{"b": "1", "the phases before": "1"}}}
		e := &state.Workstream{Name: "e", Status: state.Completed, WorkSeq: 5}
		st := &state.State{Status: state.StatusFailed, CurrentPhase: 1, Phases: []*state.Phase{
			{Name: "one", Workstreams: []*state.Workstream{a}}, {Name: "two", Workstreams: []*state.Workstream{b, c, d, e}},
		}}
		st = st.Clone() // finds names, and the phases of workstreams
		change(st, st.Workstream("a"))
		return st
	}
	for name, tt := range map[string]struct {
		change func(st *state.State, a *state.Workstream)
		want   map[string]string
	}{
		"nothing": {func(*state.State, *state.Workstream) {}, map[string]string{}},
		"failed": {func(_ *state.State, a *state.Workstream) { a.Status = state.Failed },
			map[string]string{"b": "a has failed", "c": "a has failed", "d": "b is outdated"}},
		"failed, which is allowed": {func(_ *state.State, a *state.Workstream) { a.Status, a.Allowed = state.Failed, true }, map[string]string{}},
		"to run again": {func(_ *state.State, a *state.Workstream) { a.Status = state.Pending },
			map[string]string{"b": "a is to run again", "c": "a is to run again", "d": "b is outdated"}},
		"run again, before the phase of the others": {func(_ *state.State, a *state.Workstream) { a.WorkSeq = 9; a.Artifacts = nil },
			map[string]string{"b": "a has run again", "d": "b is outdated"}},
		"run again, and the others are decided": {func(st *state.State, a *state.Workstream) { a.WorkSeq, a.Artifacts, st.CurrentPhase = 9, nil, 2 }, map[string]string{}},
		"made anew": {func(st *state.State, a *state.Workstream) {
			a.WorkSeq, a.Artifacts[0].Digest, st.CurrentPhase = 9, "2", 2
		},
			map[string]string{"c": "a has made a.txt anew"}},
		"of a complete session": {func(st *state.State, a *state.Workstream) { a.Status, st.Status = state.Failed, state.StatusComplete }, map[string]string{}},
	} {
		if diff := cmp.Diff(tt.want, session(tt.change).OutdatedWork()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
