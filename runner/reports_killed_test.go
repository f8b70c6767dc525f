package runner_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
)

// reportsLeft returns a bench whose Runner was killed during the second attempt of A, which
// had reported the given lines. The first of them, a number of tokens, is on record.
func reportsLeft(t *testing.T, lines ...string) *bench {
	t.Helper()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "test -f go"
  }
}
`)
	b.must(state.StatusFailed)
	b.write("go", "")
	b.locked(func(x *checkpoint.Session) {
		spent := ledger.Report{Type: ledger.TypeMetric, Name: ledger.MetricTokensIn, Value: 5}
		x.Add(state.SessionResumed{}, state.WorkstreamStarted{Workstream: "A", Attempt: 2, Digest: x.State().Workstream("A").Digest},
			state.ReportsReceived{Workstream: "A", Attempt: 2, Lines: 1, Reports: []ledger.Report{spent}})
	})
	path := b.path(".runner/PRD-001/run/A.2.report")
	text := `{"type":"metric","name":"tokens_in","value":5}` + "\n" + strings.Join(lines, "\n")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// told returns what the last build recorded of the starts and the reports of A.
func (b *bench) told() []string {
	b.t.Helper()
	var told []string
	for _, c := range b.commits {
		for _, e := range c.Events {
			switch e := e.(type) {
			case state.WorkstreamStarted:
				told = append(told, fmt.Sprintf("start %d", e.Attempt))
			case state.ReportsReceived:
				text := fmt.Sprintf("attempt %d up to line %d", e.Attempt, e.Lines)
				for _, r := range e.Reports {
					text += ", " + string(r.Type)
				}
				for _, r := range e.Refused {
					text += fmt.Sprintf(", %d is refused", r.Line)
				}
				told = append(told, text)
			}
		}
	}
	return told
}

func (b *bench) wantTold(want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.told()); diff != "" {
		b.t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// TestReportsOfAKilledRun: the next run records what a killed run had not read, and only
// then starts the next attempt.
func TestReportsOfAKilledRun(t *testing.T) {
	t.Parallel()
	b := reportsLeft(t, `{"type":"conflict","id":"c","status":"start","parties":["a"]}`, `{"type":"state","key":"k","value":"v"}`,
		`{"type":"checkpoint"}`, `{"type":"metric","name":"tokens_in","value":2}`)
	b.must(state.StatusComplete)
	b.wantTold("attempt 2 up to line 2, conflict", "attempt 2 up to line 4, state, checkpoint", "attempt 2 up to line 5, metric", "start 3")
	if is := b.state().Spent.TokensIn; is != 7 {
		t.Errorf("%d tokens were counted, want 7", is)
	}
}

// TestReportsAreNotReadAgainAfterARollback: a rollback takes back what was reported, but
// what is on record is not read a second time, so that no cost is counted twice.
func TestReportsAreNotReadAgainAfterARollback(t *testing.T) {
	t.Parallel()
	b := reportsLeft(t, `{"type":"metric","name":"tokens_in","value":2}`)
	b.goBack(b.checkpointOf(state.TriggerStart, 1))
	b.must(state.StatusComplete)
	b.wantTold("attempt 2 up to line 2, metric", "start 3")
	if is := b.state().Spent.TokensIn; is != 7 {
		t.Errorf("%d tokens were counted, want 7", is)
	}
}

// TestRefusedReportsAreRecordedWithTheirLines: a line that is refused after a report that
// makes a checkpoint is on record with the lines after it. Otherwise a run that was killed
// between the two would refuse it again.
func TestRefusedReportsAreRecordedWithTheirLines(t *testing.T) {
	t.Parallel()
	b := reportsLeft(t, "no report", `{"type":"checkpoint"}`, "no report")
	b.must(state.StatusComplete)
	b.wantTold("attempt 2 up to line 3, checkpoint, 2 is refused", "attempt 2 up to line 4, 4 is refused", "start 3")
}
