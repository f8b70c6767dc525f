package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
	"prdrunner/checkpoint/transfer"
)

// operation is a command's change of a session, in which TestPowerCutAtEveryOperation
// cuts the power.
type operation struct {
	before func(p *checkpointtest.Project)       // makes the session that the operation changes
	do     func(p *checkpointtest.Project) error // through the project's own file system
	// gone are the sessions that the operation deletes; all others must stay.
	gone []string
	// damaged says that the session is damaged until the operation repairs it.
	damaged bool
	// done reports whether the operation has taken effect.
	done func(p *checkpointtest.Project) bool
}

// withSession calls do with the locked session, and closes the session.
func withSession(p *checkpointtest.Project, do func(x *checkpoint.Session) error) error {
	x, err := p.Open().Lock(context.Background(), "PRD-009", checkpointtest.By)
	if err != nil {
		return err
	}
	return errors.Join(do(x), x.Close())
}

// currentState returns the state of the current session, nil if there is none.
func currentState(p *checkpointtest.Project) *state.State {
	p.T.Helper()
	snap, err := p.Open().Load("PRD-009")
	if errors.Is(err, checkpoint.ErrNoSession) {
		return nil
	}
	checkpointtest.Must(p.T, err)
	return snap.State
}

// storedSessions returns the ids of all sessions, sorted.
func storedSessions(p *checkpointtest.Project) []string {
	p.T.Helper()
	sessions, err := p.Open().Reader().Sessions("PRD-009")
	checkpointtest.Must(p.T, err)
	ids := []string{}
	for _, at := range sessions {
		if checkpointtest.Must(p.T, at.Err); at.State != nil {
			ids = append(ids, at.State.Session)
		}
	}
	slices.Sort(ids)
	return ids
}

