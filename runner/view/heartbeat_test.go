package view_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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
		step(0, "  ✓ a  50s\n")
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

// TestStream holds that lines are shown while their step runs, and before its end.
func TestStream(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode view.Mode
		want []string
	}{
		{view.Auto, []string{"a    │ one\n", "a    │ two\n  ✓ a  1s\n", "long │ asked? …\n", "long │ more\n", "ok (a) │ its gate\n\n! PRD-009 interrupted by SIGTERM"}},
		{view.JSON, []string{`"kind":"run.output","step":"a","attempt":1,"text":"one"}`, `"text":"two"}`, `"text":"asked?","goes_on":true}`, `"text":""}`, `"step":"ok (a)","attempt":1,"text":"its gate"}`}},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(log, text string) {
				if err := os.WriteFile(filepath.Join(dir, log), []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			synctest.Test(t, func(t *testing.T) {
				var buf lockedBuffer
				v := view.New(test.mode, view.Options{Out: &buf, Now: time.Now, Stream: true, Logs: view.Logs{Dir: dir}})
				commit := func(e ...state.Event) { v.Commit(state.Commit{Time: time.Now(), Events: e}) }
				contains := func(want string) {
					t.Helper()
					synctest.Wait()
					if got := buf.take(); !strings.Contains(got, want) || strings.Contains(got, "│ \n") {
						t.Errorf("%q lacks %q, or has an empty line", got, want)
					}
				}
				steps := []plan.Step{{Kind: plan.WorkstreamStep, Name: "a"}, {Kind: plan.WorkstreamStep, Name: "long"}}
				v.Begin(runner.Beginning{PRD: "PRD-009", Plan: &plan.Plan{Phases: []plan.Phase{{Name: "all", Number: 1, Steps: steps}}}})
				commit(state.WorkstreamStarted{Workstream: "a", Attempt: 1})
				write("a.1.log", "one\ntwo")
				time.Sleep(150 * time.Millisecond)
				contains(test.want[0])
				commit(state.WorkstreamCompleted{Workstream: "a", Work: &state.Work{DurationMS: 1000}})
				contains(test.want[1])
				commit(state.WorkstreamStarted{Workstream: "long", Attempt: 1})
				write("long.1.log", "asked?")
				time.Sleep(time.Minute)
				contains(test.want[2])
				write("long.1.log", "asked?\nmore\n")
				time.Sleep(time.Second)
				contains(test.want[3])
				commit(state.GateStarted{Gate: "ok (a)", Attempt: 1})
				write("a.ok.1.log", "its gate")
				v.End(runner.Ending{Signal: "SIGTERM", Status: state.StatusPaused})
				contains(test.want[4])
				v.Close()
			})
		})
	}
}

// TestLogEndSaysWhatItLeavesOut holds that the end of a log does not look like the whole log.
func TestLogEndSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.log")
	for _, test := range []struct {
		lines int
		first string
	}{{10, "a line\n"}, {20_000, "… the lines before these are left out\na line\n"}} {
		if err := os.WriteFile(path, []byte(strings.Repeat("a line\n", test.lines)), 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := view.LogEnd(path, view.EndBytes)
		if err != nil || !strings.HasPrefix(text, test.first) || !strings.HasSuffix(text, "a line\n") {
			t.Errorf("%d lines: %.60q (%v)", test.lines, text, err)
		}
	}
}
