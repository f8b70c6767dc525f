package runner_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fileExists returns a context that ends once the file is there.
func fileExists(t *testing.T, name string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ticker := time.NewTicker(time.Millisecond)
	go func() {
		defer cancel()
		defer ticker.Stop()
		for {
			select {
			case <-t.Context().Done():
				return
			case <-ticker.C:
				if _, err := os.Stat(name); err == nil {
					return
				}
			}
		}
	}()
	return ctx
}

const gated = `
phase "one" {
  workstream "A" {
    script    = "echo A >> ran; test -e out.txt || echo new > out.txt"
    artifacts = ["out.txt"]
    gate "check" { script = "echo check >> ran; grep -q good out.txt" }
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; test ! -e broken"
  }
}
`

func TestFailedGateJudgesAgainAfterAFix(t *testing.T) {
	t.Parallel()
	b := newBench(t, gated)
	b.write("broken", "")
	e := b.must(state.StatusFailed)
	b.wantRan("A", "check")
	if e.Error.Gate != "check (A)" || e.Error.Workstream != "A" {
		t.Errorf("error %+v", e.Error)
	}
	b.write("out.txt", "good")
	b.must(state.StatusFailed)
	b.wantRan("check", "B")
	if got := b.state().Workstream("A").Edited; !slices.Equal(got, []state.Text{"out.txt"}) {
		t.Errorf("edited %q", got)
	}
	b.must(state.StatusFailed) // the verdict is carried over
	b.wantRan("B")
	b.remove("broken")
	b.must(state.StatusComplete)
	b.wantRan("B")
}

func TestGateOfChangedDefinitionIsJudgedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, gated)
	b.write("out.txt", "good and better")
	b.write("broken", "")
	b.must(state.StatusFailed)
	b.wantRan("A", "check", "B")
	b.rewrite(strings.Replace(gated, "grep -q good", "grep -q better", 1))
	b.must(state.StatusFailed)
	if d := b.decision("A"); d != plan.Judge {
		t.Errorf("the decision for A is %s, want judge", d)
	}
	got := b.ran()
	if len(got) == 0 || got[0] != "check" || slices.Contains(got, "A") {
		t.Errorf("ran %q, want the check first and not A", got)
	}
}

func TestGateThatJudgesAMovingTargetFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script    = "echo x > out.txt"
    artifacts = ["out.txt"]
    gate "check" { script = "echo check >> ran; date +%N >> out.txt" }
  }
}
`)
	e := b.must(state.StatusFailed)
	b.wantRan("check", "check")
	if e.Error.Message != "what it judges changed while it was judged, twice" {
		t.Errorf("message %q", e.Error.Message)
	}
}

const approved = `
phase "one" {
  workstream "A" {
    script    = "echo A >> ran; cp in.txt out.txt"
    inputs    = ["in.txt"]
    artifacts = ["out.txt"]
  }
  gate "sign-off" {
    approval { message = "Ship it?" }
  }
}
phase "two" {
  workstream "B" { script = "echo B >> ran; test ! -e broken" }
}
`

func (b *bench) ask(r checkpoint.Request) error {
	b.t.Helper()
	r.PRD = "PRD-001"
	return b.store.Ask(context.Background(), r, func(x *checkpoint.Session) error {
		g := x.State().Gate(r.Gate)
		v := g.Verdict()
		if r.Verb == checkpoint.VerbApprove {
			x.Add(state.GateApproved{Verdict: v, By: r.By})
		} else {
			x.Add(state.GateRejected{Verdict: v, By: r.By})
		}
		return nil
	})
}

func TestApprovalPausesAndIsBoundToWhatWasApproved(t *testing.T) {
	t.Parallel()
	b := newBench(t, approved)
	b.write("in.txt", "1")
	b.write("broken", "")
	e := b.must(state.StatusPaused)
	b.wantRan("A")
	if e.Pause.Reason != state.PauseApproval || !slices.Equal(e.Pause.Gates, []string{"sign-off (one)"}) {
		t.Fatalf("pause %+v", e.Pause)
	}
	b.must(state.StatusPaused) // a resume does not approve
	b.wantRan()
	if err := b.ask(checkpoint.Request{Verb: checkpoint.VerbApprove, Gate: "sign-off (one)", By: state.Actor{User: "ann"}}); err != nil {
		t.Fatal(err)
	}
	b.must(state.StatusFailed)
	b.wantRan("B")
	b.write("in.txt", "2")
	b.must(state.StatusPaused) // the approved files no longer exist
	b.wantRan("A")
}

func TestRejectionRunsTheWorkAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    gate "ok" {
      approval { message = "Good?" }
    }
  }
}
`)
	b.must(state.StatusPaused)
	b.wantRan("A")
	if err := b.ask(checkpoint.Request{Verb: checkpoint.VerbReject, Gate: "ok (A)", By: state.Actor{User: "ann"}}); err != nil {
		t.Fatal(err)
	}
	b.must(state.StatusPaused)
	b.wantRan("A")
}

func TestReviewStopsAfterThePass(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    gate "look" {
      command = ["true"]
      pause   = true
    }
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran"
  }
}
`)
	e := b.must(state.StatusPaused)
	b.wantRan("A")
	if e.Pause.Reason != state.PauseReview {
		t.Errorf("pause %+v", e.Pause)
	}
	b.must(state.StatusComplete)
	b.wantRan("B")
}

func TestMetricGateAgainstTheLastCompleteSession(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" { script = "echo metric.coverage=$(cat value) >> $RUNNER_OUTPUT" }
  gate "coverage" {
    metric   = "coverage"
    min      = 50
    max_drop = 5
  }
  gate "sane" {
    condition     = metric.coverage <= 100
    error_message = "coverage is ${metric.coverage}"
  }
}
`)
	b.write("value", "90")
	b.must(state.StatusComplete)
	b.write("value", "80")
	e := b.must(state.StatusFailed, func(o *runner.Options) { o.Fresh = true })
	if want := "coverage dropped from 90 to 80, by more than 5"; string(e.Error.Message) != want {
		t.Errorf("message %q, want %q", e.Error.Message, want)
	}
	b.write("value", "120")
	e = b.must(state.StatusFailed, func(o *runner.Options) { o.Fresh = true })
	if want := "coverage is 120"; string(e.Error.Message) != want {
		t.Errorf("message %q, want %q", e.Error.Message, want)
	}
}