// operations returns all operations that change the state, except the run itself and
// those that restore files.
func operations(t *testing.T) map[string]operation {
	ctx := context.Background()
	begun := func(p *checkpointtest.Project) { p.Begin("S1") }
	ended := func(p *checkpointtest.Project) { p.Begin("S1"); endComplete(t, p) }
	none := func(p *checkpointtest.Project) bool { return currentState(p) == nil }
	archive := func(p *checkpointtest.Project) error {
		return withSession(p, func(x *checkpoint.Session) error {
			if x.State() == nil {
				return nil
			}
			_, err := x.Archive(ctx, checkpointtest.By, "enough")
			return err
		})
	}
	return map[string]operation{
		"recovery": {
			before: func(p *checkpointtest.Project) {
				begun(p)
				x := p.Lock()
				p.Capture(x, p.Workspace(x.Store()), state.TriggerManual)
				x.Checkpoint(state.TriggerManual, "its file is not written", nil)
				checkpointtest.Commit(t, x)
				checkpointtest.Kill(t, x)
				journal := p.Read("PRD-009/journal.jsonl")
				p.Write("PRD-009/journal.jsonl", append(journal, journal[:100]...))
				p.Write("PRD-009/.tmp-manifest.json-X", []byte("half"))
				p.Write("PRD-009/checkpoints/.tmp-CP-X", []byte("half"))
				p.Write("PRD-009/run/w0.1", []byte("what was reported"))
			},
			do: func(p *checkpointtest.Project) error {
				return withSession(p, func(*checkpoint.Session) error { return nil })
			},
			done: func(p *checkpointtest.Project) bool {
				return currentState(p).Checkpoints[3].Reason == "its file is not written"
			},
		},
		"recovery of what was written and not synced": {
			before: func(p *checkpointtest.Project) {
				begun(p)
				x := checkpointtest.On(t, unsynced{p.FS}, p.Dir).Lock()
				x.Checkpoint(state.TriggerManual, "", nil)
				checkpointtest.Commit(t, x)
				checkpointtest.Kill(t, x)
			},
			do: func(p *checkpointtest.Project) error {
				return withSession(p, func(x *checkpoint.Session) error {
					if len(x.State().Checkpoints) == 2 { // the checkpoint was lost: it was never synced
						x.Checkpoint(state.TriggerManual, "", nil)
					}
					return nil
				})
			},
			done: func(p *checkpointtest.Project) bool { return len(currentState(p).Checkpoints) == 3 },
		},
		"recovery with a rescue copy": {
			before: func(p *checkpointtest.Project) {
				begun(p)
				bad := &faults.Faulty{FS: p.FS, Op: "sync", Part: "journal.jsonl"}
				x := checkpointtest.On(t, bad, p.Dir).Lock()
				bad.On.Store(true)
				x.Add(state.PauseAsked{By: checkpointtest.By})
				_, err := x.Drain(ctx)
				if err == nil || x.Close() == nil {
					t.Fatal("neither Drain nor Close failed")
				}
			},
			do: func(p *checkpointtest.Project) error {
				return withSession(p, func(*checkpoint.Session) error { return nil })
			},
			done: func(p *checkpointtest.Project) bool { return currentState(p).Requested != nil },
		},
		"compaction": {
			before: func(p *checkpointtest.Project) {
				begun(p)
				x := p.Lock()
				x.Checkpoint(state.TriggerManual, "its file is not written", nil)
				checkpointtest.Commit(t, x)
				checkpointtest.Kill(t, x)
			},
			do: func(p *checkpointtest.Project) error { return compact(p) },
			done: func(p *checkpointtest.Project) bool {
				return !bytes.Contains(p.Read("PRD-009/journal.jsonl"), []byte("session.started"))
			},
		},
		"create": {
			before: func(p *checkpointtest.Project) { begun(p); p.Save("later.txt", "later") },
			do: func(p *checkpointtest.Project) error {
				return withSession(p, func(x *checkpoint.Session) error {
					_, err := x.Create(ctx, p.Workspace(x.Store()), "asked for")
					return err
				})
			},
			done: func(p *checkpointtest.Project) bool {
				return slices.ContainsFunc(currentState(p).Checkpoints, func(r *state.CheckpointRef) bool { return r.Reason == "asked for" })
			},
		},
		"rollback of the state": {
			before: begun,
			do: func(p *checkpointtest.Project) error {
				return withSession(p, func(x *checkpoint.Session) error {
					if x.State().Rollback != nil {
						_, err := rollback.Finish(ctx, x, p.Workspace(x.Store()))
						return err
					}
					_, err := rollback.Run(ctx, x, p.Workspace(x.Store()), rollback.Options{To: x.State().Checkpoints[0].ID, Scope: state.RollbackState, By: checkpointtest.By})
					return err
				})
			},
			done: func(p *checkpointtest.Project) bool {
				st := currentState(p)
				return st.Steps == 0 && st.Rollback == nil && len(st.Rollbacks) > 0
			},
		},
		"prune and collect": {
			before: func(p *checkpointtest.Project) { begun(p); addVersions(p) },
			do: func(p *checkpointtest.Project) error {
				p.Options.Policy = checkpoint.DefaultPolicy()
				p.Options.Policy.Retention.Counts[string(state.TriggerManual)] = 1
				err := withSession(p, func(x *checkpoint.Session) error {
					_, err := prune.Run(ctx, x, prune.Options{})
					return err
				})
				if err == nil {
					_, err = prune.Collect(ctx, p.Open(), nil)
				}
				return err
			},
			done: func(p *checkpointtest.Project) bool { return len(currentState(p).Checkpoints) == 3 },
		},
		"delete a checkpoint": {
			before: func(p *checkpointtest.Project) { begun(p); addVersions(p) },
			do: func(p *checkpointtest.Project) error {
				return withSession(p, func(x *checkpoint.Session) error {
					if len(x.State().Checkpoints) < 5 {
						return nil
					}
					_, err := prune.Delete(ctx, x, prune.DeleteOptions{References: []string{x.State().Checkpoints[2].ID}})
					return err
				})
			},
			done: func(p *checkpointtest.Project) bool { return len(currentState(p).Checkpoints) == 4 },
		},
		"delete the session": {
			before: func(p *checkpointtest.Project) { ended(p); p.Begin("S2") },
			do: func(p *checkpointtest.Project) error {
				if currentState(p) == nil {
					return withSession(p, func(*checkpoint.Session) error { return nil })
				}
				return p.Open().DeleteSession(ctx, "PRD-009", checkpointtest.By)
			},
			gone: []string{"S2"},
			done: none,
		},
		"archive what is complete": {before: ended, do: archive, done: none},
		"archive what is not":      {before: begun, do: archive, done: none},
		"start anew": {
			before: func(p *checkpointtest.Project) { ended(p); p.Begin("S2") },
			do: func(p *checkpointtest.Project) error {
				return withSession(p, func(x *checkpoint.Session) error {
					if x.State() != nil && x.State().Session == "S3" {
						return nil
					}
					return x.Start(checkpointtest.StartedOf("PRD-009", "S3", 2))
				})
			},
			done: func(p *checkpointtest.Project) bool { return currentState(p).Session == "S3" },
		},
		"set aside": {
			before: func(p *checkpointtest.Project) { ended(p); p.Begin("S2") },
			do: func(p *checkpointtest.Project) error {
				if currentState(p) == nil {
					return withSession(p, func(*checkpoint.Session) error { return nil })
				}
				_, err := p.Open().SetAside(ctx, "PRD-009")
				return err
			},
			done: none,
		},
		"export": {
			before: begun,
			do: func(p *checkpointtest.Project) error {
				s := p.Open()
				_, err := transfer.Export(ctx, s, p.Workspace(s), "PRD-009", transfer.ExportOptions{Path: "/ws/out.tar.zst"})
				return err
			},
			done: func(p *checkpointtest.Project) bool {
				data, err := store.ReadFile(p.FS, "/ws/out.tar.zst")
				if err != nil {
					return false
				}
				_, err = checkpointtest.TakeIn(checkpointtest.On(t, store.NewMemory(), p.Dir).Open(), data, false)
				checkpointtest.Must(t, err)
				return true
			},
		},
		"rebuild a checkpoint": {
			damaged: true,
			before: func(p *checkpointtest.Project) {
				begun(p)
				file := p.CheckpointFile(currentState(p).Checkpoints[0].ID)
				p.Write(file, append([]byte("damaged"), p.Read(file)...))
			},
			do: func(p *checkpointtest.Project) error {
				return withSession(p, func(x *checkpoint.Session) error {
					_, err := repair.RebuildCheckpoints(ctx, x, p.Workspace(x.Store()), nil)
					return err
				})
			},
			done: func(p *checkpointtest.Project) bool {
				return !bytes.HasPrefix(p.Read(p.CheckpointFile(currentState(p).Checkpoints[0].ID)), []byte("damaged"))
			},
		},
	}
}

