package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
)

const gateAdded = `
phase "one" {
  workstream "b" {
    script = "echo b >> ran"
    GATE
  }
  workstream "c" { script = "echo c >> ran; test -e ok" }
}
phase "two" {
  workstream "deploy" {
    depends_on = [workstream.b]
    script     = "echo deploy >> ran"
  }
}
`

// TestNewGateOfCompletedWorkIsJudgedFirst adds a gate to a completed workstream. The gate
// is judged before the workstreams that depend on it run.
func TestNewGateOfCompletedWorkIsJudgedFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(gateAdded, "GATE", "", 1))
	b.must(state.StatusFailed, func(o *runner.Options) { o.KeepGoing = true })
	b.wantRanSet("b", "c")
	b.rewrite(strings.Replace(gateAdded, "GATE", `gate "ng" { script = "echo ng >> ran; exit 1" }`, 1))
	b.write("ok", "")
	e := b.must(state.StatusFailed, func(o *runner.Options) { o.KeepGoing = true })
	b.wantRanSet("c", "ng")
	if e.Error.Gate != "ng (b)" {
		t.Errorf("error %+v", e.Error)
	}
}

func TestEditsAreNotOverwrittenByAnotherReason(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" {
    script    = "echo a >> ran; cp in a.txt; cp in b.txt"
    inputs    = ["in"]
    artifacts = ["a.txt", "b.txt"]
  }
  workstream "f" {
    depends_on = [workstream.a]
    command    = ["false"]
  }
}
`)
	b.write("in", "1")
	b.must(state.StatusFailed)
	b.wantRan("a")
	b.write("a.txt", "mine")
	b.write("in", "2")
	for _, choice := range []plan.OnConflict{"", plan.ConflictFail, plan.ConflictKeep} {
		_, err := b.build(func(o *runner.Options) { o.OnConflict = choice })
		var conflict *runner.ConflictError
		if !errors.As(err, &conflict) || conflict.Conflicts[0].Path != "a.txt" {
			t.Fatalf("--on-conflict %q: %v, want a conflict about a.txt", choice, err)
		}
	}
	b.wantRan()
	if got := readFile(t, b.path("a.txt")); got != "mine" {
		t.Errorf("a.txt holds %q", got)
	}
	b.must(state.StatusFailed, func(o *runner.Options) { o.OnConflict = plan.ConflictRestore })
	b.wantRan("a")
}

// TestPartialWorkIsNoEdit: partial work of an interrupted workstream is not an edit of an
// artifact that another one recorded.
func TestPartialWorkIsNoEdit(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" {
    script    = "echo a >> ran; echo 1 > shared.txt"
    artifacts = ["shared.txt"]
  }
}
phase "two" {
  workstream "b" {
    script    = "echo b >> ran; echo 2 > shared.txt; test -e ok"
    artifacts = ["shared.txt"]
  }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("a", "b")
	b.write("ok", "")
	b.must(state.StatusComplete)
	b.wantRan("b")
}

func TestHandWrittenDocument(t *testing.T) {
	t.Parallel()
	src := `
phase "one" {
  workstream "a" {
    script = "echo a >> ran"
    gate "lint" { script = "echo lint >> ran" }
  }
}
phase "two" {
  workstream "b" { script = "echo b >> ran" }
}
`
	written := func(prd string, passed, pending []string) func(*runner.Options) {
		return func(o *runner.Options) {
			o.Imported = &document.File{Document: state.Document{
				PRD: prd, Status: state.StatusPaused, Timestamp: "2025-12-11T10:16:00Z",
				Completed: []string{"a"}, Pending: []string{"b"}, GatesPassed: passed, GatesPending: pending,
			}}
		}
	}
	lint := []string{"lint"}
	b := newBench(t, src)
	b.must(state.StatusComplete, written("PRD-001", nil, lint))
	b.wantRan("lint", "b")
	b = newBench(t, src)
	b.must(state.StatusComplete, written("PRD-001", lint, nil))
	b.wantRan("b")
	b = newBench(t, src)
	_, err := b.build(written("PRD-002", lint, nil))
	var refused *runner.ImportError
	if !errors.As(err, &refused) {
		t.Errorf("error %v, want a refusal of another PRD's document", err)
	}
	b.wantRan()
}

func TestOnlyRunsNothingElse(t *testing.T) {
	t.Parallel()
	src := `