func TestOnceIsNeverRunTwiceByItself(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "pay" {
    script = "echo pay >> ran; exit 1"
    effect = "once"
  }
}
`)
	e := b.must(state.StatusPaused)
	b.wantRan("pay")
	if e.Pause.Reason != state.PauseUncertain {
		t.Errorf("pause %+v", e.Pause)
	}
	b.must(state.StatusPaused)
	b.wantRan()
	b.resolve("pay", state.ResolvedDone)
	b.must(state.StatusComplete)
	b.wantRan()
}

// resolve resolves an uncertain workstream, like the command "runner resolve".
func (b *bench) resolve(name string, r state.Resolution) {
	b.t.Helper()
	b.locked(func(x *checkpoint.Session) {
		e := state.WorkstreamResolved{Workstream: name, Resolution: r}
		if r == state.ResolvedDone {
			o := runner.Options{Pipeline: b.pipeline(), Store: b.store, Workspace: b.dir}
			a, err := runner.Adopt(context.Background(), o, x.State(), name, nil)
			if err != nil {
				b.t.Fatal(err)
			}
			e.Digest, e.Work = a.Digest, a.Work
		}
		x.Add(e)
	})
}

// locked calls do with the locked session while nothing runs.
func (b *bench) locked(do func(x *checkpoint.Session)) {
	b.t.Helper()
	x, err := b.store.Lock(context.Background(), "PRD-001", state.Actor{})
	if err != nil {
		b.t.Fatal(err)
	}
	do(x)
	if err := x.Close(); err != nil {
		b.t.Fatal(err)
	}
}

func TestVerifyDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "pay" {
    script = "echo pay >> ran; exit 1"
    effect = "once"
    verify = ["test", "-e", "paid"]
  }
}
`)
	b.must(state.StatusFailed) // verify says that pay did not happen, and pay has no attempts left
	b.wantRan("pay")
	b.write("paid", "")
	b.must(state.StatusComplete) // pay runs and fails, and verify says that it happened
	b.wantRan("pay")
}

func TestRejectionOfAPhaseRunsItAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, approved)
	b.write("in.txt", "1")
	b.must(state.StatusPaused)
	b.wantRan("A")
	if err := b.ask(checkpoint.Request{Verb: checkpoint.VerbReject, Gate: "sign-off (one)", By: state.Actor{User: "ann"}}); err != nil {
		t.Fatal(err)
	}
	b.must(state.StatusPaused)
	b.wantRan("A")
	b.must(state.StatusPaused) // a rejection makes the phase run again only once
	b.wantRan()
}

func TestSavedPlanKeepsItsSelection(t *testing.T) {
	t.Parallel()
	b := newBench(t, chain)
	b.write("broken", "")
	b.must(state.StatusFailed)
	b.wantRan("A", "B")
	o := runner.Options{Pipeline: b.pipeline(), Store: b.store, Workspace: b.dir, Select: plan.Selection{Invalidate: []string{"A"}}}
	plan, err := runner.Preview(context.Background(), o, b.state())
	if err != nil {
		t.Fatal(err)
	}
	b.must(state.StatusFailed, func(o *runner.Options) { o.Saved = plan })
	b.wantRan("A", "B")
	if _, err := b.build(func(o *runner.Options) { o.Saved = plan }); !errors.Is(err, runner.ErrPlanOutdated) {
		t.Errorf("error %v, want ErrPlanOutdated", err)
	}
	b.wantRan()
}

// TestFailedRejudgementTakesBackTheCompletion: a workstream is no longer complete after
// one of its gates was judged again and failed.
func TestFailedRejudgementTakesBackTheCompletion(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    gate "check" { script = "test ! -e bad" }
  }
  workstream "B" {
    depends_on = [workstream.A]
    command    = ["false"]
  }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("A")
	b.write("bad", "")
	if e := b.must(state.StatusFailed); e.Error.Gate != "check (A)" {
		t.Errorf("error %+v", e.Error)
	}
	b.wantRan()
	if got := b.state().Workstream("A").Status; got != state.Succeeded {
		t.Errorf("A is %s, want succeeded: its work is done, and its gate failed", got)
	}
}

// TestReviewThatAnEarlierRunLeftIsNotPassedOver: a gate that needs a review passes in a
// run that then fails for another reason. The next run stops for the review, even if it
// judges no gate.
func TestReviewThatAnEarlierRunLeftIsNotPassedOver(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    gate "look" {
      command = ["true"]
      inputs  = ["in.txt"]
      pause   = true
    }
  }
  workstream "broken" { script = "until grep -q gate.passed .runner/PRD-001/journal.jsonl; do :; done; test -e ok" }
}
phase "two" {
  workstream "B" { script = "echo B >> ran" }
}
`)
	b.write("in.txt", "1")
	b.must(state.StatusFailed)
	b.wantRan("A")
	b.write("ok", "")
	e := b.must(state.StatusPaused)
	if e.Pause.Reason != state.PauseReview {
		t.Errorf("pause %+v", e.Pause)
	}
	b.wantRan()
	b.must(state.StatusComplete)
	b.wantRan("B")
}
