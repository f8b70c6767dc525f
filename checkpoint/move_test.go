package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// layered is a file system that refuses to rename a directory unless the directory is
// named "copy", as overlayfs refuses for directories of a lower layer.
type layered struct{ store.FS }

func (l layered) Rename(from, to string) error {
	if info, err := l.Lstat(from); err == nil && info.IsDir() && filepath.Base(from) != "copy" {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EXDEV}
	}
	return l.FS.Rename(from, to)
}

// TestMoveByCopyCutShort ends the move of a session, which must be done by copying, at
// each change of the disk, by a fault and by a power cut. Session S1 must be whole and in
// exactly one place: current or archived.
func TestMoveByCopyCutShort(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before func(t *testing.T, x *checkpoint.Session)
		do     func(x *checkpoint.Session) error
		next   string // the session that follows
	}{
		"abandon": {
			func(*testing.T, *checkpoint.Session) {},
			func(x *checkpoint.Session) error {
				_, err := x.Abandon(state.SessionAbandoned{By: checkpointtest.By})
				return err
			}, "",
		},
		"start": {finish, func(x *checkpoint.Session) error {
			return x.Start(checkpointtest.Started("S2", checkpointtest.Cashier()))
		}, "S2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := int64(1); ; n++ {
				m := store.NewMemory()
				f := checkpointtest.On(t, layered{m}, "/ws/.runner")
				x := f.Run()
				test.before(t, x)
				f.Write("PRD-009/logs/WS1.1.log", []byte("done"))
				checkpointtest.Must(t, x.Close())
				var cut *store.Memory
				d := &faults.Killed{FS: layered{m}, At: n, Before: func() { cut = m.Crash() }}
				err := moveOn(checkpointtest.On(t, d, f.Dir), test.do)
				if d.Count.Load() < n {
					checkpointtest.Must(t, err)
					break
				}
				for plane, fsys := range map[string]store.FS{"fault": m, "power cut": cut} {
					movedOnce(t, fmt.Sprintf("change %d, %s", n, plane), checkpointtest.On(t, faults.Unlocked{FS: layered{fsys}}, f.Dir), test.next)
				}
			}
		})
	}
}

// moveOn calls do with the locked session, and closes the session.
func moveOn(f *checkpointtest.Fixture, do func(x *checkpoint.Session) error) error {
	x, err := f.Open().Lock(context.Background(), "PRD-009", checkpointtest.By)
	if err != nil {
		return err
	}
	return errors.Join(do(x), x.Close())
}

// movedOnce fails the test unless the session S1 is stored once: as the current session,
// or archived with next, if not "", as the current session.
func movedOnce(t *testing.T, when string, f *checkpointtest.Fixture, next string) {
	t.Helper()
	s := f.Open()
	seen, err := s.Load("PRD-009")
	if err != nil && !errors.Is(err, checkpoint.ErrNoSession) {
		t.Fatalf("%s: load: %v", when, err)
	}
	if err == nil && seen.State.Session != "S1" && seen.State.Session != next {
		t.Fatalf("%s: a reader sees %s", when, seen.State.Session)
	}
	x, err := s.Lock(context.Background(), "PRD-009", checkpointtest.By)
	if err != nil {
		t.Fatalf("%s: lock: %v", when, err)
	}
	defer func() { checkpointtest.Must(t, x.Close()) }()
	if checkpointtest.IsThere(t, s, s.Layout().MovingPath("PRD-009")) || checkpointtest.IsThere(t, s, s.Layout().ArchivingPath("PRD-009")) {
		t.Fatalf("%s: the unfinished move remains", when)
	}
	sessions, err := s.Reader().Sessions("PRD-009")
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	current, had := "", 0
	for _, at := range sessions {
		switch {
		case at.State == nil:
			t.Fatalf("%s: the session in %s can't be read: %v", when, at.Dir, at.Err)
		case at.Place == disk.PlaceCurrent:
			current = at.State.Session
		}
		if at.State.Session == "S1" {
			had++
			if data, err := store.ReadFile(f.FS, filepath.Join(at.Dir, "logs", "WS1.1.log")); err != nil || string(data) != "done" {
				t.Fatalf("%s: the log of S1 is %q: %v", when, data, err)
			}
		}
	}
	if had != 1 || current != "S1" && current != next {
		t.Fatalf("%s: S1 is stored %d times, and the current session is %q", when, had, current)
	}
	if err == nil && seen != nil && seen.State != nil && seen.State.Session != "S1" && current == "S1" {
		t.Fatalf("%s: a reader saw %s, but then S1 was current again", when, seen.State.Session)
	}
}

// TestANoteOfAMoveNamesNothingElse: the note of an unfinished move may come from a cloned
// repository. A note that names paths outside the PRD, or has an unknown version, must be
// refused.
func TestANoteOfAMoveNamesNothingElse(t *testing.T) {
	t.Parallel()
	for _, note := range []string{
		`{"format_version":"1.5","from":"../..","to":"PRD-009.archiving"}`, `{"format_version":"1.5","from":"objects","to":"PRD-009.archiving"}`,
		`{"format_version":"1.5","from":"PRD-009","to":"../elsewhere"}`, `{"format_version":"1.5","from":"PRD-009/../PRD-010","to":"trash/x"}`,
		`{"format_version":"1.5","from":"","to":""}`, `{"format_version":"9.0","from":"PRD-009","to":"trash/x"}`, `no note`,
	} {
		f := checkpointtest.InMemory(t)
		checkpointtest.Must(t, f.Run().Close())
		checkpointtest.Must(t, store.MkdirAll(f.FS, filepath.Join(f.Dir, "PRD-009.moving"), filepath.Join(f.Dir, "objects")))
		f.Write("PRD-009.moving/move.json", []byte(note))
		if _, err := f.Open().Lock(context.Background(), "PRD-009", checkpointtest.By); err == nil {
			t.Errorf("%s was carried out", note)
		}
		f.Read("PRD-009/journal.jsonl")
	}
}
