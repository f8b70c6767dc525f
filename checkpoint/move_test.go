package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// layered is a file system that renames no directory but a copy, as overlayfs does with
// those that are of a lower layer.
type layered struct{ store.FS }

func (l layered) Rename(from, to string) error {
	if info, err := l.Lstat(from); err == nil && info.IsDir() && filepath.Base(from) != "copy" {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EXDEV}
	}
	return l.FS.Rename(from, to)
}

// TestMoveByCopyCutShort cuts the moves of a session at each change of the disk, by a
// fault that stays and by a power cut: it is current or set aside, whole, and never both.
func TestMoveByCopyCutShort(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before func(t *testing.T, x *Session)
		do     func(x *Session) error
		next   string // the session that follows
	}{
		"abandon": {
			func(*testing.T, *Session) {},
			func(x *Session) error { _, err := x.Abandon(state.SessionAbandoned{By: by}); return err }, "",
		},
		"start": {finish, func(x *Session) error { return x.Start(started("S2", cashier())) }, "S2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := int64(1); ; n++ {
				m := store.NewMemory()
				f := on(t, layered{m}, "/ws/.runner")
				x := f.run()
				test.before(t, x)
				f.write("PRD-009/logs/WS1.1.log", []byte("done"))
				must(t, x.Close())
				var cut *store.Memory
				d := &faults.Killed{FS: layered{m}, At: n, Before: func() { cut = m.Crash() }}
				err := moveOn(on(t, d, f.dir), test.do)
				if d.Count.Load() < n {
					must(t, err)
					break
				}
				for plane, fsys := range map[string]store.FS{"fault": m, "power cut": cut} {
					movedOnce(t, fmt.Sprintf("change %d, %s", n, plane), on(t, unlocked{layered{fsys}}, f.dir), test.next)
				}
			}
		})
	}
}

func moveOn(f *fixture, do func(x *Session) error) error {
	x, err := f.open().Lock(context.Background(), "PRD-009", by)
	if err != nil {
		return err
	}
	return errors.Join(do(x), x.Close())
}

// movedOnce holds a state directory to having the session S1 once: as the current one,
// or set aside, with next, if there is one, as current.
func movedOnce(t *testing.T, when string, f *fixture, next string) {
	t.Helper()
	s := f.open()
	seen, err := s.Load("PRD-009")
	if err != nil && !errors.Is(err, ErrNoSession) {
		t.Fatalf("%s: load: %v", when, err)
	}
	if err == nil && seen.State.Session != "S1" && seen.State.Session != next {
		t.Fatalf("%s: a reader sees %s", when, seen.State.Session)
	}
	x, err := s.Lock(context.Background(), "PRD-009", by)
	if err != nil {
		t.Fatalf("%s: lock: %v", when, err)
	}
	defer func() { must(t, x.Close()) }()
	if isThere(t, s, s.layout.MovingPath("PRD-009")) || isThere(t, s, s.layout.ArchivingPath("PRD-009")) {
		t.Fatalf("%s: something is left of the move", when)
	}
	sessions, err := s.Sessions("PRD-009")
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
			if data, err := store.ReadFile(f.fs, filepath.Join(at.Dir, "logs", "WS1.1.log")); err != nil || string(data) != "done" {
				t.Fatalf("%s: its log is %q: %v", when, data, err)
			}
		}
	}
	if had != 1 || current != "S1" && current != next {
		t.Fatalf("%s: S1 is there %d times, and the current session is %q", when, had, current)
	}
	if err == nil && seen != nil && seen.State != nil && seen.State.Session != "S1" && current == "S1" {
		t.Fatalf("%s: a reader saw %s, and S1 came back", when, seen.State.Session)
	}
}

// TestANoteOfAMoveNamesNothingElse: a note that came with a clone removes nothing that
// is not of the PRD.
func TestANoteOfAMoveNamesNothingElse(t *testing.T) {
	t.Parallel()
	for _, note := range []string{
		`{"format_version":"1.2","from":"../..","to":"PRD-009.archiving"}`, `{"format_version":"1.2","from":"objects","to":"PRD-009.archiving"}`,
		`{"format_version":"1.2","from":"PRD-009","to":"../elsewhere"}`, `{"format_version":"1.2","from":"PRD-009/../PRD-010","to":"trash/x"}`,
		`{"format_version":"1.2","from":"","to":""}`, `{"format_version":"9.0","from":"PRD-009","to":"trash/x"}`, `no note`,
	} {
		f := inMemory(t)
		must(t, f.run().Close())
		must(t, store.MkdirAll(f.fs, filepath.Join(f.dir, "PRD-009.moving"), filepath.Join(f.dir, "objects")))
		f.write("PRD-009.moving/move.json", []byte(note))
		if _, err := f.open().Lock(context.Background(), "PRD-009", by); err == nil {
			t.Errorf("%s was carried out", note)
		}
		f.read("PRD-009/journal.jsonl")
	}
}
