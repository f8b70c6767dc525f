package checkpoint_test

import (
	"io/fs"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/store"
)

// beforeJournal is a file system that calls act before the journal is opened for the
// first time.
type beforeJournal struct {
	store.FS
	path string
	act  func()
}

func (b *beforeJournal) OpenFile(path string, flag int, perm fs.FileMode) (store.File, error) {
	if act := b.act; act != nil && path == b.path {
		b.act = nil
		act()
	}
	return b.FS.OpenFile(path, flag, perm)
}

// TestLoadWhileAnOwnerBegins lets an owner take the lock after a reader has checked the
// lock and before the reader reads the journal. The reader must report the owner, because
// a session without an owner counts as unfinished work that no process continues.
func TestLoadWhileAnOwnerBegins(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	checkpointtest.Kill(t, f.Run())
	note := f.Open().Layout().LockPath("PRD-009")
	checkpointtest.Must(t, f.FS.Remove(note)) // the lock is free, and there is no note of an earlier owner
	var owner *checkpoint.Session
	between := &beforeJournal{FS: f.FS, path: f.Open().Layout().JournalPath("PRD-009"), act: func() { owner = f.Lock() }}
	snap, err := checkpointtest.On(t, between, f.Dir).Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	if owner == nil || snap.Owner == nil {
		t.Errorf("loaded without the owner: %+v", snap.Owner)
	}
	checkpointtest.Must(t, owner.Close())
}
