//go:build unix

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner"
)

// stage is where a history is played: the engine itself, over a state in
// memory and a small directory. Its tasks are functions, of which it notes what
// each saw and did.
type stage struct {
	h   *history
	now time.Time
	dir string
	v   variation

	disk  *mortal
	store *checkpoint.Store
	files *workspace.Workspace

	mu     sync.Mutex
	act    act
	tasks  int // begun in the build at hand
	failed map[string]int
	log    map[string]deed // by name and attempt
	signal chan string
	plan   *runner.Plan
	shown  uint64            // the last commit that was shown
	killed map[string]string // the files at the moment of death; nil: it lives
}

// deed is what came of a task.
type deed struct {
	name      string
	saw       map[string]string // of its inputs
	used      string            // the output that is in its definition
	made      string            // what is in its artifact now, complete or not
	value     string            // its output and metric
	ok        bool
	cancelled bool
}

// errDead is what a process that is killed gets to see of its disk.
var errDead = errors.New("the process is dead")

// mortal is a disk in memory. With the nth operation that writes, the process
// dies: what is durable then is what there will be.
type mortal struct {
	*store.Memory

	mu    sync.Mutex
	left  int // 0: it lives on
	dead  bool
	after *store.Memory // what the next process finds
	died  func()
}

func (m *mortal) step() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	if m.left == 0 {
		return nil
	}
	if m.left--; m.left == 0 {
		m.die()
		return errDead
	}
	return nil
}

// die ends the process; the caller holds the mutex.
func (m *mortal) die() {
	m.dead, m.after = true, m.Crash()
	m.died()
}

// kill ends the process now, unless it is dead already.
func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.dead {
		m.die()
	}
}

func (m *mortal) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if flag != os.O_RDONLY {
		if err := m.step(); err != nil {
			return nil, err
		}
	}
	f, err := m.Memory.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return mortalFile{f, m}, nil
}

func (m *mortal) Rename(from, to string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.Memory.Rename(from, to)
}

func (m *mortal) SyncDir(name string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.Memory.SyncDir(name)
}

type mortalFile struct {
	store.File
	disk *mortal
}

