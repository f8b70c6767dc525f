package runner_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

const chain = `
phase "one" {
  workstream "A" { script = "echo A >> ran" }
}
phase "two" {
  workstream "B" { script = "echo B >> ran; test ! -e broken" }
  workstream "C" {
    depends_on = [workstream.B]
    script     = "echo C >> ran"
  }
}
`

func TestBuildRunsInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, chain)
	b.must(state.StatusComplete)
	b.wantRan("A", "B", "C")
	b.must(state.StatusComplete, func(o *runner.Options) { o.Fresh = true })
	b.wantRan("A", "B", "C")
}

func TestResumeRunsExactlyTheRest(t *testing.T) {
	t.Parallel()
	b := newBench(t, chain)
	b.write("broken", "")
	e := b.must(state.StatusFailed)
	b.wantRan("A", "B")
	if e.Error == nil || e.Error.Workstream != "B" || e.Error.ExitCode != 1 {
		t.Errorf("error %+v", e.Error)
	}
	b.must(state.StatusFailed)
	b.wantRan("B")
	b.remove("broken")
	b.must(state.StatusComplete)
	b.wantRan("B", "C")
	if d := b.decision("A"); d != plan.Reuse {
		t.Errorf("the decision for A is %s, want reuse", d)
	}
	if got := b.state().Workstream("B").Attempts; got != 3 {
		t.Errorf("B has %d attempts, want 3", got)
	}
}

func TestFailFastLetsRunningWorkFinish(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "bad"  { script = "while ! test -e started; do :; done; exit 3" }
  workstream "good" { script = "echo > started; until grep -q workstream.failed .runner/PRD-001/journal.jsonl; do :; done; echo good >> ran" }
  workstream "late" {
    depends_on = [workstream.good]
    script     = "echo late >> ran"
  }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("good")
	st := b.state()
	if got := st.Workstream("good").Status; got != state.Completed {
		t.Errorf("good is %s", got)
	}
	if got := st.Workstream("late").Status; got != state.Pending {
		t.Errorf("late is %s", got)
	}
}

func TestKeepGoing(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "bad" { script = "exit 3" }
  workstream "needs_bad" {
    depends_on = [workstream.bad]
    script     = "echo needs_bad >> ran"
  }
  workstream "x" { script = "echo x >> ran" }
  workstream "y" {
    depends_on = [workstream.x]
    script     = "echo y >> ran"
  }
}
phase "two" {
  workstream "z" { script = "echo z >> ran" }
}
`)
	b.must(state.StatusFailed, func(o *runner.Options) { o.KeepGoing, o.Parallel = true, 1 })
	b.wantRan("x", "y")
}

func TestRetries(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran; echo try $RUNNER_ATTEMPT $RUNNER_IDEMPOTENCY_KEY; test $RUNNER_ATTEMPT -ge 3"
    retry {
      attempts         = 3
      initial_interval = "1ms"
    }
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; exit 7"
    retry {
      attempts         = 5
      initial_interval = "1ms"
      on_exit_codes    = [8]
    }
  }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("A", "A", "A", "B")
	for attempt := 1; attempt <= 3; attempt++ {
		if text := readFile(t, b.store.Layout().LogPath("PRD-001", "A", attempt)); !strings.HasPrefix(text, "try ") {
			t.Errorf("log of attempt %d: %q", attempt, text)
		}
	}
	first, last := readFile(t, b.store.Layout().LogPath("PRD-001", "A", 1)), readFile(t, b.store.Layout().LogPath("PRD-001", "A", 3))
	if strings.Fields(first)[2] != strings.Fields(last)[2] {
		t.Errorf("the idempotency key changed between attempts: %q, %q", first, last)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    command = ["sleep", "60"]
    timeout = "50ms"
  }
}
`)
	e := b.must(state.StatusFailed)
	if e.Error.Outcome != "timed_out" || e.Error.Message != "timed out after 50ms" {
		t.Errorf("error %+v", e.Error)
	}
}

