package runner_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner"
	"prdrunner/runner/record"
)

// noCheckpoints is a file system on which no checkpoint file can be created from some
// moment on.
type noCheckpoints struct {
	store.FS
	broken atomic.Bool
}

func (f *noCheckpoints) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if f.broken.Load() && flag&os.O_CREATE != 0 && filepath.Base(filepath.Dir(name)) == "checkpoints" {
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.EIO}
	}
	return f.FS.OpenFile(name, flag, perm)
}

// noObjects is a file system on which no object can be created from some moment on; with
// once, only the first one fails.
type noObjects struct {
	store.FS
	broken atomic.Bool
	once   bool
}

func (f *noObjects) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if f.broken.Load() && flag&os.O_CREATE != 0 && strings.Contains(filepath.ToSlash(name), "/objects/") {
		f.broken.Store(!f.once)
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	return f.FS.OpenFile(name, flag, perm)
}

// watched breaks a file system when a workstream is done, and notes the checkpoints that
// were shown although their files do not exist.
type watched struct {
	*bench
	fsys    *noCheckpoints
	early   []string
	created []string
}

func (w *watched) Commit(c state.Commit) {
	for _, e := range c.Events {
		switch e := e.(type) {
		case state.WorkstreamCompleted:
			w.fsys.broken.Store(true)
		case state.CheckpointCreated:
			if w.created = append(w.created, e.ID); e.Trigger != state.TriggerComplete {
				continue
			}
			if _, err := os.Stat(w.path(".runner/PRD-001/checkpoints/" + e.ID + ".json")); err != nil {
				w.early = append(w.early, e.ID)
			}
		}
	}
	w.bench.Commit(c)
}

func (w *watched) options(on record.OnFailure) func(*runner.Options) {
	return func(o *runner.Options) { o.OnCheckpointError, o.Views = on, []runner.View{w} }
}

const last = `
phase "one" {
  workstream "A" { script = "echo A >> ran" }
}
`

func TestLastCheckpointThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	fsys := &noCheckpoints{FS: store.OS()}
	w := &watched{bench: newBenchOn(t, fsys, last), fsys: fsys}
	for range 2 { // the second time fails, too
		e, err := w.build(w.options(record.Pause))
		var derived *checkpoint.DerivedError
		if !errors.As(err, &derived) || !e.Unwritten {
			t.Errorf("unwritten %v, error %v", e.Unwritten, err)
		}
		if e.Status != state.StatusPaused || e.Pause == nil || e.Pause.Reason != state.PauseCheckpoint {
			t.Fatalf("the session is %s, %+v", e.Status, e.Pause)
		}
		if len(w.early) > 0 {
			t.Errorf("the checkpoints %q were shown, but are not on disk", w.early)
		}
	}
	w.wantRan("A")
	fsys.broken.Store(false)
	w.must(state.StatusComplete, w.options(record.Pause))
	w.wantRan()
	if len(w.early) > 0 {
		t.Errorf("the checkpoints %q were shown before they were on disk", w.early)
	}
	for _, ref := range w.state().Checkpoints {
		if _, err := w.store.ReadCheckpoint("PRD-001", ref.ID); err != nil {
			t.Error(err)
		}
	}
}

func TestLastCheckpointIsSkipped(t *testing.T) {
	t.Parallel()
	fsys := &noCheckpoints{FS: store.OS()}
	w := &watched{bench: newBenchOn(t, fsys, last), fsys: fsys}
	e := w.must(state.StatusComplete, w.options(record.Skip))
	if !e.Unwritten || len(w.early) > 0 {
		t.Errorf("unwritten %v, shown %q", e.Unwritten, w.early)
	}
	var skipped []string
	for _, c := range w.commits {
		for _, e := range c.Events {
			if s, ok := e.(state.CheckpointSkipped); ok {
				skipped = append(skipped, s.IDs...)
			}
		}
	}
	if !slices.ContainsFunc(skipped, func(id string) bool { return id != "" }) {
		t.Error("no checkpoint is recorded as skipped")
	}
	if refs := w.state().Checkpoints; slices.ContainsFunc(refs, func(r *state.CheckpointRef) bool { return slices.Contains(skipped, r.ID) }) {
		t.Errorf("the checkpoints %q are skipped, but still listed", skipped)
	}
}

// TestCreateAfterASkip: a request for a checkpoint during a run is refused if the file of
// this checkpoint can't be written, but not because an earlier file could not be written.
func TestCreateAfterASkip(t *testing.T) {
	t.Parallel()
	fsys := &noCheckpoints{FS: store.OS()}
	b := newBenchOn(t, fsys, `
phase "one" {
  workstream "A" { script = "echo > begun; until test -e go; do sleep 0.01; done" }
}
`)
	fsys.broken.Store(true)
	refusals := make(chan error, 2)
	stop := context.AfterFunc(fileExists(t, b.path("begun")), func() {
		for _, broken := range []bool{true, false} {
			fsys.broken.Store(broken)
			refusals <- b.store.Ask(t.Context(), checkpoint.Request{PRD: "PRD-001", Verb: checkpoint.VerbCreate, Comment: "asked"}, func(*checkpoint.Session) error { return nil })
		}
		b.write("go", "")
	})
	defer stop()
	b.must(state.StatusComplete, func(o *runner.Options) { o.OnCheckpointError = record.Skip })
	if err := <-refusals; err == nil || !strings.Contains(err.Error(), "its file could not be written") {
		t.Errorf("the checkpoint's file can't be written, and the answer is %v", err)
	}
	if err := <-refusals; err != nil {
		t.Errorf("the checkpoint's file can be written, and the answer is %v", err)
	}
	asked := 0
	for _, ref := range b.state().Checkpoints {
		if ref.Trigger == state.TriggerManual {
			asked++
			if _, err := os.Stat(b.path(".runner/PRD-001/checkpoints/" + ref.ID + ".json")); err != nil {
				t.Error(err)
			}
		}
	}
	if asked != 1 {
		t.Errorf("%d requested checkpoints exist, want 1", asked)
	}
}