func (f mortalFile) Write(p []byte) (int, error) {
	if err := f.disk.step(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f mortalFile) Sync() error {
	if err := f.disk.step(); err != nil {
		return err
	}
	return f.File.Sync()
}

func newStage(h *history, below string) (*stage, error) {
	dir, err := os.MkdirTemp(below, "history")
	if err != nil {
		return nil, err
	}
	s := &stage{
		h: h, dir: dir, now: time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC),
		v: variation{works: map[string]int{}, gates: map[string]int{}, off: map[string]bool{}},
	}
	for _, sub := range []string{"src", "out", "told"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	for _, name := range sources {
		err = errors.Join(err, s.write(name, "1"))
	}
	return s, errors.Join(err, s.open(store.NewMemory()))
}

// open begins a process on a disk.
func (s *stage) open(disk *store.Memory) (err error) {
	s.disk = &mortal{Memory: disk}
	s.disk.died = func() { s.killed = s.tree() }
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

// tree reads the files that people and workstreams write.
func (s *stage) tree() map[string]string {
	tree := map[string]string{}
	for _, dir := range []string{"src", "out"} {
		names, err := os.ReadDir(filepath.Join(s.dir, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a rollback removes what is empty
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

// put makes the files what they were.
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
	file, diags := pipeline.Parse([]byte(s.h.source(s.v)), filepath.Join(s.dir, "PRD-001.hcl"))
	if diags.HasErrors() {
		return nil, diags
	}
	p, diags := file.Pipeline(pipeline.Inputs{Workspace: s.dir})
	if diags.HasErrors() {
		return nil, diags
	}
	return p, nil
}

// build runs the engine. If the process was killed, what it said counts for
// nothing, and the next one begins on what was durable.
func (s *stage) build(a act) (ending runner.Ending, err error) {
	p, err := s.pipeline()
	if err != nil {
		return ending, fmt.Errorf("%w\n%s", err, s.h.source(s.v))
	}
	s.act, s.tasks, s.failed, s.log = a, 0, map[string]int{}, map[string]deed{}
	s.signal, s.plan, s.shown, s.killed = make(chan string, 2), nil, 0, nil
	s.disk.left = a.Kill
	o := runner.Options{
		Pipeline: p, Store: s.store, Executor: s, Workspace: s.dir, Files: s.files, Parallel: s.h.Parallel, Views: []runner.View{s},
		KeepGoing: a.KeepGoing, Fresh: a.Fresh, Select: a.Select, OnConflict: a.Conflict, Now: func() time.Time { return s.now }, Interrupts: s.signal,
	}
	if a.Answers != nil {
		o.Asker = s
	}
	o.Session, err = s.store.Lock(context.Background(), "PRD-001", checkpoint.Actor{User: "tester"})
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
	return ending, errors.Join(s.files.Close(), s.put(s.killed), s.open(s.disk.after))
}

// locked does something between builds.
func (s *stage) locked(do func(*checkpoint.Session) error) error {
	x, err := s.store.Lock(context.Background(), "PRD-001", checkpoint.Actor{User: "tester"})
	if err != nil {
		return err
	}
	return errors.Join(do(x), x.Close())
}

// commits reads the journal.
func (s *stage) commits() ([]checkpoint.Commit, error) {
	snap, err := s.store.Load("PRD-001")
	if errors.Is(err, checkpoint.ErrNoSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []checkpoint.Commit
	for c, err := range s.store.Follow(context.Background(), "PRD-001", 0) {
		if err != nil {
			return nil, err
		}
		if all = append(all, c); c.Seq == snap.State.Seq {
			break // else it would wait for the owner that was killed, which is this process
		}
	}
	return all, nil
}

// Run implements runner.Executor.
func (s *stage) Run(ctx context.Context, task runner.Task, sink runner.Sink) (runner.Result, error) {
	r := runner.Result{Outcome: runner.Exited, Started: s.now, Ended: s.now}
	s.mu.Lock()
	if s.isDead() || ctx.Err() != nil {
		s.mu.Unlock()
		r.Outcome = runner.Cancelled
		return r, nil
	}
	sink.Started(1)
	s.tasks++
	stop := s.tasks == s.act.Interrupt
	key, d := task.ID[strings.Index(task.ID, "/")+1:], deed{}
	if task.Env["RUNNER_GATE"] == "" {
		d = s.work(task, stop)
	} else {
		d = s.judgement(task, stop)
	}
	s.log[key] = d
	if s.tasks == s.act.Dies {
		s.disk.kill()
	}
	s.mu.Unlock()
	switch {
	case stop:
		s.signal <- "SIGINT"
		<-ctx.Done()
		r.Outcome = runner.Cancelled
	case !d.ok:
		r.ExitCode = 1
	}
	return r, nil
}

func (s *stage) isDead() bool {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return s.disk.dead
}

// work does what a workstream does. What it makes is a function of what it
// reads; of a pure one it is the same for many things that it may read.
func (s *stage) work(task runner.Task, stop bool) deed {
	name := task.Env["RUNNER_WORKSTREAM"]
	w := s.workOf(name)
	tree := s.tree()
	d := deed{name: name, saw: map[string]string{}, used: task.Env["USED"], cancelled: stop}
	for _, path := range s.h.inputs(*w) {
		if text, ok := tree[path]; ok {
			d.saw[path] = text
		}
	}
	fails := s.failed[name] < s.act.Fails[name]
	if fails {
		s.failed[name]++
	}
	d.ok = !fails && !stop
	d.value, d.made = product(w, task.Command[1], d)
	if !d.ok {
		d.made = "a part of " + name
	}
	if w.Makes {
		if err := s.write(w.artifact(), d.made); err != nil {
			panic(err)
		}
	}
	out := task.Env["RUNNER_OUTPUT"]
	err := errors.Join(os.MkdirAll(filepath.Dir(out), 0o700), os.WriteFile(out, []byte("value="+d.value+"\nmetric.of-"+name+"="+d.value+"\n"), 0o600))
	if err != nil {
		panic(err)
	}
	return d
}

// product is what a workstream makes of what it sees.
func product(w *histWork, version string, d deed) (value, made string) {
	sum := 0
	for _, text := range slices.Concat(slices.Collect(maps.Values(d.saw)), []string{version, d.used}) {
		if n, err := strconv.Atoi(text); err == nil {
			sum += n
		}
	}
	if w.Effect == "pure" {
		return strconv.Itoa(sum / 3 % 2), fmt.Sprintf("%s %d", w.Name, sum/3%2)
	}
	return strconv.Itoa(sum % 3), fmt.Sprintf("%s %s of %q, %q", w.Name, version, d.saw, d.used)
}

func (s *stage) judgement(task runner.Task, stop bool) deed {
	owner := task.Env["RUNNER_WORKSTREAM"]
	if owner == "" {
		owner = task.Env["RUNNER_PHASE"]
	}
	label := task.Env["RUNNER_GATE"] + " (" + owner + ")"
	return deed{name: label, cancelled: stop, ok: !stop && !slices.Contains(s.act.Rejects, label)}
}

func (s *stage) workOf(name string) *histWork {
	for _, w := range s.h.works() {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// Approve implements runner.Asker.
func (s *stage) Approve(_ context.Context, q runner.Question) (runner.Answer, error) {
	verdict := runner.Later
	switch s.act.Answers[q.Gate] {
	case "approve":
		verdict = runner.Approve
	case "reject":
		verdict = runner.Reject
	}
	return runner.Answer{Verdict: verdict, By: checkpoint.Actor{User: "tester"}}, nil
}

// Resolve implements runner.Asker.
func (s *stage) Resolve(context.Context, []runner.Conflict) (runner.OnConflict, error) {
	return runner.ConflictFail, nil
}

// Unwritten implements runner.Asker.
func (s *stage) Unwritten(context.Context, string) (runner.OnCheckpointError, error) {
	return runner.CheckpointErrorPause, nil
}

// Confirm implements runner.Asker.
func (s *stage) Confirm(context.Context, string) (bool, error) { return false, nil }

// Begin implements runner.View.
func (s *stage) Begin(b runner.Beginning) { s.plan = b.Plan }

// Commit implements runner.View. What is shown is what counts as acknowledged.
func (s *stage) Commit(c checkpoint.Commit) {
	if !s.isDead() {
		s.shown = c.Seq
	}
}

// Warn implements runner.View.
func (s *stage) Warn(string) {}

// End implements runner.View.
func (s *stage) End(runner.Ending) {}
