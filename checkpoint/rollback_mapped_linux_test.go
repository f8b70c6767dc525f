package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// mapped maps a file into memory, to write to it.
func mapped(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	info, err := f.Stat()
	must(t, err)
	data, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	t.Cleanup(func() { must(t, unix.Munmap(data)) })
	return data
}

// digestNow is what a workspace says that a file is.
func digestNow(t *testing.T, w *workspace.Workspace, path string) string {
	t.Helper()
	l, err := w.Now(context.Background(), []string{path})
	must(t, err)
	if len(l.Entries) != 1 {
		t.Fatalf("%s is not there", path)
	}
	return l.Entries[0].Digest
}

// mappedFile is a session with a file that somebody has mapped into memory, and that is at
// rest and captured: what is written to it from now on does not show in its times.
type mappedFile struct {
	*project
	w      *workspace.Workspace
	x      *Session
	target string // the checkpoint of before, of other bytes
	data   []byte // the file, "0...." or "1....", which is not what was captured
}

func newMappedFile(t *testing.T) *mappedFile {
	t.Helper()
	p := newProject(t, store.NewMemory())
	s := p.open()
	l := &mappedFile{project: p, w: p.workspace(s), x: lockPRD(t, s, "PRD-009")}
	t.Cleanup(func() { must(t, l.x.Close()) })
	must(t, l.x.Start(startedOf("PRD-009", "session-1", 1)))
	p.save("data", "first")
	l.target = p.capture(l.x, l.w, state.TriggerStart)
	p.save("data", "0....")
	l.data = mapped(t, filepath.Join(p.dir, "data"))
	for kept := ""; ; l.data[0] ^= 1 { // until it is not read any more
		p.capture(l.x, l.w, state.TriggerManual)
		now := digestNow(t, l.w, "data")
		if now == kept {
			return l
		}
		kept = now
	}
}

// content is what is in the file.
func (l *mappedFile) content() string {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(l.dir, "data"))
	must(l.t, err)
	return string(data)
}

// TestRollbackReadsWhatItOverwrites: what was written to a file through a memory map
// is in the checkpoint that undoes a rollback.
func TestRollbackReadsWhatItOverwrites(t *testing.T) {
	t.Parallel()
	ctx, l := context.Background(), newMappedFile(t)
	written := l.content()
	done, err := RunRollback(ctx, l.x, l.w, RollbackOptions{To: l.target, By: by})
	must(t, err)
	same(t, "rolled back", l.content(), "first")
	_, err = RunRollback(ctx, l.x, l.w, RollbackOptions{To: done.Safety, By: by})
	must(t, err)
	same(t, "undone", l.content(), written)
}

// TestFinishRollbackReadsWhatItOverwrites: so is what was written while a rollback was
// not finished in the checkpoint that keeps the edits.
func TestFinishRollbackReadsWhatItOverwrites(t *testing.T) {
	t.Parallel()
	ctx, l := context.Background(), newMappedFile(t)
	plan, err := planRollback(ctx, l.x.store, l.w, l.x.State(), RollbackOptions{To: l.target})
	must(t, err)
	must(t, l.x.WithExclusiveLock(ctx, func() error { return beginRollback(ctx, l.x, l.w, plan, RollbackOptions{}) }))
	intent := *l.x.State().Rollback
	l.data[1] = 'X'
	written := l.content()
	_, err = FinishRollback(ctx, l.x, l.w)
	must(t, err)
	same(t, "rolled back", l.content(), "first")
	kept := l.x.State().KeptEdits(intent)
	if len(kept) != 1 {
		t.Fatalf("%d checkpoints keep what was edited", len(kept))
	}
	files, err := filesOf(ctx, l.x.store, l.w, "PRD-009", state.RollbackStarted{}, kept[0].ID)
	must(t, err)
	if len(files.Entries) != 1 || files.Entries[0].Digest != digestText(written) {
		t.Errorf("kept %+v, want %s", files.Entries, digestText(written))
	}
}

// TestKeepOverwrittenReadsIt: so it is where a resume overwrites files.
func TestKeepOverwrittenReadsIt(t *testing.T) {
	t.Parallel()
	l := newMappedFile(t)
	_, kept, err := l.x.KeepOverwritten(context.Background(), l.w, nil, []string{"data"})
	must(t, err)
	same(t, "kept", kept["data"], digestText(l.content()))
}

// TestFinishRollbackReadsKeptEdits: so is what was written to a file after an edit of it
// was kept, by a finish that was cut short itself.
func TestFinishRollbackReadsKeptEdits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newProject(t, store.NewMemory())
	s := p.open()
	w, x := p.workspace(s), lockPRD(t, s, "PRD-009")
	must(t, x.Start(startedOf("PRD-009", "session-1", 1)))
	p.save("data", "first")
	p.save("other", "same.")
	target := p.capture(x, w, state.TriggerStart)
	p.save("data", "second")
	p.capture(x, w, state.TriggerManual)
	plan, err := planRollback(ctx, s, w, x.State(), RollbackOptions{To: target})
	must(t, err)
	must(t, x.WithExclusiveLock(ctx, func() error { return beginRollback(ctx, x, w, plan, RollbackOptions{}) }))
	intent := *x.State().Rollback
	p.save("other", "0....")
	data := mapped(t, filepath.Join(p.dir, "other"))
	for known := ""; ; data[0] ^= 1 {
		now := digestNow(t, w, "other")
		if now == known {
			break
		}
		known = now
	}
	data[0] ^= 1 // as it is known
	must(t, x.WithExclusiveLock(ctx, func() error { return keepEdits(ctx, x, w) }))
	data[1] = 'X'
	written := string(data)
	_, err = FinishRollback(ctx, x, w)
	must(t, err)
	kept := x.State().KeptEdits(intent)
	if len(kept) != 2 {
		t.Fatalf("%d checkpoints keep what was edited", len(kept))
	}
	files, err := filesOf(ctx, s, w, "PRD-009", intent, kept[1].ID)
	must(t, err)
	for _, e := range files.Entries {
		if e.Path == "other" && e.Digest != digestText(written) {
			t.Errorf("kept %s, want %s", e.Digest, digestText(written))
		}
	}
	must(t, x.Close())
}
