package watch

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

// TestWatchEndsWithItsRun: a watch shows how its own run ended, although the next one has gone on since. It goes on
// into the next one only if the end of its own is not on record.
func TestWatchEndsWithItsRun(t *testing.T) {
	t.Parallel()
	failure := state.Failure{Workstream: "b", Message: "exit code 1"}
	failed := [][]state.Event{{state.WorkstreamFailed{Workstream: "b", Error: failure}}, {state.SessionFailed{Error: failure, RanMS: 3000}}}
	resumed := [][]state.Event{
		{state.SessionResumed{}},
		{state.WorkstreamStarted{Workstream: "b", Attempt: 2}},
		{state.WorkstreamCompleted{Workstream: "b", Work: &state.Work{Attempt: 2, DurationMS: 7000}}, state.PhaseCompleted{Phase: "one"}},
		{state.SessionCompleted{RanMS: 8000}},
	}
	for name, tt := range map[string]struct {
		ends [][]state.Event // of the run that is watched
		want state.Status
		says string
	}{
		"it failed":     {failed, state.StatusFailed, "\n✗ PRD-001 failed  3s\n"},
		"it was killed": {nil, state.StatusComplete, "\n✓ PRD-001 complete  8s\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := checkpoint.OpenStore(t.TempDir(), checkpoint.Options{})
			checkpointtest.Must(t, err)
			x := checkpointtest.LockPRD(t, store, "PRD-001")
			checkpointtest.Must(t, x.Start(started()[0].(state.SessionStarted)))
			checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "one"}, state.WorkstreamStarted{Workstream: "a", Attempt: 1}, state.WorkstreamStarted{Workstream: "b", Attempt: 1})
			checkpointtest.Commit(t, x, state.WorkstreamCompleted{Workstream: "a", Work: &state.Work{Attempt: 1}})
			var out bytes.Buffer
			env := &cli.Environment{Stdout: show.NewScreen(&out), Now: time.Now, IsTerminal: func(any) bool { return false }}
			w := &watcher{env: env, store: store, o: options{prd: "PRD-001"}, runs: newRuns()}
			_, err = store.Reader().Replay("PRD-001", w.runs.commit)
			checkpointtest.Must(t, err)
			for _, events := range append(tt.ends, resumed...) {
				checkpointtest.Commit(t, x, events...)
			}
			checkpointtest.Must(t, x.Close())

			err = w.showLast(t.Context(), true)
			got := state.StatusComplete
			if ended := (*EndedError)(nil); errors.As(err, &ended) {
				got = ended.Status
			} else {
				checkpointtest.Must(t, err)
			}
			if got != tt.want || !strings.Contains(out.String(), tt.says) || strings.Contains(out.String(), "✓ b  7s\n") != (tt.want == state.StatusComplete) {
				t.Errorf("the watch ended %s, and printed\n%s", got, view.Clean(out.String()))
			}
		})
	}
}
