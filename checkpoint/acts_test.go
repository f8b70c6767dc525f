package checkpoint

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// payment is a pipeline with one workstream that must happen only once.
func payment() state.Shape {
	return state.Shape{Phases: []state.PhaseShape{{Name: "one", Workstreams: []state.WorkstreamShape{{Name: "pay", Batch: 1, Once: true}}}}}
}

// pay are the events of a payment from a definition.
func pay(definition string) []state.Event {
	d := state.Digest{Definition: definition, Files: []state.FileRef{{Path: "f", Digest: "sha256:f"}}}
	return []state.Event{
		state.WorkstreamStarted{Workstream: "pay", Attempt: 1, Digest: d},
		state.WorkstreamCompleted{Workstream: "pay", Work: &state.Work{Attempt: 1, Digest: d}},
	}
}

func actsOf(t *testing.T, s *Store, st *state.State) (sessions []string) {
	t.Helper()
	acts, unread, err := s.Acts("PRD-009", st)
	must(t, err)
	if len(unread) > 0 {
		t.Errorf("unread: %v", unread)
	}
	for _, a := range acts {
		if a.Workstream != "pay" || a.At.IsZero() || a.Host != by.Host || len(a.Digest.Files) > 0 {
			t.Errorf("%+v", a)
		}
		sessions = append(sessions, a.Session)
	}
	return sessions
}

// TestANewSessionKnowsWhatHappenedOnce: whatever becomes of the session in which it happened.
func TestANewSessionKnowsWhatHappenedOnce(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(t *testing.T, x *Session){
		"replaced":  func(*testing.T, *Session) {},
		"abandoned": func(t *testing.T, x *Session) { _, err := x.Abandon(state.SessionAbandoned{By: by}); must(t, err) },
		"complete": func(t *testing.T, x *Session) {
			x.Add(state.SessionCompleted{})
			_, err := x.Archive(t.Context(), by, "")
			must(t, err)
		},
		"deleted": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			s := f.open()
			x := lockPRD(t, s, "PRD-009")
			must(t, x.Start(started("A", payment())))
			x.Add(pay("sha256:1")...)
			if leave == nil {
				must(t, x.Close())
				must(t, s.DeleteSession(t.Context(), "PRD-009", by))
				x = lockPRD(t, s, "PRD-009")
			} else {
				leave(t, x)
			}
			acts, _, err := s.Acts("PRD-009", x.State())
			must(t, err)
			next := started("B", payment())
			next.Acts = acts
			must(t, x.Start(next))
			if got := actsOf(t, s, x.State()); !slices.Equal(got, []string{"A"}) {
				t.Errorf("acts of sessions %v", got)
			}
			x.Add(pay("sha256:1")...)
			if got := actsOf(t, s, x.State()); !slices.Equal(got, []string{"B"}) {
				t.Errorf("after another payment: acts of sessions %v", got)
			}
			must(t, x.Close())
			snap, err := s.Load("PRD-009")
			must(t, err)
			if got := actsOf(t, s, snap.State); !slices.Equal(got, []string{"B"}) {
				t.Errorf("read from the journal: acts of sessions %v", got)
			}
		})
	}
}

// TestRetentionForgetsNothingThatHappenedOnce: the last session that knows of it stays, others go.
func TestRetentionForgetsNothingThatHappenedOnce(t *testing.T) {
	t.Parallel()
	f := on(t, store.NewMemory(), "/ws/.runner")
	at := time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)
	f.o.Now = func() time.Time { at = at.Add(time.Millisecond); return at }
	f.o.Policy = DefaultPolicy()
	f.o.Policy.Retention.FailedMaxAge = time.Hour
	s := f.open()
	for _, session := range []string{"A", "B"} {
		x := lockPRD(t, s, "PRD-009")
		acts, _, err := s.Acts("PRD-009", nil)
		must(t, err)
		e := started(session, payment())
		e.Acts = acts
		must(t, x.Start(e))
		x.Add(pay("sha256:" + session)...)
		_, err = x.Abandon(state.SessionAbandoned{By: by})
		must(t, err)
		must(t, x.Close())
		at = at.Add(time.Minute)
	}
	for range 12 { // of a clock that is believed
		at = at.Add(time.Hour)
		x := lockPRD(t, s, "PRD-010")
		e := started("C", payment())
		e.PRD = "PRD-010"
		must(t, x.Start(e))
		must(t, x.Close())
	}
	x := lockPRD(t, s, "PRD-009")
	p, err := x.Prune(t.Context(), PruneOptions{OlderThan: time.Minute})
	must(t, err)
	must(t, x.Close())
	if len(p.Sessions) != 1 {
		t.Errorf("removed %+v", p.Sessions)
	}
	if got := actsOf(t, s, nil); len(got) != 2 {
		t.Errorf("acts of sessions %v", got)
	}
}

// TestWhatCouldNotBeReadIsRemembered: a session that can't be read may have done what must happen only
// once. Whether retention removes it or a person does, what its journal tells is kept, and that it may
// have done more.
func TestWhatCouldNotBeReadIsRemembered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keep int // lines of the journal before the damage
		want []string
	}{"told before the damage": {keep: 2, want: []string{"A"}}, "not told": {keep: 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, aside := range []bool{true, false} {
				f := on(t, store.NewMemory(), "/ws/.runner")
				s := f.open()
				x := lockPRD(t, s, "PRD-009")
				must(t, x.Start(started("A", payment())))
				commit(t, x, pay("sha256:1")...)
				where := "PRD-009"
				if aside {
					dir, err := x.Abandon(state.SessionAbandoned{By: by})
					must(t, err)
					where = s.layout.Within(dir)
				}
				must(t, x.Close())
				lines := bytes.SplitAfter(f.read(where+"/journal.jsonl"), []byte("\n"))
				damaged := append(slices.Clone(lines[:c.keep]), []byte("no\n"), []byte("no\n"))
				f.write(where+"/journal.jsonl", bytes.Join(damaged, nil))
				if aside {
					x = lockPRD(t, s, "PRD-009")
					must(t, x.Start(started("B", state.Shape{})))
					p, err := x.Prune(t.Context(), PruneOptions{OlderThan: time.Nanosecond})
					must(t, err)
					if len(p.Sessions) != 1 {
						t.Fatalf("removed %+v", p.Sessions)
					}
					must(t, x.Close())
				} else {
					must(t, s.DeleteSession(t.Context(), "PRD-009", by))
				}
				acts, unread, err := s.Acts("PRD-009", nil)
				must(t, err)
				var sessions []string
				for _, a := range acts {
					sessions = append(sessions, a.Session)
				}
				if !slices.Equal(sessions, c.want) || !slices.Equal(unread, []string{where + ", since removed"}) {
					t.Errorf("%s: acts of sessions %v, unread %v", where, sessions, unread)
				}
			}
		})
	}
}
