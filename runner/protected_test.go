package runner_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner"
)

// protects are the events about protections in the last build, with their workstream.
func (b *bench) protects() []string {
	var kinds []string
	for _, c := range b.commits {
		for _, e := range c.Events {
			switch e := e.(type) {
			case state.ProtectionMade:
				kinds = append(kinds, "made")
				if e.Again {
					kinds[len(kinds)-1] = "again"
				}
			case state.ProtectionRolledBack:
				kinds = append(kinds, "rolled back")
			case state.ProtectionCommitted:
				kinds = append(kinds, "committed")
			case state.ProtectionKept:
				kinds = append(kinds, "kept")
			}
		}
	}
	return kinds
}

func (b *bench) wantProtects(want ...string) {
	b.t.Helper()
	if got := b.protects(); !slices.Equal(got, want) {
		b.t.Fatalf("protections %q, want %q", got, want)
	}
}

// protectedUpper appends what it finds in data/a to the file ran, and changes it.
const protectedUpper = `
phase "one" {
	workstream "upper" {
		script = file("upper.sh")
		inputs = ["given"]
		protect { scope = ["data/**"] }
		retry {
			attempts         = 2
			initial_interval = "1ms"
		}
		gate "right" { command = ["test", "-e", "right"] }
		gate "ok" {
			approval { message = "?" }
		}
	}
}
`

func newProtected(t *testing.T) *bench {
	b := newBench(t, protectedUpper)
	b.write("given", "1")
	b.write("data/a", "one\n")
	b.write("upper.sh", "cat data/a >> ran; echo changed > data/a; touch data/new; test -e works")
	return b
}

// TestRetryIsProtected: each attempt starts from the protected state, by the first
// checkpoint, also in the next run. An edit in between is not lost.
func TestRetryIsProtected(t *testing.T) {
	t.Parallel()
	b := newProtected(t)
	b.must(state.StatusFailed)
	b.wantProtects("made", "rolled back", "again", "rolled back")
	b.wantFile("data/a", "one")
	b.must(state.StatusFailed)
	b.wantProtects("again", "rolled back", "again", "rolled back")
	b.write("data/a", "edited\n")
	b.write("works", "")
	b.must(state.StatusFailed)
	b.wantProtects("made", "rolled back") // its gate fails
	b.wantFile("data/a", "edited")
	b.wantRan("one", "one", "one", "one", "edited")
	if w := b.state().Workstream("upper"); w.Status != state.Failed || len(b.state().RollbacksDue()) > 0 {
		t.Errorf("it is %s, with %v due", w.Status, b.state().RollbacksDue())
	}
}

// TestDoneWorkIsRolledBackBeforeItRunsAgain: work that waits for an approval keeps its
// changes. If its inputs change, it starts from the protected state.
func TestDoneWorkIsRolledBackBeforeItRunsAgain(t *testing.T) {
	t.Parallel()
	b := newProtected(t)
	b.write("works", "")
	b.write("right", "")
	b.must(state.StatusPaused)
	b.wantProtects("made")
	b.wantFile("data/a", "changed")
	b.must(state.StatusPaused)
	b.wantProtects()
	b.wantRan("one")
	b.write("given", "2")
	b.must(state.StatusPaused)
	b.wantProtects("rolled back", "again")
	b.wantRan("one")
	b.must(state.StatusComplete, func(o *runner.Options) { o.Asker = approving{} })
	b.wantProtects("committed")
	b.wantFile("data/a", "changed")
	if all, _, err := b.store.Safety().List(); err != nil || len(all) != 1 || all[0].Undoes == "" {
		t.Errorf("the checkpoint of committed changes is not removed: %v, %v", all, err)
	}
}

// rejecting is an Asker that rejects.
type rejecting struct{ silent }

func (rejecting) Approve(context.Context, runner.Question) (runner.Answer, error) {
	return runner.Answer{Verdict: runner.Reject, By: state.Actor{User: "ann"}}, nil
}

// TestRejectedWorkIsRolledBack: a rejection is a failed gate.
func TestRejectedWorkIsRolledBack(t *testing.T) {
	t.Parallel()
	b := newProtected(t)
	b.write("works", "")
	b.write("right", "")
	b.must(state.StatusFailed, func(o *runner.Options) { o.Asker = rejecting{} })
	b.wantProtects("made", "rolled back")
	b.wantFile("data/a", "one")
	b.must(state.StatusPaused)
	b.wantProtects("again")
	b.wantRan("one", "one")
}

// TestInterruptedAttemptIsRolledBack: what an attempt has changed when a signal stops it is
// rolled back before the run ends.
func TestInterruptedAttemptIsRolledBack(t *testing.T) {
	t.Parallel()
	b := newProtected(t)
	b.write("upper.sh", "echo changed > data/a; touch started; exec sleep 60")
	signals := make(chan string, 1)
	stop := context.AfterFunc(fileExists(t, b.path("started")), func() { signals <- "SIGINT" })
	defer stop()
	b.must(state.StatusPaused, func(o *runner.Options) { o.Interrupts = signals })
	b.wantProtects("made", "rolled back")
	b.wantFile("data/a", "one")
}

// TestKeptAfterTheLastAttempt: with on_failure = "keep" a retry starts from the protected
// state, and what the last attempt left stays.
func TestKeptAfterTheLastAttempt(t *testing.T) {
	t.Parallel()
	b := newProtected(t)
	b.rewrite(`
phase "one" {
	workstream "upper" {
		script = file("upper.sh")
		protect {
			scope      = ["data/**"]
			on_failure = "keep"
		}
		retry {
			attempts         = 2
			initial_interval = "1ms"
		}
	}
}
`)
	b.must(state.StatusFailed)
	b.wantProtects("made", "rolled back", "again", "kept")
	b.wantFile("data/a", "changed")
	b.write("works", "")
	b.must(state.StatusComplete)
	b.wantProtects("made", "committed")
	b.wantRan("one", "one", "changed")
}

// TestCheckpointStaysUntilTheCommitIsDurable: if the journal can't be written when a
// workstream passes, its safety checkpoint stays, and it may still be rolled back to.
func TestCheckpointStaysUntilTheCommitIsDurable(t *testing.T) {
	t.Parallel()
	fsys := &failing{FS: store.OS(), only: "journal.jsonl"}
	b := newBenchOn(t, fsys, `
phase "one" {
	workstream "upper" {
		script = "cat data/a >> ran; echo changed > data/a"
		protect { scope = ["data/**"] }
	}
}
`)
	b.write("data/a", "one\n")
	fsys.when = event(state.KindWorkstreamCompleted, "upper")
	if _, err := b.build(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("error %v, want the failed sync", err)
	}
	all, _, err := b.store.Safety().List()
	if err != nil || len(all) != 1 {
		t.Fatalf("%d safety checkpoints are left, want 1; %v", len(all), err)
	}
}
