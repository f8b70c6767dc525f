package prune_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// listing remembers which directories were listed.
type listing struct {
	store.FS
	mu     *sync.Mutex
	listed *[]string
}

// ReadDir implements store.FS.
func (l listing) ReadDir(name string) ([]fs.DirEntry, error) {
	l.mu.Lock()
	*l.listed = append(*l.listed, filepath.Clean(name))
	l.mu.Unlock()
	return l.FS.ReadDir(name)
}

// TestNoSharedDirectoryIsListed begins, continues and ends a session, and applies retention to
// it. None of that may list a directory that all PRDs share: with 10,000 sessions there, each
// listing takes longer than the work of a small session.
func TestNoSharedDirectoryIsListed(t *testing.T) {
	t.Parallel()
	var listed []string
	f := checkpointtest.On(t, listing{store.NewMemory(), &sync.Mutex{}, &listed}, "/ws/.runner")
	checkpointtest.Must(t, f.Run().Close()) // of another PRD, which makes the state directory
	listed = nil
	x := checkpointtest.LockPRD(t, f.Open(), "PRD-010")
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-010", "s", 1)))
	checkpointtest.Commit(t, x, state.SessionPaused{Reason: state.PauseRequested})
	checkpointtest.Must(t, x.Close())
	x = checkpointtest.LockPRD(t, f.Open(), "PRD-010")
	_, err := prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	for _, shared := range []string{f.Dir, filepath.Join(f.Dir, "locks")} {
		if slices.Contains(listed, filepath.Clean(shared)) {
			t.Errorf("%s was listed; all: %q", shared, listed)
		}
	}
	if len(listed) == 0 {
		t.Error("nothing is seen of what is listed")
	}
}
