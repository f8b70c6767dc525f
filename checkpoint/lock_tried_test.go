package checkpoint_test

import (
	"errors"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// lookedAt is a file system on which the exclusive lock of PRD-009 is held by another
// process for the first tries attempts.
type lookedAt struct {
	store.FS
	tries int
}

func (l *lookedAt) TryLock(name string, shared bool) (store.Lock, error) {
	if !shared && filepath.Base(name) == "PRD-009.lock" && l.tries > 0 {
		l.tries--
		return nil, store.ErrLocked
	}
	return l.FS.TryLock(name, shared)
}

// TestWhoStartsWaitsForWhoLooks: Lock must try again while the lock is held for a moment,
// unless the note names a living process of this machine. A reader may hold the lock to
// find out whether a runner on another machine has ended; a child process may have
// inherited the lock of a killed runner.
func TestWhoStartsWaitsForWhoLooks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		host  string
		pid   int // 0: the PID of the test
		tries int
		taken bool
	}{
		"of another machine":              {"elsewhere", 0, 2, true},
		"of another machine, and lives":   {"elsewhere", 0, 1000, false},
		"of this machine, and lives":      {"", 0, 1, false},
		"of this machine, and killed":     {"", 1 << 30, 2, true},
		"of this machine, nobody looking": {"", 0, 0, true},
	} {
		memory := store.NewMemory()
		f := checkpointtest.On(t, memory, "/ws/.runner")
		checkpointtest.Must(t, f.Run().Close())
		h := disk.NewHolder(state.Actor{Host: tt.host, PID: tt.pid}, checkpointtest.Clock()())
		checkpointtest.Must(t, disk.WriteNote(memory, f.Open().Layout().LockPath("PRD-009"), &h))
		x, err := checkpointtest.On(t, &lookedAt{FS: memory, tries: tt.tries}, "/ws/.runner").Open().Lock(t.Context(), "PRD-009", checkpointtest.By)
		var locked *checkpoint.LockedError
		switch {
		case tt.taken && err != nil, !tt.taken && !errors.As(err, &locked):
			t.Errorf("%s: %v", name, err)
		case err == nil:
			checkpointtest.Must(t, x.Close())
		}
	}
}
