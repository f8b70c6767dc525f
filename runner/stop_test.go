package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner"
	"prdrunner/runner/record"
)

func TestUndecidableVerifyPauses(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "pay" {
    script = "exit 3"
    effect = "once"
    verify = ["sh", "-c", "exit 2"]
  }
}
`)
	e := b.must(state.StatusPaused)
	if e.Pause.Reason != state.PauseUncertain || len(b.warned) != 1 {
		t.Errorf("pause %+v, warnings %q", e.Pause, b.warned)
	}
}

func TestOnceStartsNothingWithoutARecord(t *testing.T) {
	t.Parallel()
	fsys := &failing{FS: store.OS(), only: "journal.jsonl"}
	b := newBenchOn(t, fsys, `
phase "one" {
  workstream "first" { script = "echo > started; until test -e broken; do :; done; echo first >> ran" }
}
phase "two" {
  workstream "pay" {
    script = "echo pay >> ran"
    effect = "once"
  }
}
`)
	fsys.when = event(state.KindWorkstreamStarted, "pay")
	fsys.during = func() { // long enough for pay to write to the file "ran", if pay was started
		for over := time.Now().Add(500 * time.Millisecond); time.Now().Before(over); time.Sleep(5 * time.Millisecond) {
			if ran, err := os.ReadFile(b.path("ran")); err == nil && strings.Contains(string(ran), "pay") {
				return
			}
		}
	}
	b.write("broken", "")
	_, err := b.build()
	if !errors.Is(err, syscall.EIO) {
		t.Fatalf("error %v, want the failed sync", err)
	}
	b.wantRan("first")
}

func TestMaxParallelHoldsForOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  max_parallel = 1
  workstream "pay" {
    for_each = toset(["a", "b", "c"])
    script   = "mkdir busy && rmdir busy && echo ${each.key} >> ran"
    effect   = "once"
  }
}
`)
	b.must(state.StatusComplete)
	b.wantRanSet("a", "b", "c")
}

func TestPauseWhileARetryWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran; test -e ok"
    retry {
      attempts         = 3
      initial_interval = "1h"
      max_interval     = "1h"
    }
  }
}
`)
	asked := make(chan error, 1)
	request := checkpoint.Request{PRD: "PRD-001", Verb: checkpoint.VerbPause}
	once := onEvent(func(e state.Event) bool { return e.Kind() == state.KindWorkstreamAttemptFailed }, func() {
		go func() {
			asked <- b.store.Ask(context.Background(), request, func(*checkpoint.Session) error { return errors.New("no build is running") })
		}()
	})
	e := b.must(state.StatusPaused, once)
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	if e.Pause.Reason != state.PauseRequested {
		t.Errorf("pause %+v", e.Pause)
	}
	if got := b.state().Workstream("A").Status; got != state.Interrupted {
		t.Errorf("A is %s", got)
	}
	b.write("ok", "")
	b.must(state.StatusComplete)
	b.wantRan("A", "A")
}

// TestFailureWhileARetryWaitsForItsSlot: when another workstream fails, a workstream
// whose retry is due and waits for a slot fails, too.
func TestFailureWhileARetryWaitsForItsSlot(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" {
    script = "exit 1"
    retry {
      attempts         = 2
      initial_interval = "1ms"
    }
  }
  workstream "b" { script = "until grep -q attempt_failed .runner/PRD-001/journal.jsonl; do :; done; exit 2" }
}
`)
	b.must(state.StatusFailed, func(o *runner.Options) { o.Parallel = 1 })
	st := b.state()
	for _, name := range []string{"a", "b"} {
		if got := st.Workstream(name).Status; got != state.Failed {
			t.Errorf("%s is %s", name, got)
		}
	}
}

func TestOutputThatIsAPipe(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" { script = "mkfifo $RUNNER_OUTPUT" }
}
`)
	e := b.must(state.StatusFailed)
	if want := "RUNNER_OUTPUT is not a regular file any more"; string(e.Error.Message) != want {
		t.Errorf("message %q", e.Error.Message)
	}
}

func TestSignalEndsAHook(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
hook {
  on      = ["complete"]
  command = ["sh", "-c", "echo > hooked; exec sleep 300"]
}
phase "one" {
  workstream "A" { command = ["true"] }
}
`)
	signals := make(chan string, 1)
	stop := context.AfterFunc(fileExists(t, b.path("hooked")), func() { signals <- "SIGINT" })
	defer stop()
	b.must(state.StatusComplete, func(o *runner.Options) { o.Interrupts = signals })
	if len(b.warned) != 1 || !strings.Contains(b.warned[0], "the complete hook (") {
		t.Errorf("warnings %q", b.warned)
	}
}

func TestCheckpointsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	src := `
phase "one" {
  workstream "A" { script = "echo A >> ran; rm -rf .runner/PRD-001/checkpoints; echo > .runner/PRD-001/checkpoints" }
}
phase "two" {
  workstream "B" { script = "echo B >> ran" }
}
`
	with := func(p record.OnFailure) func(*runner.Options) {
		return func(o *runner.Options) { o.OnCheckpointError = p }
	}
	close := func(b *bench, e runner.Ending, err error) {
		var derived *checkpoint.DerivedError
		if !e.Unwritten || !errors.As(err, &derived) {
			t.Errorf("unwritten %v, error %v", e.Unwritten, err)
		}
	}
	b := newBench(t, src)
	e, err := b.build(with(record.Pause))
	close(b, e, err)
	b.wantRan("A")
	if e.Status != state.StatusPaused || e.Pause.Reason != state.PauseCheckpoint {
		t.Errorf("the session is %s, %+v", e.Status, e.Pause)
	}
	b = newBench(t, src)
	e, _ = b.build(with(record.Skip))
	b.wantRan("A", "B")
	if e.Status != state.StatusComplete || !e.Unwritten || len(b.warned) != 1 {
		t.Errorf("the session is %s, warnings %q", e.Status, b.warned)
	}
	b = newBench(t, src)
	b.mend = func() {
		if err := os.Remove(filepath.Join(b.dir, ".runner/PRD-001/checkpoints")); err != nil {
			t.Error(err)
		}
	}
	b.must(state.StatusComplete, with(record.Retry))
	b.wantRan("A", "B")
}

func TestGateIgnoresWhatOthersMakeBesideIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    inputs = ["**/*.txt"]
    gate "check" { script = "echo > judging; until test -e gen/b.txt; do :; done; echo check >> ran" }
  }
  workstream "B" {
    script    = "until test -e judging; do :; done; mkdir -p gen; echo new > gen/b.tmp; mv gen/b.tmp gen/b.txt"
    artifacts = ["gen/*.txt"]
  }
}
`)
	b.must(state.StatusComplete)
	b.wantRan("A", "check")
}

func TestApprovalOfWhatChangedMeanwhileIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    inputs = ["in.txt"]
  }
  workstream "long" { script = "until test -e ok; do :; done" }
  gate "sign-off" {
    inputs = ["in.txt"]
    approval { message = "Ship?" }
  }
}
phase "two" {
  workstream "B" { script = "echo B >> ran" }
}
`)
	b.write("in.txt", "1")
	b.write("ok", "")
	request := checkpoint.Request{PRD: "PRD-001", Verb: checkpoint.VerbApprove, Gate: "sign-off (one)", By: state.Actor{User: "ann"}}
	alone := func(*checkpoint.Session) error { return errors.New("no build is running") }
	answers := make(chan error, 2)
	asks := 0
	signals := make(chan string, 1)
	answered := onEvent(func(e state.Event) bool { return e.Kind() == state.KindGateAsked }, func() {
		if asks++; asks == 1 {
			b.write("in.txt", "2")
		}
		go func() { answers <- b.store.Ask(context.Background(), request, alone) }()
	})
	b.must(state.StatusComplete, answered, func(o *runner.Options) {
		o.Asker, o.Interrupts = silent{asked: func() {}}, signals
	})
	b.wantRan("A", "B")
	refusals := []error{<-answers, <-answers}
	var refused *checkpoint.RefusedError
	if !slices.ContainsFunc(refusals, func(err error) bool { return errors.As(err, &refused) }) || !slices.Contains(refusals, error(nil)) {
		t.Errorf("the answers were %v, want a refusal and an acceptance", refusals)
	}
}