func TestSessionTimeoutPauses(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
timeout = "100ms"
phase "one" {
  workstream "A" { command = ["sleep", "60"] }
}
`)
	e := b.must(state.StatusPaused)
	if e.Pause == nil || e.Pause.Reason != state.PauseTimeout {
		t.Errorf("pause %+v", e.Pause)
	}
}

// TestAClockThatIsSetDuringARunTakesNothingFromItsTimeout sets the clock forward or back
// during a run. The recorded duration of the run comes from the monotonic clock, so the
// session does not time out. The recorded times nevertheless follow the clock.
func TestAClockThatIsSetDuringARunTakesNothingFromItsTimeout(t *testing.T) {
	t.Parallel()
	for name, jump := range map[string]time.Duration{"forward": 10 * 365 * 24 * time.Hour, "back": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `
timeout = "1h"
phase "one" {
  workstream "A" { script = "touch jumped; test -f ok" }
}
`)
			var err error
			b.store, err = checkpoint.OpenStore(b.path(".runner"), checkpoint.Options{RescueDir: t.TempDir(), Now: func() time.Time {
				now := time.Now()
				if _, err := os.Stat(b.path("jumped")); err == nil {
					return now.Add(jump)
				}
				return now
			}})
			if err != nil {
				t.Fatal(err)
			}
			b.must(state.StatusFailed)
			st := b.state()
			if took := time.Duration(st.ActiveMS) * time.Millisecond; took <= 0 || took > time.Hour/2 {
				t.Errorf("the recorded duration of a run of less than a minute is %v", took)
			}
			if off := time.Since(st.UpdatedAt.Add(-jump)); off.Abs() > time.Hour {
				t.Errorf("the recorded time is off by %v", off)
			}
			b.write("ok", "")
			b.must(state.StatusComplete)
		})
	}
}

func TestOutputsAndArtifactsFlowDownstream(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script    = "mkdir -p out && printf hello > out/a.txt && echo version=1.2 >> $RUNNER_OUTPUT && echo metric.size=5 >> $RUNNER_OUTPUT"
    artifacts = ["out/*.txt"]
  }
}
phase "two" {
  workstream "B" {
    depends_on = [workstream.A]
    command    = ["sh", "-c", "printf '%s ' \"$@\" >> ran", "sh", workstream.A.outputs.version, workstream.A.artifacts[0], metric.size]
  }
}
`)
	b.must(state.StatusComplete)
	b.wantRan("1.2", "out/a.txt", "5")
	a := b.state().Workstream("A").Artifacts
	if len(a) != 1 || a[0].Path != "out/a.txt" || a[0].Size != 5 ||
		a[0].Digest != "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Errorf("artifacts %+v", a)
	}
}

func TestMissingArtifactFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    command   = ["true"]
    artifacts = ["out/*.txt"]
  }
}
`)
	e := b.must(state.StatusFailed)
	if want := `the declared artifact "out/*.txt" does not exist`; string(e.Error.Message) != want {
		t.Errorf("message %q, want %q", e.Error.Message, want)
	}
}

func TestChangedInputRerunsWhatIsAffected(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script    = "echo A >> ran; cp a.txt a.out"
    inputs    = ["a.txt"]
    artifacts = ["a.out"]
    effect    = "pure"
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran"
  }
  workstream "C" {
    script = "echo C >> ran"
    inputs = ["c.txt"]
  }
}
phase "two" {
  workstream "D" { script = "echo D >> ran; test ! -e broken" }
}
`)
	one := func(o *runner.Options) { o.Parallel = 1 }
	b.write("a.txt", "1")
	b.write("c.txt", "1")
	b.write("broken", "")
	b.must(state.StatusFailed, one)
	b.wantRanSet("A", "B", "C", "D")
	b.write("a.txt", "2")
	b.must(state.StatusFailed, one)
	b.wantRanSet("A", "B", "D")
	if d := b.decision("B"); d != plan.Depends {
		t.Errorf("the decision for B is %s, want depends", d)
	}
	b.write("c.txt", "2")
	b.must(state.StatusFailed, one)
	b.wantRanSet("C", "D")
	b.write("a.out", "edited")
	_, err := b.build(one)
	var conflict *runner.ConflictError
	if !errors.As(err, &conflict) || conflict.Conflicts[0].Path != "a.out" {
		t.Fatalf("error %v, want a conflict about a.out", err)
	}
	b.wantRan()
	b.must(state.StatusFailed, one, func(o *runner.Options) { o.OnConflict = plan.ConflictRestore })
	b.wantRanSet("D") // the artifact of A is restored
	b.wantFile("a.out", "2")
	b.remove("a.out")
	b.must(state.StatusFailed, one)
	b.wantRanSet("D")
	b.wantFile("a.out", "2")
	b.write("a.out", "edited")
	b.must(state.StatusFailed, one, func(o *runner.Options) { o.OnConflict = plan.ConflictKeep })
	b.wantRanSet("B", "D")
	b.must(state.StatusFailed, one)
	b.wantRan("D")
}

