package checkpoint_test

import (
	"io/fs"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/store"
)

// beforeJournal is an FS that calls act before a journal is opened for the first time.
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

// TestLoadWhileAnOwnerBegins lets a runner take the lock and begin a session after a reader
// has looked at the lock and before it reads the journal. The reader sees the session with
// its owner: a session without one counts as unfinished work that nobody does.
func TestLoadWhileAnOwnerBegins(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	checkpointtest.Kill(t, f.Run())
	note := f.Open().Layout().LockPath("PRD-009")
	checkpointtest.Must(t, f.FS.Remove(note)) // the lock is free, and nothing is known of an earlier owner
	var owner *checkpoint.Session
	between := &beforeJournal{FS: f.FS, path: f.Open().Layout().JournalPath("PRD-009"), act: func() { owner = f.Lock() }}
	snap, err := checkpointtest.On(t, between, f.Dir).Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	if owner == nil || snap.Owner == nil {
		t.Errorf("loaded without its owner: %+v", snap.Owner)
	}
	checkpointtest.Must(t, owner.Close())
}
