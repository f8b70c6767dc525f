package disk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// TestRecovery: a checkpoint says where a resume begins, what must be done before, and
// what to know about it.
func TestRecovery(t *testing.T) {
	t.Parallel()
	captured := &state.Capture{}
	phase := func(p state.Phase) state.State { return state.State{Capture: captured, Phases: []*state.Phase{&p}} }
	step := func(w state.Workstream) state.State {
		w.Name = "A"
		return phase(state.Phase{Workstreams: []*state.Workstream{&w}})
	}
	gate := func(g state.Gate) state.State {
		g.Label = "G"
		return phase(state.Phase{Gates: []*state.Gate{&g}})
	}
	for name, tt := range map[string]struct {
		s          state.State
		uncaptured bool
		from       string
		unmet      bool
		warning    string // part of the only one; "": there is none
	}{
		"nothing left":             {s: step(state.Workstream{Status: state.Completed})},
		"skipped":                  {s: step(state.Workstream{Status: state.Skipped})},
		"pending":                  {s: step(state.Workstream{Status: state.Pending}), from: "A"},
		"running":                  {s: step(state.Workstream{Status: state.Running}), from: "A", warning: "A was running"},
		"failed":                   {s: step(state.Workstream{Status: state.Failed}), from: "A", warning: "A failed"},
		"uncertain":                {s: step(state.Workstream{Status: state.Uncertain}), from: "A", unmet: true, warning: "nobody knows whether A happened"},
		"uncertain, for a reason":  {s: step(state.Workstream{Status: state.Uncertain, Error: &state.Failure{Message: "m"}}), from: "A", unmet: true, warning: "nobody knows"},
		"it happened":              {s: step(state.Workstream{Status: state.Uncertain, Error: &state.Failure{Message: "m", Outcome: state.OutcomeHappened}}), from: "A", unmet: true, warning: "a person decides whether that counts"},
		"by hand":                  {s: step(state.Workstream{Status: state.Completed, Imported: true}), warning: "from a document"},
		"edited":                   {s: step(state.Workstream{Status: state.Completed, Edited: []state.Text{"x"}}), warning: "edited by hand"},
		"a gate is passed":         {s: gate(state.Gate{Status: state.Passed})},
		"a gate is skipped":        {s: gate(state.Gate{Status: state.Skipped})},
		"a gate waits":             {s: gate(state.Gate{Status: state.Waiting}), from: "G", unmet: true, warning: "waits for a person"},
		"a gate is rejected":       {s: gate(state.Gate{Status: state.Rejected}), from: "G", warning: "was rejected"},
		"a gate failed":            {s: gate(state.Gate{Status: state.Failed}), from: "G", warning: "G failed"},
		"a gate is to be reviewed": {s: gate(state.Gate{Status: state.Passed, Review: true}), unmet: true, warning: "waits for a review"},
		"of two, the first one": {
			s: phase(state.Phase{
				Workstreams: []*state.Workstream{{Name: "A", Status: state.Completed}, {Name: "B"}, {Name: "C"}}, Gates: []*state.Gate{{Label: "G"}},
			}), from: "B",
		},
		"a gate of a completed one fails": {
			s: step(state.Workstream{Status: state.Completed, Gates: []*state.Gate{{Label: "G", Status: state.Failed}}}), warning: "G failed",
		},
		"no capture":     {s: state.State{}, unmet: true, warning: "the workspace was not captured"},
		"an old capture": {s: state.State{Capture: captured}, uncaptured: true, unmet: true, warning: "could not be captured: the files of"},
		"sensitive":      {s: state.State{Capture: captured, Sensitive: []string{"x", "y"}}, warning: "must be given again: x, y"},
	} {
		r := disk.NewRecovery(&tt.s, &state.CheckpointRef{Uncaptured: tt.uncaptured})
		warned := tt.warning == "" && len(r.Warnings) == 0 || len(r.Warnings) == 1 && tt.warning != "" && strings.Contains(r.Warnings[0], tt.warning)
		if r.ResumeFrom != tt.from || r.PrerequisitesMet == tt.unmet || !warned {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for want := range 3 {
		var c state.Capture
		*[]*int{&c.LeftOut, &c.Unstable, &c.Special}[want] = 2
		r := disk.NewRecovery(&state.State{Capture: &c}, &state.CheckpointRef{})
		part := []string{"look sensitive", "kept changing", "could not be captured"}[want]
		if got := strings.Join(r.Warnings, "|"); !strings.Contains(got, part) || !strings.HasSuffix(got, ": 2") || strings.Contains(got, "|") {
			t.Errorf("%s: %s", part, got)
		}
		if p := r.Checked[0]; !p.Met || p.Detail != "all but 2" || !r.PrerequisitesMet {
			t.Errorf("%s: %+v", part, p)
		}
	}
}

// TestPrerequisites: a checkpoint names what it checked, in the same order, and what is
// missing for it.
func TestPrerequisites(t *testing.T) {
	t.Parallel()
	once := func(name string) *state.Workstream { return &state.Workstream{Name: name, Status: state.Uncertain} }
	s := state.State{Phases: []*state.Phase{{
		Workstreams: []*state.Workstream{once("A"), once("B"), {Name: "C", Status: state.Failed}},
		Gates:       []*state.Gate{{Label: "G", Status: state.Waiting}, {Label: "H", Status: state.Passed, Review: true}, {Label: "I", Status: state.Rejected, Review: true}},
	}}}
	checks := []string{"files captured", "nothing uncertain", "no gate waits for a person", "no review of a gate is due"}
	want := []disk.Prerequisite{
		{Check: checks[0], Detail: "only recorded artifacts come back"}, {Check: checks[1], Detail: "A, B"}, {Check: checks[2], Detail: "G"}, {Check: checks[3], Detail: "H"},
	}
	if diff := cmp.Diff(want, disk.NewRecovery(&s, &state.CheckpointRef{}).Checked); diff != "" {
		t.Errorf("nothing is met:\n%s", diff)
	}
	s = state.State{Capture: &state.Capture{At: time.Unix(0, 0)}}
	for i := range want {
		want[i] = disk.Prerequisite{Check: checks[i], Met: true}
	}
	if r := disk.NewRecovery(&s, &state.CheckpointRef{}); !r.PrerequisitesMet || !cmp.Equal(want, r.Checked) {
		t.Errorf("all is met: %+v", r)
	}
	want[0].Met, want[0].Detail = false, "the files of 1970-01-01T00:00:00Z come back"
	if r := disk.NewRecovery(&s, &state.CheckpointRef{Uncaptured: true}); r.PrerequisitesMet || !cmp.Equal(want, r.Checked) {
		t.Errorf("not captured: %+v", r)
	}
}
