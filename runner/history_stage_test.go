//go:build unix

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// The engine over a disk in memory.

// stage runs the engine for a history, with its state in memory and a small directory as
// the workspace. Its tasks are functions; stage logs what each task read and did.
type stage struct {
	h   *history
	now time.Time
	dir string
	v   variation

	text    func() string                       // the source of the pipeline
	vars    []string                            // the variables that it declares
	perform func(t runner.Task, stop bool) deed // runs a workstream

	disk  *mortal
	store *checkpoint.Store
	files *workspace.Workspace

	mu     sync.Mutex
	act    act
	tasks  int // tasks begun in the present build
	failed map[string]int
	log    map[string]deed // by name and attempt
	signal chan string
	plan   *plan.Plan
	shown  uint64            // the last commit that was shown
	killed map[string]string // the files when the process died; nil: the process is alive
	unread map[string]string // the files with reports when the process died, and what lingering tasks have added
}

func newStage(h *history, below string) (*stage, error) {
	dir, err := os.MkdirTemp(below, "history")
	if err != nil {
		return nil, err
	}
	s := &stage{
		h: h, dir: dir, now: time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC),
		v: variation{works: map[string]int{}, gates: map[string]int{}, off: map[string]bool{}, harsh: map[string]bool{}, vars: map[string]int{}, grown: map[string]int{}},
	}
	s.text, s.vars, s.perform = func() string { return h.source(s.v) }, variables, s.work
	for _, sub := range []string{"src", "out", "told"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	for _, name := range sources {
		err = errors.Join(err, s.write(name, "1"))
	}
	return s, errors.Join(err, s.open(store.NewMemory()))
}

// open starts a process on a disk.
func (s *stage) open(disk *store.Memory) (err error) {
	s.disk = &mortal{Memory: disk, ended: make(chan struct{})}
	s.disk.died = func() { s.killed, s.unread = s.tree(), s.reportFiles() }
	s.disk.dying = func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.act.Dies > 0 && s.tasks == s.act.Dies-1
	}
	s.store, err = checkpoint.OpenStore(filepath.Join(s.dir, ".runner"), checkpoint.Options{
		FS: s.disk, Now: func() time.Time { return s.now }, RescueDir: filepath.Join(s.dir, ".rescue"),
	})
	if err == nil {
		s.files, err = s.store.OpenWorkspace(s.dir, nil, workspace.GitOff)
	}
	return err
}

func (s *stage) close() error { return errors.Join(s.files.Close(), os.RemoveAll(s.dir)) }

func (s *stage) write(name, text string) error {
	if err := os.MkdirAll(filepath.Join(s.dir, filepath.Dir(name)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600)
}

// tree reads the files that the user and workstreams write.
func (s *stage) tree() map[string]string {
	tree := map[string]string{}
	for _, dir := range []string{"src", "out"} {
		names, err := os.ReadDir(filepath.Join(s.dir, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a rollback removes empty directories
			panic(err)
		}
		for _, e := range names {
			if text, err := os.ReadFile(filepath.Join(s.dir, dir, e.Name())); err == nil {
				tree[dir+"/"+e.Name()] = string(text)
			}
		}
	}
	return tree
}

// put restores the files of tree.
func (s *stage) put(tree map[string]string) (err error) {
	is := s.tree()
	for name := range is {
		if _, ok := tree[name]; !ok {
			err = errors.Join(err, os.Remove(filepath.Join(s.dir, name)))
		}
	}
	for name, text := range tree {
		if was, ok := is[name]; !ok || was != text {
			err = errors.Join(err, s.write(name, text))
		}
	}
	return err
}

func (s *stage) pipeline() (*pipeline.Pipeline, error) {
	file, diags := pipeline.Parse([]byte(s.text()), filepath.Join(s.dir, "PRD-001.hcl"))
	if diags.HasErrors() {
		return nil, diags
	}
	values := map[string]pipeline.Input{}
	for _, name := range s.vars {
		values[name] = pipeline.Input{Text: s.v.value(name), Origin: "--var"}
	}
	p, diags := file.Pipeline(pipeline.Inputs{Workspace: s.dir, Variables: values})
	if diags.HasErrors() {
		return nil, diags
	}
	return p, nil
}

// build runs the engine. If the process was killed, its result does not count, and the
// next process starts from the durable state.
func (s *stage) build(a act) (ending runner.Ending, err error) {
	p, err := s.pipeline()
	if err != nil {
		return ending, fmt.Errorf("%w\n%s", err, s.text())
	}
	s.act, s.tasks, s.failed, s.log = a, 0, map[string]int{}, map[string]deed{}
	s.signal, s.plan, s.shown, s.killed, s.unread = make(chan string, 2), nil, 0, nil, nil
	s.disk.left = a.Kill
	o := runner.Options{
		Pipeline: p, Store: s.store, Executor: s, Workspace: s.dir, Files: s.files, Parallel: s.h.Parallel, Views: []runner.View{s},
		KeepGoing: a.KeepGoing, RaiseBudget: a.Raise, PauseAtGates: a.PauseAll, Fresh: a.Fresh, Select: a.Select, OnConflict: a.Conflict, Now: func() time.Time { return s.now }, Interrupts: s.signal,
	}
	if a.Answers != nil {
		o.Asker = s
	}
	o.Session, err = s.store.Lock(context.Background(), "PRD-001", state.Actor{User: "tester"})
	if err == nil {
		ending, err = runner.Build(context.Background(), o)
		if closed := o.Session.Close(); err == nil {
			err = closed
		}
	}
	if !s.disk.dead {
		s.disk.left = 0
		return ending, err
	}
	return ending, errors.Join(s.putReports(), s.reopen())
}

// reopen starts another process after one was killed.
func (s *stage) reopen() error {
	return errors.Join(s.files.Close(), s.put(s.killed), s.open(s.disk.after))
}

// locked calls do with the locked session, between builds.
func (s *stage) locked(do func(*checkpoint.Session) error) error {
	x, err := s.store.Lock(context.Background(), "PRD-001", state.Actor{User: "tester"})
	if err != nil {
		return err
	}
	return errors.Join(do(x), x.Close())
}

// commits reads the journal.
func (s *stage) commits() ([]state.Commit, error) {
	snap, err := s.store.Load("PRD-001")
	if errors.Is(err, checkpoint.ErrNoSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []state.Commit
	for c, err := range s.store.Follow(context.Background(), "PRD-001", 0) {
		if err != nil {
			return nil, err
		}
		if all = append(all, c); c.Seq == snap.State.Seq {
			break // otherwise it would wait for the killed owner, which is this process
		}
	}
	return all, nil
}
