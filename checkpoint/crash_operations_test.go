package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// operation is something that is done to a session, as its command does it.
type operation struct {
	before func(p *project)       // brings about what it is done to
	do     func(p *project) error // through the project's own file system
	// gone are sessions that it deletes; all others must stay.
	gone []string
	// damaged says that something is damaged until it has been done.
	damaged bool
	// done checks what must be true when it has been done.
	done func(p *project) bool
}

// owned does something as the owner of the session.
func (p *project) owned(do func(x *Session) error) error {
	x, err := p.open().Lock(context.Background(), "PRD-009", by)
	if err != nil {
		return err
	}
	return errors.Join(do(x), x.Close())
}

// current is the state of the session, nil if there is none.
func (p *project) current() *state.State {
	p.t.Helper()
	snap, err := p.open().Load("PRD-009")
	if errors.Is(err, ErrNoSession) {
		return nil
	}
	must(p.t, err)
	return snap.State
}

// stored are the ids of all sessions, sorted.
func (p *project) stored() []string {
	p.t.Helper()
	sessions, err := p.open().Sessions("PRD-009")
	must(p.t, err)
	ids := []string{}
	for _, at := range sessions {
		if must(p.t, at.Err); at.State != nil {
			ids = append(ids, at.State.Session)
		}
	}
	slices.Sort(ids)
	return ids
}

