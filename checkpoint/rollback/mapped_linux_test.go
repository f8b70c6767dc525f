package rollback

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// mapped maps a file into memory for reading and writing.
func mapped(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	checkpointtest.Must(t, err)
	defer func() { checkpointtest.Must(t, f.Close()) }()
	info, err := f.Stat()
	checkpointtest.Must(t, err)
	data, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	checkpointtest.Must(t, err)
	t.Cleanup(func() { checkpointtest.Must(t, unix.Munmap(data)) })
	return data
}

// digestNow returns the digest of a file as the workspace knows it, without reading the
// file if its times are unchanged.
func digestNow(t *testing.T, w *workspace.Workspace, path string) string {
	t.Helper()
	l, err := w.Now(context.Background(), []string{path})
	checkpointtest.Must(t, err)
	if len(l.Entries) != 1 {
		t.Fatalf("%s does not exist", path)
	}
	return l.Entries[0].Digest
}

// mappedFile is a session with a captured file that is mapped into memory. Writes through
// the map do not change the times of the file.
type mappedFile struct {
	*checkpointtest.Project
	w      *workspace.Workspace
	x      *checkpoint.Session
	target string // an earlier checkpoint, with other bytes in the file
	data   []byte // the mapped file, "0...." or "1....", which differs from the capture
}

func newMappedFile(t *testing.T) *mappedFile {
	t.Helper()
	p := checkpointtest.NewProject(t, store.NewMemory())
	s := p.Open()
	l := &mappedFile{Project: p, w: p.Workspace(s), x: checkpointtest.LockPRD(t, s, "PRD-009")}
	t.Cleanup(func() { checkpointtest.Must(t, l.x.Close()) })
	checkpointtest.Must(t, l.x.Start(checkpointtest.StartedOf("PRD-009", "session-1", 1)))
	p.Save("data", "first")
	l.target = p.Capture(l.x, l.w, state.TriggerStart)
	p.Save("data", "0....")
	l.data = mapped(t, filepath.Join(p.Root, "data"))
	for kept := ""; ; l.data[0] ^= 1 { // until a capture no longer reads the file
		p.Capture(l.x, l.w, state.TriggerManual)
		now := digestNow(t, l.w, "data")
		if now == kept {
			return l
		}
		kept = now
	}
}

// content returns the content of the file.
func (l *mappedFile) content() string {
	l.T.Helper()
	data, err := os.ReadFile(filepath.Join(l.Root, "data"))
	checkpointtest.Must(l.T, err)
	return string(data)
}

// TestRollbackReadsWhatItOverwrites writes to a file through a memory map and rolls back.
// The checkpoint that undoes the rollback must have what was written.
func TestRollbackReadsWhatItOverwrites(t *testing.T) {
	t.Parallel()
	ctx, l := context.Background(), newMappedFile(t)
	written := l.content()
	done, err := Run(ctx, l.x, l.w, Options{To: l.target, By: checkpointtest.By})
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "rolled back", l.content(), "first")
	_, err = Run(ctx, l.x, l.w, Options{To: done.Safety, By: checkpointtest.By})
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "undone", l.content(), written)
}

// TestFinishRollbackReadsWhatItOverwrites writes to a file through a memory map while a
// rollback is unfinished. The checkpoint that keeps the edits must have what was written.
func TestFinishRollbackReadsWhatItOverwrites(t *testing.T) {
	t.Parallel()
	ctx, l := context.Background(), newMappedFile(t)
	plan, err := planTo(ctx, l.x.Store(), l.w, l.x.State(), Options{To: l.target})
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, l.x.WithExclusiveLock(ctx, func() error { return begin(ctx, l.x, l.w, plan, Options{}) }))
	intent := *l.x.State().Rollback
	l.data[1] = 'X'
	written := l.content()
	_, err = Finish(ctx, l.x, l.w)
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "rolled back", l.content(), "first")
	kept := l.x.State().KeptEdits(intent)
	if len(kept) != 1 {
		t.Fatalf("%d checkpoints have edits", len(kept))
	}
	files, err := filesOf(ctx, l.x.Store(), l.w, "PRD-009", state.RollbackStarted{}, kept[0].ID)
	checkpointtest.Must(t, err)
	if len(files.Entries) != 1 || files.Entries[0].Digest != checkpointtest.DigestText(written) {
		t.Errorf("kept %+v, want %s", files.Entries, checkpointtest.DigestText(written))
	}
}

// TestKeepOverwrittenReadsIt writes to a file through a memory map. KeepOverwritten, with
// which a resume keeps files before it overwrites them, must store what was written.
func TestKeepOverwrittenReadsIt(t *testing.T) {
	t.Parallel()
	l := newMappedFile(t)
	_, kept, err := l.x.KeepOverwritten(context.Background(), l.w, nil, []string{"data"})
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "kept", kept["data"], checkpointtest.DigestText(l.content()))
}

// TestFinishRollbackReadsKeptEdits writes to a file through a memory map after an
// interrupted Finish has already kept an edit of it. A second checkpoint must have what
// was written.
func TestFinishRollbackReadsKeptEdits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.NewProject(t, store.NewMemory())
	s := p.Open()
	w, x := p.Workspace(s), checkpointtest.LockPRD(t, s, "PRD-009")
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "session-1", 1)))
	p.Save("data", "first")
	p.Save("other", "same.")
	target := p.Capture(x, w, state.TriggerStart)
	p.Save("data", "second")
	p.Capture(x, w, state.TriggerManual)
	plan, err := planTo(ctx, s, w, x.State(), Options{To: target})
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.WithExclusiveLock(ctx, func() error { return begin(ctx, x, w, plan, Options{}) }))
	intent := *x.State().Rollback
	p.Save("other", "0....")
	data := mapped(t, filepath.Join(p.Root, "other"))
	for known := ""; ; data[0] ^= 1 {
		now := digestNow(t, w, "other")
		if now == known {
			break
		}
		known = now
	}
	data[0] ^= 1 // as the workspace knows the file
	checkpointtest.Must(t, x.WithExclusiveLock(ctx, func() error { return keepEdits(ctx, x, w) }))
	data[1] = 'X'
	written := string(data)
	_, err = Finish(ctx, x, w)
	checkpointtest.Must(t, err)
	kept := x.State().KeptEdits(intent)
	if len(kept) != 2 {
		t.Fatalf("%d checkpoints have edits", len(kept))
	}
	files, err := filesOf(ctx, s, w, "PRD-009", intent, kept[1].ID)
	checkpointtest.Must(t, err)
	for _, e := range files.Entries {
		if e.Path == "other" && e.Digest != checkpointtest.DigestText(written) {
			t.Errorf("kept %s, want %s", e.Digest, checkpointtest.DigestText(written))
		}
	}
	checkpointtest.Must(t, x.Close())
}
