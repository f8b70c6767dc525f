package feedback

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

const (
	lint   = "lint (app)"
	signed = "sign-off (build)"
)

// played returns the state of a session after events, one second apart.
func played(t *testing.T, events ...state.Event) *state.State {
	t.Helper()
	e := checkpointtest.Started("s", state.Shape{Phases: []state.PhaseShape{{
		Name: "build", MaxIterations: 3, Gates: []string{"sign-off"},
		Workstreams: []state.WorkstreamShape{{Name: "app", Batch: 1, Gates: []string{"lint"}}, {Name: "docs", Batch: 1}},
	}}})
	st := &state.State{}
	for i, e := range append([]state.Event{e}, events...) {
		checkpointtest.Must(t, st.Apply(state.Commit{Seq: uint64(i + 1), Time: time.Unix(int64(i), 0), Events: []state.Event{e}}))
	}
	return st
}

func TestFor(t *testing.T) {
	t.Parallel()
	broke := state.Failure{Workstream: "app", Outcome: "exited", ExitCode: 1, Message: "broke", File: "a.go", Line: 3, Log: "app.1.log"}
	long := state.Failure{Workstream: "app", Gate: lint, Outcome: "exited", Message: "too long"}
	start := func(attempt int) state.Event { return state.WorkstreamStarted{Workstream: "app", Attempt: attempt} }
	work := state.Work{Outputs: map[string]state.Text{"result": "7"}}
	succeeded := state.WorkstreamSucceeded{Workstream: "app", Work: work}
	failed := state.WorkstreamFailed{Workstream: "app", Error: broke}
	gateFailed := state.GateFailed{Verdict: state.Verdict{Gate: lint}, Error: long}
	rejected := state.GateRejected{
		Verdict: state.Verdict{Gate: signed}, By: state.Actor{User: "ana"}, Reason: "page 2", Inputs: map[string]state.Text{"page": "2"},
	}
	again := state.WorkstreamInvalidated{Workstream: "app", Reason: "again"}
	for name, tt := range map[string]struct {
		events []state.Event
		want   *Document
	}{
		"nothing has run": {},
		"the work is done": {
			events: []state.Event{start(1), failed, start(2), succeeded},
		},
		"an attempt was interrupted": {
			events: []state.Event{start(1), state.WorkstreamInterrupted{Workstream: "app", Attempt: 1}},
		},
		"an attempt failed": {
			events: []state.Event{start(1), failed},
			want:   &Document{Reason: AttemptFailed, Message: "broke", Failures: []Failure{{Failure: broke}}},
		},
		"and the next one was interrupted": {
			events: []state.Event{start(1), failed, start(2), state.WorkstreamInterrupted{Workstream: "app", Attempt: 2}},
			want:   &Document{Reason: AttemptFailed, Message: "broke", Failures: []Failure{{Failure: broke}}},
		},
		"a gate failed, and then an attempt": {
			events: []state.Event{start(1), succeeded, gateFailed, again, start(2), failed},
			want: &Document{
				Reason: GateFailed, Message: "too long", Gate: lint, Outputs: work.Outputs, Failures: []Failure{{Failure: long}, {Failure: broke}},
			},
		},
		"a gate failed, and passed once a person had corrected the work": {
			events: []state.Event{start(1), succeeded, gateFailed, state.GatePassed{Verdict: state.Verdict{Gate: lint}}, again},
		},
		"a gate failed, and a person rejected": {
			events: []state.Event{start(1), succeeded, rejected, gateFailed, again},
			want: &Document{
				Reason: Rejected, Message: "page 2", Gate: signed, By: "ana", Inputs: rejected.Inputs, Outputs: work.Outputs,
				Failures: []Failure{{Failure: state.Failure{Gate: signed, Outcome: "rejected", Message: "page 2"}}, {Failure: long}},
			},
		},
		"a rejection without a text": {
			events: []state.Event{start(1), succeeded, state.GateRejected{Verdict: state.Verdict{Gate: signed}, By: state.Actor{User: "bob"}}},
			want: &Document{
				Reason: Rejected, Message: "rejected by bob", Gate: signed, By: "bob", Outputs: work.Outputs,
				Failures: []Failure{{Failure: state.Failure{Gate: signed, Outcome: "rejected", Message: "rejected by bob"}}},
			},
		},
		"rejected work is done again": {
			events: []state.Event{start(1), succeeded, state.WorkstreamCompleted{Workstream: "docs", Work: &work},
				state.GateRejected{Verdict: state.Verdict{Gate: lint}}, state.WorkstreamStarted{Workstream: "app", Attempt: 2}, succeeded},
		},
		"the phase repeats": {
			events: []state.Event{start(1), succeeded, gateFailed, state.PhaseRepeated{
				Phase: "build", Iteration: 2, Reason: "lint (app) failed", Failures: []state.Failure{long, {Workstream: "docs", Message: "docs broke"}},
			}},
			want: &Document{
				Reason: GateFailed, Message: "too long", Gate: lint, Iteration: 2, Outputs: work.Outputs,
				Failures: []Failure{{Failure: long}, {Failure: state.Failure{Workstream: "docs", Message: "docs broke"}}},
			},
		},
		"the phase repeats until its condition holds": {
			events: []state.Event{start(1), succeeded, state.PhaseRepeated{Phase: "build", Iteration: 2, Reason: "until is false"}},
			want:   &Document{Reason: Iteration, Message: "until is false", Iteration: 2, Outputs: work.Outputs, Failures: []Failure{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.want != nil {
				tt.want.FormatVersion = FormatVersion
			}
			if diff := cmp.Diff(tt.want, For(played(t, tt.events...), "app")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if For(played(t), "unknown") != nil {
		t.Error("there is something to tell to an unknown workstream")
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "told")
	File{Path: path}.Remove()
	checkpointtest.Must(t, File{Path: path}.Write())
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a file without a document")
	}
	f := File{Path: path, Document: &Document{Failures: []Failure{
		{Failure: state.Failure{Log: "a.1.log"}}, {}, {Failure: state.Failure{Log: "long"}}, {Failure: state.Failure{Log: "one line"}}, {Failure: state.Failure{Log: "gone"}},
	}}, Log: func(name string) string {
		return map[string]string{
			"a.1.log": "one\xff\ntwo\n", "long": strings.Repeat("0123456789abcde\n", 1000), "one line": strings.Repeat("ä", 5000), "": "never read",
		}[name]
	}}
	checkpointtest.Must(t, f.Write())
	tails := make([]string, len(f.Document.Failures))
	for i, failure := range f.Document.Failures {
		tails[i] = failure.LogTail
	}
	want := []string{"one\uFFFD\ntwo\n", "", strings.Repeat("0123456789abcde\n", 511), strings.Repeat("ä", 4096), ""}
	if diff := cmp.Diff(want, tails); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if f.Remove(); !os.IsNotExist(errOf(os.Stat(path))) {
		t.Error("the file is still there")
	}
	if err := (File{Path: filepath.Join(path, "x"), Document: &Document{}}).Write(); err == nil {
		t.Error("no error for a file that cannot be written")
	}
}

func errOf(_ os.FileInfo, err error) error { return err }