// unsynced is a file system whose syncs do nothing: other processes see what was written,
// and a power cut loses it.
type unsynced struct{ store.FS }

func (u unsynced) SyncDir(string) error { return nil }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ store.File }

func (unsyncedFile) Sync() error { return nil }

// addVersions makes three checkpoints, each of which has an artifact of its own.
func addVersions(p *checkpointtest.Project) {
	p.T.Helper()
	x := p.Lock()
	name := x.State().Phases[0].Workstreams[0].Name
	for _, content := range []string{"second", "third", "fourth"} {
		p.Save("gen/a.txt", content)
		checkpointtest.Produce(p.T, x, name, checkpointtest.Put(p.T, x.Store(), "gen/a.txt", content))
		checkpointtest.Mark(p.T, x, state.TriggerManual)
	}
	checkpointtest.Must(p.T, x.Close())
}

// compact compacts the journal of any size into one line, as the next owner does with a
// large one.
func compact(p *checkpointtest.Project) error {
	data, err := store.ReadFile(p.FS, filepath.Join(p.Dir, "PRD-009", disk.JournalName))
	if err != nil {
		return err
	}
	u, err := p.Open().LockUnopened(context.Background(), "PRD-009")
	if err != nil {
		return err
	}
	if bytes.Count(data, []byte("\n")) > 1 {
		_, err = u.StartOver(checkpointtest.By, func(*state.State) {})
	}
	if err != nil {
		return errors.Join(err, u.Close())
	}
	x, err := u.Open(checkpointtest.By)
	if err != nil {
		return errors.Join(err, u.Close())
	}
	return x.Close()
}

// TestPowerCutAtEveryOperation cuts the power at every moment of each operation. The
// state must be the state after some commit, no session may be lost, and everything that
// a state names must verify. An acknowledged operation must be done, and repeating the
// operation must complete it.
func TestPowerCutAtEveryOperation(t *testing.T) {
	t.Parallel()
	for name, op := range operations(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := store.NewMemory()
			p := checkpointtest.NewProject(t, m)
			op.before(p)
			sessions, known := storedSessions(p), boundaries{}
			known.add(t, p.Open(), "PRD-009")
			acked := false
			c := faults.WatchCuts(t, m, func() any { return acked })
			p.Options.FS, p.FS = c.Watched(), m
			checkpointtest.Must(t, op.do(p))
			acked = true
			known.add(t, p.Open(), "PRD-009")
			sessions = append(sessions, storedSessions(p)...)
			if !op.done(p) {
				t.Fatal("the operation had no effect")
			}
			for _, cut := range c.End() {
				q := &checkpointtest.Project{Fixture: checkpointtest.On(t, cut.Memory, p.Dir), Root: t.TempDir()}
				checkpointtest.Must(t, os.CopyFS(q.Root, os.DirFS(p.Root)))
				checkSurvived(q, cut, op, known, sessions)
			}
		})
	}
}

// checkSurvived checks one state of the disk after a power cut, and removes the workspace
// of p.
func checkSurvived(p *checkpointtest.Project, cut *faults.Cut, op operation, known boundaries, sessions []string) {
	t := p.T
	t.Helper()
	known.recovered(t, cut.When, p.Fixture)
	if !op.damaged {
		sound(p.Fixture, cut.When)
	}
	if cut.Acked.(bool) && !op.done(p) {
		t.Fatalf("%s: the operation was acknowledged, but its effect is lost", cut.When)
	}
	hasSessions(p, cut.When, op, sessions)
	if err := op.do(p); err != nil {
		t.Fatalf("%s: repeat the operation: %v", cut.When, err)
	}
	if !op.done(p) {
		t.Fatalf("%s: the repeated operation had no effect", cut.When)
	}
	hasSessions(p, cut.When+", repeated", op, sessions)
	sound(p.Fixture, cut.When+", repeated")
	if err := os.RemoveAll(filepath.Clean(p.Root)); err != nil {
		t.Fatal(err)
	}
}

// hasSessions checks that each of the sessions is stored once. Those in op.gone, and S3,
// which only one operation starts, may be missing.
func hasSessions(p *checkpointtest.Project, when string, op operation, sessions []string) {
	t := p.T
	t.Helper()
	got := storedSessions(p)
	for i, id := range got {
		if !slices.Contains(sessions, id) || i > 0 && got[i-1] == id {
			t.Fatalf("%s: unexpected sessions %q", when, got)
		}
	}
	for _, id := range sessions {
		if id != "S3" && !slices.Contains(op.gone, id) && !slices.Contains(got, id) {
			t.Fatalf("%s: session %s is lost; stored are %q", when, id, got)
		}
	}
}