// operations are what changes state, but the run itself and what restores files.
func operations(t *testing.T) map[string]operation {
	ctx := context.Background()
	begun := func(p *project) { p.begin("S1") }
	ended := func(p *project) { p.begin("S1"); endComplete(t, p) }
	none := func(p *project) bool { return p.current() == nil }
	archive := func(p *project) error {
		return p.owned(func(x *Session) error {
			if x.State() == nil {
				return nil
			}
			_, err := x.Archive(ctx, by, "enough")
			return err
		})
	}
	return map[string]operation{
		"recovery": {
			before: func(p *project) {
				begun(p)
				x := p.lock()
				p.capture(x, p.workspace(x.store), state.TriggerManual)
				x.Checkpoint(state.TriggerManual, "its file is not written", nil)
				commit(t, x)
				kill(t, x)
				journal := p.read("PRD-009/journal.jsonl")
				p.write("PRD-009/journal.jsonl", append(journal, journal[:100]...))
				p.write("PRD-009/.tmp-manifest.json-X", []byte("half"))
				p.write("PRD-009/checkpoints/.tmp-CP-X", []byte("half"))
				p.write("PRD-009/run/w0.1", []byte("what was reported"))
			},
			do:   func(p *project) error { return p.owned(func(*Session) error { return nil }) },
			done: func(p *project) bool { return p.current().Checkpoints[3].Reason == "its file is not written" },
		},
		"recovery of what was written and not synced": {
			before: func(p *project) {
				begun(p)
				x := on(t, unsynced{p.fs}, p.fixture.dir).lock()
				x.Checkpoint(state.TriggerManual, "", nil)
				commit(t, x)
				kill(t, x)
			},
			do: func(p *project) error {
				return p.owned(func(x *Session) error {
					if len(x.State().Checkpoints) == 2 { // it was lost, as it may
						x.Checkpoint(state.TriggerManual, "", nil)
					}
					return nil
				})
			},
			done: func(p *project) bool { return len(p.current().Checkpoints) == 3 },
		},
		"recovery with a rescue copy": {
			before: func(p *project) {
				begun(p)
				bad := &faults.Faulty{FS: p.fs, Op: "sync", Part: "journal.jsonl"}
				x := on(t, bad, p.fixture.dir).lock()
				bad.On.Store(true)
				x.Add(state.PauseAsked{By: by})
				_, err := x.Drain(ctx)
				if err == nil || x.Close() == nil {
					t.Fatal("nothing failed")
				}
			},
			do:   func(p *project) error { return p.owned(func(*Session) error { return nil }) },
			done: func(p *project) bool { return p.current().Requested != nil },
		},
		"compaction": {
			before: func(p *project) {
				begun(p)
				x := p.lock()
				x.Checkpoint(state.TriggerManual, "its file is not written", nil)
				commit(t, x)
				kill(t, x)
			},
			do: func(p *project) error { return p.compacted() },
			done: func(p *project) bool {
				return !bytes.Contains(p.read("PRD-009/journal.jsonl"), []byte("session.started"))
			},
		},
		"create": {
			before: func(p *project) { begun(p); p.save("later.txt", "later") },
			do: func(p *project) error {
				return p.owned(func(x *Session) error {
					_, err := x.Create(ctx, p.workspace(x.store), "asked for")
					return err
				})
			},
			done: func(p *project) bool {
				return slices.ContainsFunc(p.current().Checkpoints, func(r *state.CheckpointRef) bool { return r.Reason == "asked for" })
			},
		},
		"rollback of the state": {
			before: begun,
			do: func(p *project) error {
				return p.owned(func(x *Session) error {
					if x.State().Rollback != nil {
						return rooms.FinishRollback(ctx, x, p.workspace(x.store))
					}
					_, err := rooms.RollBack(ctx, x, p.workspace(x.store), x.State().Checkpoints[0].ID, state.RollbackState, "")
					return err
				})
			},
			done: func(p *project) bool {
				st := p.current()
				return st.Steps == 0 && st.Rollback == nil && len(st.Rollbacks) > 0
			},
		},
		"prune and collect": {
			before: func(p *project) { begun(p); p.versions() },
			do: func(p *project) error {
				p.o.Policy = DefaultPolicy()
				p.o.Policy.Retention.Counts[string(state.TriggerManual)] = 1
				err := p.owned(func(x *Session) error {
					_, err := x.Prune(ctx, PruneOptions{})
					return err
				})
				if err == nil {
					_, err = p.open().Collect(ctx, nil)
				}
				return err
			},
			done: func(p *project) bool { return len(p.current().Checkpoints) == 3 },
		},
		"delete a checkpoint": {
			before: func(p *project) { begun(p); p.versions() },
			do: func(p *project) error {
				return p.owned(func(x *Session) error {
					if len(x.State().Checkpoints) < 5 {
						return nil
					}
					_, err := x.Delete(ctx, DeleteOptions{References: []string{x.State().Checkpoints[2].ID}})
					return err
				})
			},
			done: func(p *project) bool { return len(p.current().Checkpoints) == 4 },
		},
		"delete the session": {
			before: func(p *project) { ended(p); p.begin("S2") },
			do: func(p *project) error {
				if p.current() == nil {
					return p.owned(func(*Session) error { return nil })
				}
				return p.open().DeleteSession(ctx, "PRD-009", by)
			},
			gone: []string{"S2"},
			done: none,
		},
		"archive what is complete": {before: ended, do: archive, done: none},
		"archive what is not":      {before: begun, do: archive, done: none},
		"start anew": {
			before: func(p *project) { ended(p); p.begin("S2") },
			do: func(p *project) error {
				return p.owned(func(x *Session) error {
					if x.State() != nil && x.State().Session == "S3" {
						return nil
					}
					return x.Start(startedOf("PRD-009", "S3", 2))
				})
			},
			done: func(p *project) bool { return p.current().Session == "S3" },
		},
		"set aside": {
			before: func(p *project) { ended(p); p.begin("S2") },
			do: func(p *project) error {
				if p.current() == nil {
					return p.owned(func(*Session) error { return nil })
				}
				_, err := p.open().SetAside(ctx, "PRD-009")
				return err
			},
			done: none,
		},
		"export": {
			before: begun,
			do: func(p *project) error {
				s := p.open()
				_, err := s.Export(ctx, p.workspace(s), "PRD-009", ExportOptions{Path: "/ws/out.tar.zst"})
				return err
			},
			done: func(p *project) bool {
				data, err := store.ReadFile(p.fs, "/ws/out.tar.zst")
				if err != nil {
					return false
				}
				_, err = takeIn(on(t, store.NewMemory(), p.fixture.dir).open(), data, false)
				must(t, err)
				return true
			},
		},
		"rebuild a checkpoint": {
			damaged: true,
			before: func(p *project) {
				begun(p)
				file := p.checkpointFile(p.current().Checkpoints[0].ID)
				p.write(file, append([]byte("damaged"), p.read(file)...))
			},
			do: func(p *project) error {
				return p.owned(func(x *Session) error {
					_, err := Rebuild(ctx, x, p.workspace(x.store), nil)
					return err
				})
			},
			done: func(p *project) bool {
				return !bytes.HasPrefix(p.read(p.checkpointFile(p.current().Checkpoints[0].ID)), []byte("damaged"))
			},
		},
	}
}

