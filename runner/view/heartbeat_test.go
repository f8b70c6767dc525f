package view_test

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
)

// lockedBuffer is a buffer that several goroutines use.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// take returns what was written since the last call.
func (b *lockedBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}

// TestHeartbeat holds that a view says what goes on each time that it has printed nothing for
// the interval, and not before.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var buf lockedBuffer
		v := view.New(view.Auto, view.Options{Out: &buf, Now: time.Now, Heartbeat: 30 * time.Second})
		printed := func() string {
			synctest.Wait()
			return buf.take()
		}
		commit := func(e ...state.Event) { v.Commit(state.Commit{Time: time.Now(), Events: e}) }
		steps := []plan.Step{{Kind: plan.WorkstreamStep, Name: "a"}, {Kind: plan.WorkstreamStep, Name: "b"}, {Kind: plan.WorkstreamStep, Name: "c"}}
		v.Begin(runner.Beginning{PRD: "PRD-009", Plan: &plan.Plan{Phases: []plan.Phase{{Name: "all", Number: 1, Steps: steps}}}})
		commit(state.PhaseStarted{Phase: "all"})
		printed()
		step := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			if got := printed(); got != want {
				t.Errorf("after %s more: %q, want %q", after, got, want)
			}
		}
		step(30*time.Second, "… still at work\n")
		commit(state.WorkstreamStarted{Workstream: "a", Attempt: 1}, state.WorkstreamStarted{Workstream: "b", Attempt: 2})
		step(29*time.Second, "")
		step(time.Second, "… 0 of 3 done; a runs for 30s, b runs for 30s (attempt 2)\n")
		step(20*time.Second, "")
		commit(state.WorkstreamCompleted{Workstream: "a", Work: &state.Work{DurationMS: 50_000}})
		step(0, "  ✓ a  50.0s\n")
		step(29*time.Second, "")
		commit(state.WorkstreamAttemptFailed{Workstream: "b", Attempt: 2, Error: state.Failure{Message: "no"}, RetryInMS: 60_000},
			state.GateAsked{Verdict: state.Verdict{Gate: "ok (all)"}, Message: "ok?"}, state.GateStarted{Gate: "lint (c)", Attempt: 1})
		printed()
		step(30*time.Second, "… 1 of 3 done; b again in 30s, ok (all) waits for approval, for 30s, lint (c) is judged, for 30s\n")
		step(29*time.Second, "")
		v.Warn("careful")
		step(29*time.Second, "! careful\n")
		v.End(runner.Ending{Status: state.StatusComplete})
		printed()
		step(time.Hour, "")
		v.Close()
	})
}
