package history_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/state"
)

func seconds(list ...float64) []time.Duration {
	all := make([]time.Duration, len(list))
	for i, s := range list {
		all[i] = time.Duration(s * float64(time.Second))
	}
	return all
}

func TestSlower(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		earlier []time.Duration // the oldest first
		now     time.Duration
		want    time.Duration // the median; 0: it is not slower
	}{
		"nothing to compare with":    {nil, time.Hour, 0},
		"two earlier ones":           {seconds(1, 1), time.Hour, 0},
		"three earlier ones":         {seconds(1, 1, 1), time.Hour, time.Second},
		"as before":                  {seconds(10, 10, 10), 10 * time.Second, 0},
		"faster":                     {seconds(10, 10, 10), time.Second, 0},
		"by 25 percent":              {seconds(8, 8, 8), 10 * time.Second, 0},
		"by more":                    {seconds(8, 8, 8), 10*time.Second + time.Millisecond, 8 * time.Second},
		"by a second":                {seconds(1, 1, 1), 2 * time.Second, 0},
		"by more than a second":      {seconds(1, 1, 1), 2*time.Second + time.Millisecond, time.Second},
		"twice as long, but short":   {seconds(0.1, 0.1, 0.1), 200 * time.Millisecond, 0},
		"long, but by little":        {seconds(100, 100, 100), 110 * time.Second, 0},
		"the middle of an odd one":   {seconds(30, 1, 2), 10 * time.Second, 2 * time.Second},
		"the middle of an even one":  {seconds(1, 2, 4, 50), 10 * time.Second, 3 * time.Second},
		"one outlier does not count": {seconds(10, 10, 10, 1000), 11 * time.Second, 0},
		"only the newest ten":        {seconds(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20), 20 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(took time.Duration) []history.Duration {
				return []history.Duration{{Kind: history.Phase, Name: "a", Took: time.Hour}, {Kind: history.Workstream, Name: "a", Took: took}}
			}
			var earlier [][]history.Duration
			for _, took := range tt.earlier {
				earlier = append(earlier, of(took))
			}
			slower := history.Slower(of(tt.now), earlier)
			switch {
			case tt.want == 0 && len(slower) > 0:
				t.Errorf("slower: %+v", slower)
			case tt.want != 0 && (len(slower) != 1 || slower[0].Median != tt.want || slower[0].Kind != history.Workstream):
				t.Errorf("slower: %+v, want one with the median %s", slower, tt.want)
			}
		})
	}
}

// TestDurations plays a session: two workstreams side by side, a retry, a gate, a person, and a resume.
func TestDurations(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	var times history.Timeline
	for _, happened := range []struct {
		at     int // seconds
		events []state.Event
	}{
		{0, []state.Event{state.SessionStarted{}, state.WorkstreamStarted{Workstream: "a", Attempt: 1}, state.WorkstreamStarted{Workstream: "b", Attempt: 1}}},
		{10, []state.Event{state.WorkstreamAttemptFailed{Workstream: "a", Attempt: 1}}},
		{15, []state.Event{state.WorkstreamCompleted{Workstream: "b"}}},
		{20, []state.Event{state.WorkstreamStarted{Workstream: "a", Attempt: 2}}},
		{30, []state.Event{state.WorkstreamSucceeded{Workstream: "a"}, state.GateStarted{Gate: "lint (a)"}}},
		{35, []state.Event{state.GatePassed{Verdict: state.Verdict{Gate: "lint (a)"}}, state.WorkstreamCompleted{Workstream: "a"}}},
		{40, []state.Event{state.GateAsked{Verdict: state.Verdict{Gate: "ship (one)"}}}},
		{100, []state.Event{state.GateStarted{Gate: "last (one)"}}}, // its runner was killed
		{900, []state.Event{state.SessionResumed{}}},
		{1000, []state.Event{state.GateStarted{Gate: "last (one)"}}},
		{1001, []state.Event{state.GatePassed{Verdict: state.Verdict{Gate: "last (one)"}}, state.SessionCompleted{}}},
		{1300, []state.Event{state.GateReviewed{}}}, // after the run
	} {
		times.Commit(state.Commit{Time: begin.Add(time.Duration(happened.at) * time.Second), Events: happened.events})
	}
	completed := func(name string, ms int64) *state.Workstream {
		return &state.Workstream{Name: name, Status: state.Completed, WorkSeq: 1, Attempts: 1, DurationMS: ms}
	}
	reused, failed := completed("d", 7000), completed("e", 7000)
	reused.Session, failed.Status = "s-0", state.Failed
	st := &state.State{Phases: []*state.Phase{
		{Name: "one", Status: state.Completed, Workstreams: []*state.Workstream{completed("a", 10000), completed("b", 15000), {Name: "c", Status: state.Skipped}}},
		{Name: "two", Status: state.Completed, Workstreams: []*state.Workstream{reused, completed("f", 2000)}},
		{Name: "three", Status: state.Running, Workstreams: []*state.Workstream{failed}},
	}}
	var attempts []string
	for _, a := range times.Attempts {
		until := "?"
		if !a.To.IsZero() {
			until = fmt.Sprint(a.To.Sub(begin).Seconds())
		}
		attempts = append(attempts, fmt.Sprintf("%s %s %d: %v to %s %s", a.Kind, a.Name, a.Number, a.From.Sub(begin).Seconds(), until, a.Result))
	}
	if diff := cmp.Diff([]string{
		"workstream a 1: 0 to 10 failed", "workstream b 1: 0 to 15 completed", "workstream a 2: 20 to 30 completed", "gate lint (a) 0: 30 to 35 passed",
		"gate last (one) 0: 100 to ? running", "gate last (one) 0: 1000 to 1001 passed",
	}, attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	runs := []history.Run{{From: begin, To: begin.Add(100 * time.Second)}, {From: begin.Add(900 * time.Second), To: begin.Add(1001 * time.Second), Result: state.StatusComplete}}
	if diff := cmp.Diff(runs, times.Runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	var got []string
	for _, d := range times.Durations(st) {
		got = append(got, fmt.Sprintf("%s %s %s", d.Kind, d.Name, d.Took))
	}
	// 0 to 15, 20 to 35, and the gate after the resume.
	if want := []string{"phase one 31s", "workstream a 10s", "workstream b 15s", "workstream f 2s"}; !slices.Equal(got, want) {
		t.Errorf("durations %q, want %q", got, want)
	}
}
