package transfer_test

import (
	"context"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/transfer"
)

// TestImportSecuresWhatItOverwrites damages the object of a captured file and imports
// over the file. The import must store the file again first, so that a rollback restores
// the file.
func TestImportSecuresWhatItOverwrites(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	s := p.Open()
	w, x := p.Workspace(s), checkpointtest.LockPRD(t, s, "PRD-009")
	checkpointtest.SaveAtRest(p, "gen/a.txt", "important")
	p.Capture(x, w, state.TriggerManual)
	path := checkpointtest.ObjectOf(p, x, w, "gen/a.txt")
	checkpointtest.Must(t, x.Close())
	checkpointtest.DamageFile(p, path, "flipped")

	x = checkpointtest.LockPRD(t, s, "PRD-009")
	state, err := s.Reader().CurrentSession("PRD-009").StateAfter(p.State().Checkpoints[1].Seq)
	checkpointtest.Must(t, err)
	done, err := transfer.RestoreState(ctx, x, w, state)
	checkpointtest.Must(t, err)
	checkpointtest.WantFile(p, "gen/a.txt", "a")
	_, err = rollback.Run(ctx, x, w, rollback.Options{To: done.Safety, By: checkpointtest.By})
	checkpointtest.Must(t, err)
	checkpointtest.WantFile(p, "gen/a.txt", "important")
	checkpointtest.Must(t, x.Close())
}

// TestImportSecuresWhatOnlyGitHolds does the same with a file whose bytes only git has.
func TestImportSecuresWhatOnlyGitHolds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.NewGitProject(t, map[string]string{"user.txt": "first"})
	p.Put(map[string]string{"user.txt": "important"})
	p.Git("add", "user.txt")
	p.Git("-c", "user.name=ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "-m", "one") // captures rely on its blob
	_, err := p.Session.Create(ctx, p.Workspace, "")
	checkpointtest.Must(t, err)
	l, err := p.Workspace.Load(ctx, p.Session.State().Capture.Listing)
	checkpointtest.Must(t, err)
	checkpointtest.DamageLoose(t, p.Root, l.Entries[0].Blob, "flipped")
	first, err := p.Open().ReadCheckpoint("PRD-009", p.Target)
	checkpointtest.Must(t, err)
	done, err := transfer.RestoreState(ctx, p.Session, p.Workspace, first.State)
	checkpointtest.Must(t, err)
	p.Holds("after the import", map[string]string{"user.txt": "first"})
	_, err = rollback.Run(ctx, p.Session, p.Workspace, rollback.Options{To: done.Safety, Scope: state.RollbackFiles, By: checkpointtest.By})
	checkpointtest.Must(t, err)
	p.Holds("after the rollback", map[string]string{"user.txt": "important"})
}
