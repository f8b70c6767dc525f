package checkpoint_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/validate"
)

var readersEvery = flag.Int("readers.every", 32, "test one of this many steps of each reader")

// interposed is a file system that calls act just before the operation at of a reader.
type interposed struct {
	store.FS
	at    int // the operation, counted from 1
	act   func()
	mu    sync.Mutex // a reader reads several objects at once
	count int
}

func (i *interposed) turn() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.count++; i.count == i.at {
		i.act()
	}
}

func (i *interposed) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	i.turn()
	f, err := i.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &interposedFile{f, i}, nil
}

func (i *interposed) Lstat(name string) (fs.FileInfo, error) {
	i.turn()
	return i.FS.Lstat(name)
}

func (i *interposed) ReadDir(name string) ([]fs.DirEntry, error) {
	i.turn()
	return i.FS.ReadDir(name)
}

type interposedFile struct {
	store.File
	i *interposed
}

func (f *interposedFile) Read(p []byte) (int, error) {
	f.i.turn()
	return f.File.Read(p)
}

func (f *interposedFile) ReadAt(p []byte, at int64) (int, error) {
	f.i.turn()
	return f.File.ReadAt(p, at)
}

// reading is a command that only reads. It records the states and the damage that it saw
// in seen.
type reading func(p *checkpointtest.Project, s *checkpoint.Store, seen *sight) error

// sight is what a reader saw: the states, and a description of damage, "" for none.
type sight struct {
	states  []*state.State // each must be the state after some commit
	problem string
}

// readings returns the ways to read a session; id is a checkpoint that the session has
// before the operation.
func readings(id string) map[string]reading {
	ctx := context.Background()
	readCheckpoint := func(ref string) reading {
		return func(_ *checkpointtest.Project, s *checkpoint.Store, seen *sight) error {
			f, err := s.ReadCheckpoint("PRD-009", ref)
			if err == nil {
				seen.states = append(seen.states, f.State)
			}
			return err
		}
	}
	validate := func(refs ...string) reading {
		return func(p *checkpointtest.Project, s *checkpoint.Store, seen *sight) error {
			v, err := validate.Run(ctx, s, p.Workspace(s), validate.Options{PRD: "PRD-009", Refs: refs, Deep: true})
			if err == nil && v.Damaged() {
				seen.problem = fmt.Sprintf("%+v", v.Sessions)
			}
			return err
		}
	}
	return map[string]reading{
		"load": func(_ *checkpointtest.Project, s *checkpoint.Store, seen *sight) error {
			snap, err := s.Load("PRD-009")
			if err == nil {
				seen.states = append(seen.states, snap.State)
			}
			return err
		},
		"sessions": func(_ *checkpointtest.Project, s *checkpoint.Store, seen *sight) error {
			all, err := s.Reader().Sessions("PRD-009")
			for _, at := range all {
				if err = errors.Join(err, at.Err); at.State != nil {
					seen.states = append(seen.states, at.State)
				}
			}
			return err
		},
		"read the latest": readCheckpoint("latest"),
		"read one":        readCheckpoint(id),
		"inspect the latest": func(p *checkpointtest.Project, s *checkpoint.Store, seen *sight) error {
			found, err := rollback.Inspect(ctx, s, p.Workspace(s), "PRD-009", "latest")
			if err != nil {
				return err
			}
			if seen.problem = found.Check.Reason(); found.File != nil {
				seen.states = append(seen.states, found.File.State)
			}
			return nil
		},
		"plan a rollback": func(p *checkpointtest.Project, s *checkpoint.Store, _ *sight) error {
			_, err := rollback.PlanTo(ctx, s, p.Workspace(s), "PRD-009", rollback.Options{To: "latest", By: checkpointtest.By})
			return err
		},
		"validate":            validate(),
		"validate the latest": validate("latest"),
		"plan pruning": func(_ *checkpointtest.Project, s *checkpoint.Store, _ *sight) error {
			_, err := prune.Plan(ctx, s, "PRD-009", prune.Options{})
			return err
		},
		"plan a deletion": func(_ *checkpointtest.Project, s *checkpoint.Store, _ *sight) error {
			_, err := prune.PlanDelete(ctx, s, "PRD-009", prune.DeleteOptions{References: []string{id}})
			if kept := (*prune.KeptError)(nil); errors.As(err, &kept) {
				return nil
			}
			return err
		},
		"plan a collection": func(p *checkpointtest.Project, s *checkpoint.Store, _ *sight) error {
			_, err := prune.PlanCollect(ctx, s, p.Workspace(s))
			return err
		},
		"plan a migration": func(_ *checkpointtest.Project, s *checkpoint.Store, _ *sight) error {
			_, err := repair.PlanMigrate(ctx, s, "PRD-009")
			return err
		},
		"export": func(p *checkpointtest.Project, s *checkpoint.Store, _ *sight) error {
			_, err := transfer.Export(ctx, s, p.Workspace(s), "PRD-009", transfer.ExportOptions{Path: "/ws/exported.tar"})
			return err
		},
	}
}

// TestReadersBesideAnOperation does each operation just before each step of each reader,
// or one of readers.every steps. The reader must see a whole state after some commit. The
// only permitted errors say that the session or the checkpoint no longer exists.
func TestReadersBesideAnOperation(t *testing.T) {
	t.Parallel()
	for name, op := range operations(t) {
		if op.damaged {
			continue
		}
		for what := range readings("") {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				for at := 1 + len(name+what)%*readersEvery; readBeside(t, op, name, what, at); at += *readersEvery {
				}
			})
		}
	}
}

// readBeside does an operation just before step at of a reader. It returns false if the
// reader has fewer steps.
func readBeside(t *testing.T, op operation, name, what string, at int) bool {
	t.Helper()
	p := checkpointtest.NewProject(t, store.NewMemory())
	op.before(p)
	known, id := boundaries{}, currentState(p).Checkpoints[0].ID
	if n := len(currentState(p).Checkpoints); n > 2 {
		id = currentState(p).Checkpoints[2].ID
	}
	known.add(t, p.Open(), "PRD-009")
	i := &interposed{FS: p.FS, at: at, act: func() { checkpointtest.Must(t, op.do(p)) }}
	reader := checkpointtest.On(t, i, p.Dir).Open()
	seen := &sight{}
	err := readings(id)[what](p, reader, seen)
	known.add(t, p.Open(), "PRD-009")
	gone := currentState(p) == nil || currentState(p).Session != "S1"
	when := fmt.Sprintf("%s before step %d of %s", name, at, what)
	if err != nil && (!errors.Is(err, checkpoint.ErrNoSession) || !gone) && (!errors.Is(err, state.ErrNoCheckpoint) || what != "read one" && what != "plan a deletion" && !gone) {
		t.Errorf("%s: %v", when, err)
	}
	if seen.problem != "" {
		t.Errorf("%s: %s", when, seen.problem)
	}
	for _, got := range seen.states {
		want := known[checkpointtest.SeqOf(got)]
		if want == nil {
			t.Fatalf("%s: the reader saw %s, which is not the state after a commit", when, checkpointtest.SeqOf(got))
		}
		checkpointtest.Same(t, when, got, want)
	}
	return i.count >= at
}
