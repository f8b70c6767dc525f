package reader_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// resultsOf are the results of w0 as DIGEST=SESSION.ATTEMPT, in the order of the digests.
func resultsOf(t *testing.T, s *checkpoint.Store) string {
	t.Helper()
	all := s.Reader().Results("PRD-009", map[string]bool{"w0": true})
	var found []string
	for _, r := range all["w0"] {
		found = append(found, fmt.Sprintf("%s=%s.%d", r.Work.Digest.Definition, r.Session, r.Work.Attempt))
	}
	if len(all) > 1 || len(all["w1"]) > 0 {
		t.Errorf("results of others: %+v", all)
	}
	if _, there := all["w0"]; there != (len(found) > 0) {
		t.Errorf("w0 has no results, and is in %+v", all)
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// makes are the events of an attempt at w0 that makes something.
func makes(definition string, attempt int) []state.Event {
	d := state.Digest{Definition: definition}
	return []state.Event{
		state.WorkstreamStarted{Workstream: "w0", Attempt: attempt, Digest: d},
		state.WorkstreamCompleted{Workstream: "w0", Work: &state.Work{Attempt: attempt, Digest: d, Artifacts: []state.Artifact{{Path: "f", Digest: "sha256:" + definition}}}},
	}
}

// TestResults: what the last attempt from a digest made, unless it was refused or edited.
func TestResults(t *testing.T) {
	t.Parallel()
	d := state.Digest{Definition: "a"}
	for name, c := range map[string]struct {
		then []state.Event
		want string
	}{
		"as it was made":                {nil, "a=A.1"},
		"from another digest":           {makes("b", 2), "a=A.1 b=A.2"},
		"made again":                    {makes("a", 2), "a=A.2"},
		"an attempt that has not ended": {[]state.Event{state.WorkstreamStarted{Workstream: "w0", Attempt: 2, Digest: d}}, ""},
		"an attempt that failed": {[]state.Event{
			state.WorkstreamStarted{Workstream: "w0", Attempt: 2, Digest: d},
			state.WorkstreamFailed{Workstream: "w0", Error: state.Failure{Workstream: "w0"}},
		}, ""},
		"a failure from another digest": {[]state.Event{
			state.WorkstreamStarted{Workstream: "w0", Attempt: 2, Digest: state.Digest{Definition: "b"}},
			state.WorkstreamFailed{Workstream: "w0", Error: state.Failure{Workstream: "w0"}},
		}, "a=A.1"},
		"edited": {[]state.Event{state.WorkstreamEdited{Workstream: "w0", Artifacts: []state.Artifact{{Path: "f", Digest: "sha256:e"}}, Edited: []state.Text{"f"}}}, ""},
		"taken from another": {slices.Concat(makes("b", 2), []state.Event{
			state.WorkstreamStarted{Workstream: "w0", Attempt: 3, Digest: d},
			state.WorkstreamCompleted{Workstream: "w0", Work: &state.Work{Attempt: 3, Digest: d, Cached: &state.Cached{Session: "A", Attempt: 1}}},
		}), "a=A.3 b=A.2"},
		"judged by a gate that has not passed": {[]state.Event{
			state.WorkstreamStarted{Workstream: "w0", Attempt: 2, Digest: d},
			state.WorkstreamSucceeded{Workstream: "w0", Work: state.Work{Attempt: 2, Digest: d}},
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.InMemory(t)
			s := f.Open()
			x := checkpointtest.LockPRD(t, s, "PRD-009")
			checkpointtest.Must(t, x.Start(checkpointtest.Started("A", checkpointtest.Wide(2))))
			checkpointtest.Produce(t, x, "w1") // whose results nobody wants
			checkpointtest.Commit(t, x, makes("a", 1)...)
			checkpointtest.Commit(t, x, c.then...)
			if got := resultsOf(t, s); got != c.want {
				t.Errorf("in the current session: %q, not %q", got, c.want)
			}
			_, err := x.Abandon(state.SessionAbandoned{By: checkpointtest.By})
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, x.Close())
			if got := resultsOf(t, s); got != c.want {
				t.Errorf("of an abandoned session: %q, not %q", got, c.want)
			}
			x = checkpointtest.LockPRD(t, s, "PRD-009")
			checkpointtest.Must(t, x.Start(checkpointtest.Started("B", checkpointtest.Wide(2))))
			checkpointtest.Commit(t, x, makes("c", 1)...)
			if got, want := resultsOf(t, s), strings.TrimSpace(c.want+" c=B.1"); got != want {
				t.Errorf("of two sessions: %q, not %q", got, want)
			}
			checkpointtest.Commit(t, x, makes("a", 2)...)
			if got := resultsOf(t, s); !strings.Contains(got, "a=B.2") {
				t.Errorf("the later of two sessions does not count: %q", got)
			}
			checkpointtest.Must(t, x.Close())
			checkpointtest.Compact(t, f.Open())
			if got := resultsOf(t, s); !strings.Contains(got, "a=B.2") {
				t.Errorf("the result is gone after a compaction: %q", got)
			}
		})
	}
}

// TestRejectedWorkIsNoResult: what a person rejected at a gate is not used again, and what
// other workstreams made is.
func TestRejectedWorkIsNoResult(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run() // completes WS1 with its gate
	results := func() int {
		return len(f.Open().Reader().Results("PRD-009", map[string]bool{"WS1": true})["WS1"])
	}
	if got := results(); got != 1 {
		t.Errorf("completed work has %d results, want 1", got)
	}
	checkpointtest.Commit(t, x, state.GateRejected{Verdict: state.Verdict{Gate: "schema-validation (WS1)"}, By: checkpointtest.By})
	if got := results(); got != 0 {
		t.Errorf("rejected work has %d results, want none", got)
	}
	checkpointtest.Must(t, x.Close())
}