// unsynced is a file system on which nothing becomes durable, though programs
// see it all: the process is killed before its syncs begin.
type unsynced struct{ store.FS }

func (u unsynced) SyncDir(string) error { return nil }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ store.File }

func (unsyncedFile) Sync() error { return nil }

// versions makes two checkpoints that have an object of their own each.
func (p *project) versions() {
	p.t.Helper()
	x := p.lock()
	name := x.State().Phases[0].Workstreams[0].Name
	for _, content := range []string{"second", "third", "fourth"} {
		p.save("gen/a.txt", content)
		produce(p.t, x, name, put(p.t, x.store, "gen/a.txt", content))
		mark(p.t, x, state.TriggerManual)
	}
	must(p.t, x.Close())
}

// compacted compacts the journal, however small, as the next owner does with one that has
// grown large. It leaves a journal of one line.
func (p *project) compacted() error {
	data, err := store.ReadFile(p.fs, filepath.Join(p.fixture.dir, "PRD-009", disk.JournalName))
	if err != nil {
		return err
	}
	u, err := p.open().LockUnopened(context.Background(), "PRD-009")
	if err != nil {
		return err
	}
	if bytes.Count(data, []byte("\n")) > 1 {
		_, err = u.StartOver(by, func(*state.State) {})
	}
	if err != nil {
		return errors.Join(err, u.Close())
	}
	x, err := u.Open(by)
	if err != nil {
		return errors.Join(err, u.Close())
	}
	return x.Close()
}

// TestPowerCutAtEveryOperation tries what a power cut could leave at every moment
// of each operation: the state is a boundary, no session is lost, everything that
// a state names is there and verifies, what was said to be done is, and doing it
// again completes it.
func TestPowerCutAtEveryOperation(t *testing.T) {
	t.Parallel()
	for name, op := range operations(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := store.NewMemory()
			p := newProject(t, m)
			op.before(p)
			sessions, known := p.stored(), boundaries{}
			known.add(t, p.open(), "PRD-009")
			said := false
			c := faults.WatchCuts(t, m, func() any { return said })
			p.o.FS, p.fs = c.Watched(), m
			must(t, op.do(p))
			said = true
			known.add(t, p.open(), "PRD-009")
			sessions = append(sessions, p.stored()...)
			if !op.done(p) {
				t.Fatal("it does nothing")
			}
			for _, cut := range c.End() {
				q := &project{fixture: on(t, cut.Memory, p.fixture.dir), dir: t.TempDir()}
				must(t, os.CopyFS(q.dir, os.DirFS(p.dir)))
				q.survived(cut, op, known, sessions)
			}
		})
	}
}

// survived is what must be true of a state that a power cut left.
func (p *project) survived(cut *faults.Cut, op operation, known boundaries, sessions []string) {
	t := p.t
	t.Helper()
	known.recovered(t, cut.When, p.fixture)
	if !op.damaged {
		p.sound(cut.When)
	}
	if cut.Acked.(bool) && !op.done(p) {
		t.Fatalf("%s: it was said to be done", cut.When)
	}
	p.hasSessions(cut.When, op, sessions)
	if err := op.do(p); err != nil {
		t.Fatalf("%s: again: %v", cut.When, err)
	}
	if !op.done(p) {
		t.Fatalf("%s: it was done again, and is not", cut.When)
	}
	p.hasSessions(cut.When+", done again", op, sessions)
	p.sound(cut.When + ", done again")
	if err := os.RemoveAll(filepath.Clean(p.dir)); err != nil {
		t.Fatal(err)
	}
}

// hasSessions checks that each session is there once, but for those that may be
// gone or not be there yet.
func (p *project) hasSessions(when string, op operation, sessions []string) {
	t := p.t
	t.Helper()
	got := p.stored()
	for i, id := range got {
		if !slices.Contains(sessions, id) || i > 0 && got[i-1] == id {
			t.Fatalf("%s: there are sessions %q", when, got)
		}
	}
	for _, id := range sessions {
		if id != "S3" && !slices.Contains(op.gone, id) && !slices.Contains(got, id) {
			t.Fatalf("%s: session %s is lost, there are %q", when, id, got)
		}
	}
}
