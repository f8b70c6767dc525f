package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"syscall"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner"
)

// failing is a file system on which all fsyncs of one file fail from a certain write on.
type failing struct {
	store.FS
	broken atomic.Bool
	only   string         // the base name of the file whose syncs fail
	when   *regexp.Regexp // syncs fail from the write on that matches
	during func()         // called during a failing sync
}

// event matches an event of a workstream in a line of the journal.
func event(kind state.Kind, workstream string) *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`"kind":"%s"(,"after_ms":\d+)?,"workstream":"%s"`, kind, workstream))
}

func (f *failing) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil || filepath.Base(name) != f.only {
		return file, err
	}
	return &failingFile{File: file, fs: f}, nil
}

type failingFile struct {
	store.File
	fs *failing
}

func (f *failingFile) Write(p []byte) (int, error) {
	if f.fs.when != nil && f.fs.when.Match(p) {
		f.fs.broken.Store(true)
	}
	return f.File.Write(p)
}

func (f *failingFile) Sync() error {
	if f.fs.broken.Load() {
		if f.fs.during != nil {
			f.fs.during()
		}
		return &os.PathError{Op: "sync", Path: f.fs.only, Err: syscall.EIO}
	}
	return f.File.Sync()
}

func TestFailedFsyncStopsTheRun(t *testing.T) {
	t.Parallel()
	fsys := &failing{FS: store.OS(), only: "journal.jsonl", when: event(state.KindWorkstreamCompleted, "short")}
	b := newBenchOn(t, fsys, `
phase "one" {
  workstream "long" { command = ["sleep", "300"] }
  workstream "short" { script = "echo short >> ran" }
  workstream "next" {
    depends_on = [workstream.short]
    script     = "echo next >> ran"
  }
}
`)
	_, err := b.build()
	var poisoned *checkpoint.PoisonedError
	if !errors.As(err, &poisoned) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("error %v, want a poisoned session", err)
	}
	b.wantRan("short")
	for _, c := range b.commits {
		for _, e := range c.Events {
			if done, ok := e.(state.WorkstreamCompleted); ok {
				t.Errorf("views were told that %s is complete, but the journal does not have that", done.Workstream)
			}
		}
	}
}

// TestNothingRunsForEver: the end of a workstream cannot be recorded, so the workstream
// stays recorded as running. The resumed run corrects the record, even if it is
// interrupted before it reaches the workstream.
func TestNothingRunsForEver(t *testing.T) {
	t.Parallel()
	fsys := &failing{FS: store.OS(), only: "journal.jsonl", when: event(state.KindWorkstreamCompleted, "A")}
	b := newBenchOn(t, fsys, `
phase "one" {
  workstream "A" { script = "until grep -q 'started.*B' .runner/PRD-001/journal.jsonl; do :; done" }
  workstream "B" { script = "exec sleep 300" }
}
`)
	if _, err := b.build(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("error %v, want the failed sync", err)
	}
	if got := b.state().Workstream("B").Status; got != state.Running {
		t.Fatalf("B is %s, want running: the test proves nothing", got)
	}
	fsys.when = nil
	fsys.broken.Store(false)
	signals := make(chan string, 1)
	stop := onEvent(func(e state.Event) bool { return e.Kind() == state.KindSessionResumed }, func() { signals <- "SIGINT" })
	b.must(state.StatusPaused, stop, func(o *runner.Options) { o.Interrupts, o.Parallel = signals, 1 })
	for _, name := range []string{"A", "B"} {
		if got := b.state().Workstream(name).Status; got == state.Running {
			t.Errorf("workstream %s is still %s", name, got)
		}
	}
}

func TestInterruptBeforeAnythingBegan(t *testing.T) {
	t.Parallel()
	b := newBench(t, chain)
	signals := make(chan string, 1)
	git := blockedGit{asked: func() { signals <- "SIGINT" }}
	_, err := b.build(func(o *runner.Options) { o.Interrupts, o.Git = signals, git })
	var interrupted *runner.InterruptedError
	if !errors.As(err, &interrupted) || interrupted.Signal != "SIGINT" {
		t.Fatalf("error %v, want an interruption", err)
	}
	b.wantRan()
	if _, err := b.store.Load("PRD-001"); !errors.Is(err, checkpoint.ErrNoSession) {
		t.Errorf("a session exists: %v", err)
	}
}

// blockedGit is a git that never answers.
type blockedGit struct{ asked func() }

func (g blockedGit) Head(ctx context.Context) (*state.Git, error) {
	g.asked()
	<-ctx.Done()
	return nil, ctx.Err()
}

func (blockedGit) Deleted(context.Context, state.Git) (bool, error) { return false, nil }

// TestLostLockStopsTheRunAtOnce removes the lock during a run. Another runner may have
// the session from then on, so Runner retries nothing, starts nothing and waits for
// nothing.
func TestLostLockStopsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "careless" { script = "echo careless >> ran; until grep -q beside ran; do :; done; rm -r .runner/locks" }
  workstream "beside"   { script = "echo beside >> ran; exec sleep 300" }
}
phase "two" {
  workstream "after" { script = "echo after >> ran" }
}
`)
	_, err := b.build()
	if !errors.Is(err, checkpoint.ErrLockLost) {
		t.Fatalf("error %v", err)
	}
	b.wantRanSet("beside", "careless")
	if len(b.warned) != 0 {
		t.Errorf("warnings %q", b.warned)
	}
}