func TestSelection(t *testing.T) {
	t.Parallel()
	b := newBench(t, chain+`
phase "three" {
  workstream "D" { script = "echo D >> ran; test -e good" }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("A", "B", "C", "D")
	b.must(state.StatusFailed, func(o *runner.Options) { o.Select.Invalidate = []string{"B"} })
	b.wantRan("B", "C", "D")
	b.must(state.StatusFailed, func(o *runner.Options) { o.Select.From = "two" })
	b.wantRan("B", "C", "D")
	b.must(state.StatusPaused, func(o *runner.Options) { o.Select.Only = []string{"A"} })
	b.wantRan("A")
	_, err := b.build(func(o *runner.Options) { o.Select.From = "four" })
	var sel *plan.SelectionError
	if !errors.As(err, &sel) {
		t.Errorf("error %v", err)
	}
}

func TestWhenAndForEach(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
variable "deploy" {
  type    = bool
  default = false
}
---
phase "one" {
  workstream "s" {
    for_each = toset(["a", "b"])
    script   = "echo ${each.key} >> ran"
  }
  workstream "deploy" {
    when       = var.deploy
    depends_on = [workstream.s]
    script     = "echo deploy >> ran"
    gate "never" { command = ["false"] }
  }
}
phase "two" {
  when = var.deploy
  workstream "announce" { script = "echo announce >> ran" }
}
`)
	b.must(state.StatusComplete)
	b.wantRanSet("a", "b")
	st := b.state()
	if got := st.Gate("never (deploy)").Status; got != state.Skipped {
		t.Errorf("the gate of a skipped workstream is %s", got)
	}
	if got := st.Phase("two").Status; got != state.Skipped {
		t.Errorf("phase two is %s", got)
	}
}

func TestInterruptAndResume(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" { script = "echo A >> ran" }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; echo > started; test -e go || exec sleep 60"
  }
}
`)
	signals := make(chan string, 1)
	stop := context.AfterFunc(fileExists(t, b.path("started")), func() { signals <- "SIGINT" })
	defer stop()
	e := b.must(state.StatusPaused, func(o *runner.Options) { o.Interrupts = signals })
	if e.Signal != "SIGINT" {
		t.Errorf("signal %q", e.Signal)
	}
	b.wantRan("A", "B")
	st := b.state()
	if last := st.Checkpoints[len(st.Checkpoints)-1]; last.Trigger != state.TriggerUserInterrupt {
		t.Errorf("the last checkpoint is %s", last.Trigger)
	}
	b.write("go", "")
	b.must(state.StatusComplete)
	b.wantRan("B")
}

func TestStaleDocument(t *testing.T) {
	t.Parallel()
	b := newBench(t, "document = \"prd.md\"\n"+chain)
	b.write("prd.md", "one")
	b.write("broken", "")
	b.must(state.StatusFailed)
	b.write("prd.md", "two")
	var stale *runner.StaleError
	if _, err := b.build(); !errors.As(err, &stale) {
		t.Fatalf("error %v, want a StaleError", err)
	}
	b.ran()
	b.must(state.StatusFailed, func(o *runner.Options) { o.OnStale = runner.StaleProceed })
	b.wantRan("B")
	b.must(state.StatusFailed) // the change has been accepted
}

func TestHooksRunAfterTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
hook {
  on      = ["complete"]
  command = ["sh", "-c", "echo hook-$RUNNER_STATUS >> ran; exit 1"]
}
hook {
  on      = ["failed"]
  command = ["sh", "-c", "echo hook-$RUNNER_STATUS >> ran"]
}
`+chain)
	b.write("broken", "")
	b.must(state.StatusFailed)
	b.wantRan("A", "B", "hook-failed")
	b.remove("broken")
	b.must(state.StatusComplete)
	b.wantRan("B", "C", "hook-complete")
	if len(b.warned) != 1 || !strings.Contains(b.warned[0], "the complete hook (") {
		t.Errorf("warnings %q", b.warned)
	}
}