// TestAnAnswerHoldsForTheQuestionThatWasShown: the files change and the gate asks again.
// An answer to the first question is refused, and an answer to the last one is accepted.
func TestAnAnswerHoldsForTheQuestionThatWasShown(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    inputs = ["in.txt"]
  }
  gate "sign-off" {
    approval { message = "Ship?" }
  }
}
`)
	b.write("in.txt", "1")
	alone := func(*checkpoint.Session) error { return errors.New("no build is running") }
	answer := func(verb checkpoint.Verb, shown state.Gate) error {
		return b.store.Ask(context.Background(), checkpoint.Request{
			PRD: "PRD-001", Verb: verb, Gate: shown.Label, Definition: shown.Definition, Judged: shown.Judged, By: state.Actor{User: "ann"},
		}, alone)
	}
	answers := make(chan error, 4)
	var first state.Gate
	asked := onEvent(func(e state.Event) bool { return e.Kind() == state.KindGateAsked }, func() {
		now := *b.state().Gate("sign-off (one)")
		if first.Label == "" {
			first = now
			b.write("in.txt", "2")
			go func() { answers <- answer(checkpoint.VerbApprove, first) }() // the files have changed, and the gate asks again
			return
		}
		go func() {
			answers <- answer(checkpoint.VerbApprove, first)
			answers <- answer(checkpoint.VerbReject, first)
			answers <- answer(checkpoint.VerbApprove, now)
		}()
	})
	b.must(state.StatusComplete, asked, func(o *runner.Options) { o.Asker = silent{asked: func() {}} })
	var refused *checkpoint.RefusedError
	for i := range 3 {
		if err := <-answers; !errors.As(err, &refused) {
			t.Errorf("answer %d to the first question: %v, want a refusal", i+1, err)
		}
	}
	if err := <-answers; err != nil {
		t.Errorf("the answer to the last question: %v", err)
	}
}

// onEvent calls f for each event of a commit that is shown and that matches.
func onEvent(matches func(state.Event) bool, f func()) func(*runner.Options) {
	return func(o *runner.Options) { o.Views = append(o.Views, watcher{matches, f}) }
}

type watcher struct {
	matches func(state.Event) bool
	f       func()
}

func (w watcher) Begin(runner.Beginning) {}
func (w watcher) Warn(string)            {}
func (w watcher) Stop(runner.Stopping)   {}
func (w watcher) Await(runner.Awaited)   {}
func (w watcher) End(runner.Ending)      {}
func (w watcher) Commit(c state.Commit) {
	for _, e := range c.Events {
		if w.matches(e) {
			w.f()
		}
	}
}

// TestFailureWhileStartingStartsNothingElse: an expression that cannot be evaluated stops
// the run like any failure: no queued workstream is started.
func TestFailureWhileStartingStartsNothingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" { script = "echo a >> ran" }
}
phase "two" {
  workstream "bad" { command = ["echo", workstream.a.outputs.nope] }
  workstream "x" { script = "echo x >> ran" }
  workstream "y" { script = "echo y >> ran" }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("a")
}

func TestPoisonWhileStartingStartsNothingElse(t *testing.T) {
	t.Parallel()
	fsys := &failing{FS: store.OS(), only: "journal.jsonl", when: event(state.KindWorkstreamStarted, "pay")}
	b := newBenchOn(t, fsys, `
phase "one" {
  workstream "pay" {
    script = "echo pay >> ran"
    effect = "once"
  }
  workstream "x" { script = "echo x >> ran; exec sleep 300" }
}
`)
	if _, err := b.build(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("error %v, want the failed sync", err)
	}
	b.wantRan()
}

// TestVerifiedWorkIsRecordedAsItIs: if a verify command says that a step happened, its
// present artifacts are recorded, not those of an earlier run.
func TestVerifiedWorkIsRecordedAsItIs(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "pay" {
    script    = "cp v out.txt; echo pay >> ran; test ! -e bad"
    effect    = "once"
    artifacts = ["out.txt"]
    verify    = ["sh", "-c", "cmp -s v out.txt"]
  }
  workstream "after" {
    depends_on = [workstream.pay]
    script     = "echo after >> ran; test -e go"
  }
}
`)
	b.write("v", "1")
	b.write("bad", "")
	b.must(state.StatusFailed) // pay fails, verify says that pay happened, and after fails
	b.wantRan("pay", "after")
	b.write("go", "")
	b.must(state.StatusComplete)
	b.wantRan("after")
	if a := b.state().Workstream("pay").Artifacts; len(a) != 1 || a[0].Size != 1 {
		t.Errorf("artifacts %+v", a)
	}
}

func TestSignalEndsAllHooks(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
hook {
  on      = ["complete"]
  command = ["sh", "-c", "echo > hooked; exec sleep 300"]
}
hook {
  on      = ["complete"]
  command = ["sh", "-c", "echo second >> ran"]
}
phase "one" {
  workstream "A" { command = ["true"] }
}
`)
	signals := make(chan string, 1)
	stop := context.AfterFunc(fileExists(t, b.path("hooked")), func() { signals <- "SIGINT" })
	defer stop()
	b.must(state.StatusComplete, func(o *runner.Options) { o.Interrupts = signals })
	b.wantRan()
}
