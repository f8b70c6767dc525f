package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/validate"
)

// boundaries maps SeqOf to the state after that commit, for the commits of all sessions
// of a PRD.
type boundaries map[string]*state.State

// add adds the states after each commit of the stored sessions.
func (b boundaries) add(t testing.TB, s *checkpoint.Store, prd string) {
	t.Helper()
	sessions, err := s.Reader().Sessions(prd)
	checkpointtest.Must(t, err)
	for _, at := range sessions {
		checkpointtest.Must(t, at.Err)
		path := filepath.Join(at.Dir, disk.JournalName)
		f := journal.NewFold()
		_, err := journal.Replay(prd, path, store.OpenLog(s.FS(), path), func(c state.Commit) error {
			if err := f.Apply(c); err != nil {
				return err
			}
			b[checkpointtest.SeqOf(f.State)] = f.State.Clone()
			return nil
		})
		checkpointtest.Must(t, err)
	}
}

// recovered lets three owners recover what a power cut left; the first is killed. All
// must find the same state, and it must be one of b, or nil without a session. recovered
// returns that state.
func (b boundaries) recovered(t testing.TB, when string, f *checkpointtest.Fixture) *state.State {
	t.Helper()
	s := f.Open()
	if _, err := s.Load("PRD-009"); err != nil && !errors.Is(err, checkpoint.ErrNoSession) {
		t.Fatalf("%s: read: %v", when, err)
	}
	var first *state.State
	for turn, end := range []func(*checkpoint.Session){func(x *checkpoint.Session) { checkpointtest.Kill(t, x) }, func(x *checkpoint.Session) { checkpointtest.Must(t, x.Close()) }, func(x *checkpoint.Session) { checkpointtest.Must(t, x.Close()) }} {
		x, err := s.Lock(context.Background(), "PRD-009", checkpointtest.By)
		if err != nil {
			t.Fatalf("%s: owner %d: %v", when, turn+1, err)
		}
		if turn == 0 {
			first = x.State()
		}
		checkpointtest.Same(t, fmt.Sprintf("%s, owner %d", when, turn+1), x.State(), first)
		end(x)
	}
	if first != nil {
		want := b[checkpointtest.SeqOf(first)]
		if want == nil {
			t.Fatalf("%s: the state is %s, which is not the state after a commit", when, checkpointtest.SeqOf(first))
		}
		checkpointtest.Same(t, when, first, want)
	}
	return first
}

// sound fails the test unless everything that the states name exists and verifies. No
// temporary file and no unfinished move, deletion or import may remain.
func sound(f *checkpointtest.Fixture, when string) {
	t := f.T
	t.Helper()
	s := f.Open()
	sessions, err := s.Reader().Sessions("PRD-009")
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if len(sessions) > 0 {
		v, err := validate.Run(context.Background(), s, nil, validate.Options{PRD: "PRD-009", Deep: true})
		if err != nil {
			t.Fatalf("%s: validate: %v", when, err)
		}
		for _, at := range v.Sessions {
			if at.Journal != nil || len(at.Derived) > 0 {
				t.Fatalf("%s: in %s: %v, %v", when, at.Dir, at.Journal, at.Derived)
			}
			for _, c := range at.Checkpoints {
				if !c.Whole() {
					t.Fatalf("%s: checkpoint %s (%s): %s", when, c.Ref.ID, c.Ref.Trigger, c.Reason())
				}
			}
		}
	}
	if lacking := checkpointtest.LackingIn(t, s, "PRD-009"); lacking != "" {
		t.Fatalf("%s: %s", when, lacking)
	}
	verified(f, when)
	for _, dir := range []string{s.Layout().PRDDir("PRD-009"), filepath.Join(s.Layout().PRDDir("PRD-009"), disk.CheckpointsDir)} {
		if !checkpointtest.IsThere(t, s, dir) {
			continue
		}
		entries, err := f.FS.ReadDir(dir)
		checkpointtest.Must(t, err)
		for _, e := range entries {
			if store.IsTemp(e.Name()) {
				t.Fatalf("%s: temporary file %s remains", when, filepath.Join(dir, e.Name()))
			}
		}
	}
	for _, path := range []string{s.Layout().ArchivingPath("PRD-009"), s.Layout().DeletingPath("PRD-009"), s.Layout().ImportingPath("PRD-009")} {
		if checkpointtest.IsThere(t, s, path) {
			t.Fatalf("%s: %s remains", when, path)
		}
	}
}

// verified reads every stored object to its end, and fails the test if one does not
// verify.
func verified(f *checkpointtest.Fixture, when string) {
	f.T.Helper()
	objects := f.Open().Objects()
	for o, err := range objects.All(context.Background()) {
		checkpointtest.Must(f.T, err)
		if err := objects.Verify(context.Background(), o.Digest); err != nil {
			f.T.Fatalf("%s: %v", when, err)
		}
	}
}
