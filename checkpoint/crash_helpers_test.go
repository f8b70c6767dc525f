package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// boundaries are the states that the journals of all sessions of a PRD led
// through, by seqOf.
type boundaries map[string]*state.State

// add adds the states of what is stored now.
func (b boundaries) add(t testing.TB, s *Store, prd string) {
	t.Helper()
	sessions, err := s.Sessions(prd)
	must(t, err)
	for _, at := range sessions {
		must(t, at.Err)
		path := filepath.Join(at.Dir, disk.JournalName)
		f := journal.NewFold()
		_, err := journal.Replay(prd, path, store.OpenLog(s.fs, path), func(c state.Commit) error {
			if err := f.Apply(c); err != nil {
				return err
			}
			b[seqOf(f.State)] = f.State.Clone()
			return nil
		})
		must(t, err)
	}
}

// recovered makes sure that what a power cut left is put in order by the next
// owner, twice with the same result, at one of the boundaries. It returns where.
func (b boundaries) recovered(t testing.TB, when string, f *fixture) *state.State {
	t.Helper()
	s := f.open()
	if _, err := s.Load("PRD-009"); err != nil && !errors.Is(err, ErrNoSession) {
		t.Fatalf("%s: read: %v", when, err)
	}
	var first *state.State
	for turn, end := range []func(*Session){func(x *Session) { kill(t, x) }, func(x *Session) { must(t, x.Close()) }, func(x *Session) { must(t, x.Close()) }} {
		x, err := s.Lock(context.Background(), "PRD-009", by)
		if err != nil {
			t.Fatalf("%s: owner %d: %v", when, turn+1, err)
		}
		if turn == 0 {
			first = x.State()
		}
		same(t, fmt.Sprintf("%s, owner %d", when, turn+1), x.State(), first)
		end(x)
	}
	if first != nil {
		want := b[seqOf(first)]
		if want == nil {
			t.Fatalf("%s: it stands at %s, which is no boundary", when, seqOf(first))
		}
		same(t, when, first, want)
	}
	return first
}

// sound makes sure that everything that a state names is there and verifies, and
// that nothing is left of what was cut short.
func (f *fixture) sound(when string) {
	t := f.t
	t.Helper()
	s := f.open()
	sessions, err := s.Sessions("PRD-009")
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if len(sessions) > 0 {
		v, err := Validate(context.Background(), s, nil, ValidateOptions{PRD: "PRD-009", Deep: true})
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
	if lacking := lackingIn(t, s, "PRD-009"); lacking != "" {
		t.Fatalf("%s: %s", when, lacking)
	}
	f.verified(when)
	for _, dir := range []string{s.layout.PRDDir("PRD-009"), filepath.Join(s.layout.PRDDir("PRD-009"), disk.CheckpointsDir)} {
		if !isThere(t, s, dir) {
			continue
		}
		entries, err := f.fs.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			if store.IsTemp(e.Name()) {
				t.Fatalf("%s: %s is left", when, filepath.Join(dir, e.Name()))
			}
		}
	}
	for _, path := range []string{s.layout.ArchivingPath("PRD-009"), s.layout.DeletingPath("PRD-009"), s.layout.ImportingPath("PRD-009")} {
		if isThere(t, s, path) {
			t.Fatalf("%s: %s is left", when, path)
		}
	}
}

// verified reads all objects that there are to their end.
func (f *fixture) verified(when string) {
	f.t.Helper()
	objects := f.open().Objects()
	for o, err := range objects.All(context.Background()) {
		must(f.t, err)
		if err := objects.Verify(context.Background(), o.Digest); err != nil {
			f.t.Fatalf("%s: %v", when, err)
		}
	}
}