phase "one" {
  workstream "a" { script = "echo a >> ran" }
  workstream "b" {
    depends_on = [workstream.a]
    script     = "echo b >> ran"
  }
  workstream "c" { script = "echo c >> ran" }
}
phase "two" {
  workstream "d" {
    depends_on = [workstream.b]
    script     = "echo d >> ran"
  }
}
`
	only := func(name string) func(*runner.Options) {
		return func(o *runner.Options) { o.Select.Only = []string{name} }
	}
	b := newBench(t, src)
	b.must(state.StatusPaused, only("b"))
	b.wantRan("a", "b")
	b.must(state.StatusPaused, only("a"))
	b.wantRan("a")
	b.must(state.StatusComplete)
	b.wantRanSet("b", "c", "d") // b depends on the new a
	b.must(state.StatusComplete, only("c"))
	b.wantRan("c") // c belongs to the complete session
}

func TestNamesThatHoldSecretsAreRefused(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"echo x${var.tok}=1 >> $RUNNER_OUTPUT",
		"echo metric.x${var.tok}=1 >> $RUNNER_OUTPUT",
		"echo > f-${var.tok}",
	} {
		b := newBench(t, `
variable "tok" {
  type      = string
  sensitive = true
}
---
phase "one" {
  workstream "a" {
    script    = "`+script+`; echo > f-"
    artifacts = ["f-*"]
  }
}
`)
		b.vars["tok"] = "S3cr3tTOKEN"
		mask := func(s string) string { return strings.ReplaceAll(s, "S3cr3tTOKEN", "***") }
		e := b.must(state.StatusFailed, func(o *runner.Options) { o.Mask = mask })
		if !strings.Contains(string(e.Error.Message), "holds a sensitive value") {
			t.Errorf("%s: %+v", script, e.Error)
		}
		if journal := readFile(t, b.path(".runner/PRD-001/journal.jsonl")); strings.Contains(journal, "S3cr3t") {
			t.Errorf("%s: the journal holds the value", script)
		}
	}
}

// silent is an Asker whose user never answers.
type silent struct{ asked func() }

func (s silent) Approve(ctx context.Context, _ runner.Question) (runner.Answer, error) {
	s.asked()
	<-ctx.Done()
	return runner.Answer{}, ctx.Err()
}

func (silent) Unwritten(context.Context, string) (record.OnFailure, error) {
	return record.Pause, nil
}

func (s silent) Resolve(ctx context.Context, _ *runner.ConflictError) (plan.OnConflict, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func (s silent) Proceed(ctx context.Context, _ plan.Stale) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

func TestInterruptAtAPrompt(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" { script = "echo a >> ran" }
  gate "sign-off" {
    approval { message = "Ship?" }
  }
}
`)
	signals := make(chan string, 1)
	e := b.must(state.StatusPaused, func(o *runner.Options) {
		o.Interrupts, o.Asker = signals, silent{asked: func() { signals <- "SIGINT" }}
	})
	if e.Signal != "SIGINT" {
		t.Errorf("signal %q", e.Signal)
	}
	if got := b.state().Gate("sign-off (one)").Status; got != state.Waiting {
		t.Errorf("the gate is %s", got)
	}
}

func TestUncertainReasonStaysAsItIs(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "pay" {
    script = "exit 9"
    effect = "once"
  }
}
`)
	b.must(state.StatusPaused)
	was := b.state().Workstream("pay").Error.Message
	b.must(state.StatusPaused)
	if is := b.state().Workstream("pay").Error.Message; is != was {
		t.Errorf("the reason was %q, and is %q", was, is)
	}
	_, err := b.build(func(o *runner.Options) { o.Select.Invalidate = []string{"pay"} })
	var sel *plan.SelectionError
	if !errors.As(err, &sel) || !sel.Uncertain {
		t.Errorf("error %v, want one that says that the step is uncertain", err)
	}
}
