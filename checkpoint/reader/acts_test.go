package reader_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
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

func actsOf(t *testing.T, s *checkpoint.Store, st *state.State) (sessions []string) {
	t.Helper()
	acts, unread, err := s.Reader().Acts("PRD-009", st)
	checkpointtest.Must(t, err)
	if len(unread) > 0 {
		t.Errorf("unread: %v", unread)
	}
	for _, a := range acts {
		if a.Workstream != "pay" || a.At.IsZero() || a.Host != checkpointtest.By.Host || len(a.Digest.Files) > 0 {
			t.Errorf("%+v", a)
		}
		sessions = append(sessions, a.Session)
	}
	return sessions
}

// TestANewSessionKnowsWhatHappenedOnce: whatever becomes of the session in which it
// happened.
func TestANewSessionKnowsWhatHappenedOnce(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(t *testing.T, x *checkpoint.Session){
		"replaced": func(*testing.T, *checkpoint.Session) {},
		"abandoned": func(t *testing.T, x *checkpoint.Session) {
			_, err := x.Abandon(state.SessionAbandoned{By: checkpointtest.By})
			checkpointtest.Must(t, err)
		},
		"complete": func(t *testing.T, x *checkpoint.Session) {
			x.Add(state.SessionCompleted{})
			_, err := x.Archive(t.Context(), checkpointtest.By, "")
			checkpointtest.Must(t, err)
		},
		"deleted": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.InMemory(t)
			s := f.Open()
			x := checkpointtest.LockPRD(t, s, "PRD-009")
			checkpointtest.Must(t, x.Start(checkpointtest.Started("A", payment())))
			x.Add(pay("sha256:1")...)
			if leave == nil {
				checkpointtest.Must(t, x.Close())
				checkpointtest.Must(t, s.DeleteSession(t.Context(), "PRD-009", checkpointtest.By))
				x = checkpointtest.LockPRD(t, s, "PRD-009")
			} else {
				leave(t, x)
			}
			acts, _, err := s.Reader().Acts("PRD-009", x.State())
			checkpointtest.Must(t, err)
			next := checkpointtest.Started("B", payment())
			next.Acts = acts
			checkpointtest.Must(t, x.Start(next))
			if got := actsOf(t, s, x.State()); !slices.Equal(got, []string{"A"}) {
				t.Errorf("acts of sessions %v", got)
			}
			x.Add(pay("sha256:1")...)
			if got := actsOf(t, s, x.State()); !slices.Equal(got, []string{"B"}) {
				t.Errorf("after another payment: acts of sessions %v", got)
			}
			checkpointtest.Must(t, x.Close())
			snap, err := s.Load("PRD-009")
			checkpointtest.Must(t, err)
			if got := actsOf(t, s, snap.State); !slices.Equal(got, []string{"B"}) {
				t.Errorf("read from the journal: acts of sessions %v", got)
			}
		})
	}
}

// TestRetentionForgetsNothingThatHappenedOnce: the last session that knows of it stays,
// others go.
func TestRetentionForgetsNothingThatHappenedOnce(t *testing.T) {
	t.Parallel()
	f := checkpointtest.On(t, store.NewMemory(), "/ws/.runner")
	at := time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)
	f.Options.Now = func() time.Time { at = at.Add(time.Millisecond); return at }
	f.Options.Policy = checkpoint.DefaultPolicy()
	f.Options.Policy.Retention.FailedMaxAge = time.Hour
	s := f.Open()
	for _, session := range []string{"A", "B"} {
		x := checkpointtest.LockPRD(t, s, "PRD-009")
		acts, _, err := s.Reader().Acts("PRD-009", nil)
		checkpointtest.Must(t, err)
		e := checkpointtest.Started(session, payment())
		e.Acts = acts
		checkpointtest.Must(t, x.Start(e))
		x.Add(pay("sha256:" + session)...)
		_, err = x.Abandon(state.SessionAbandoned{By: checkpointtest.By})
		checkpointtest.Must(t, err)
		checkpointtest.Must(t, x.Close())
		at = at.Add(time.Minute)
	}
	for range 12 { // of a clock that is believed
		at = at.Add(time.Hour)
		x := checkpointtest.LockPRD(t, s, "PRD-010")
		e := checkpointtest.Started("C", payment())
		e.PRD = "PRD-010"
		checkpointtest.Must(t, x.Start(e))
		checkpointtest.Must(t, x.Close())
	}
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	p, err := prune.Run(t.Context(), x, prune.Options{OlderThan: time.Minute})
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	if len(p.Sessions) != 1 {
		t.Errorf("removed %+v", p.Sessions)
	}
	if got := actsOf(t, s, nil); len(got) != 2 {
		t.Errorf("acts of sessions %v", got)
	}
}

// TestWhatCouldNotBeReadIsRemembered: a session that can't be read may have done what
// must happen only once. Whether retention removes it or a person does, what its journal
// tells is kept, and that it may have done more.
func TestWhatCouldNotBeReadIsRemembered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keep int // lines of the journal before the damage
		want []string
	}{"told before the damage": {keep: 2, want: []string{"A"}}, "not told": {keep: 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, aside := range []bool{true, false} {
				f := checkpointtest.On(t, store.NewMemory(), "/ws/.runner")
				s := f.Open()
				x := checkpointtest.LockPRD(t, s, "PRD-009")
				checkpointtest.Must(t, x.Start(checkpointtest.Started("A", payment())))
				checkpointtest.Commit(t, x, pay("sha256:1")...)
				where := "PRD-009"
				if aside {
					dir, err := x.Abandon(state.SessionAbandoned{By: checkpointtest.By})
					checkpointtest.Must(t, err)
					where = s.Layout().Within(dir)
				}
				checkpointtest.Must(t, x.Close())
				lines := bytes.SplitAfter(f.Read(where+"/journal.jsonl"), []byte("\n"))
				damaged := append(slices.Clone(lines[:c.keep]), []byte("no\n"), []byte("no\n"))
				f.Write(where+"/journal.jsonl", bytes.Join(damaged, nil))
				if aside {
					x = checkpointtest.LockPRD(t, s, "PRD-009")
					checkpointtest.Must(t, x.Start(checkpointtest.Started("B", state.Shape{})))
					p, err := prune.Run(t.Context(), x, prune.Options{OlderThan: time.Nanosecond})
					checkpointtest.Must(t, err)
					if len(p.Sessions) != 1 {
						t.Fatalf("removed %+v", p.Sessions)
					}
					checkpointtest.Must(t, x.Close())
				} else {
					checkpointtest.Must(t, s.DeleteSession(t.Context(), "PRD-009", checkpointtest.By))
				}
				acts, unread, err := s.Reader().Acts("PRD-009", nil)
				checkpointtest.Must(t, err)
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
