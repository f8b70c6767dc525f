//go:build unix

package runner_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/process"
)

// files is the content of a workspace: for each path its kind, mode and bytes.
type files map[string]string

// step is a workstream of the pipeline.
type step struct {
	name, input string
	on          []string
	once        bool
}

func (s step) artifact() string { return "out/" + s.name + "/made" }

// point is the model of a checkpoint.
type point struct {
	tree    files // nil: the checkpoint was made while a task ran
	summary summary
	state   *state.State
	valid   map[string]bool // for an undo checkpoint: the points that were valid before the rollback
}

// summary is the part of a state that a rollback restores.
type summary struct {
	Steps   int
	Phase   int
	Status  map[string]state.StepStatus
	Metrics map[string]state.Metric
}

// world is a session under test, with its model.
type world struct {
	t     *rapid.T
	ctx   context.Context
	root  string // the directory of everything
	dir   string // the workspace
	git   bool
	moves int
	now   time.Time
	store *checkpoint.Store
	files *workspace.Workspace

	writes atomic.Int64 // operations of brittle that write

	source  string
	steps   []step
	fails   map[string]bool
	rejects map[string]bool // by a gate

	ran     []string            // in the present build
	made    map[string][]string // the artifacts of successful runs of a workstream
	input   map[string]string   // the input of a workstream in its last run
	starts  map[string]int
	meddled map[string]bool
	results map[string]string // results of upstream workstreams, by their digest
	points  map[string]*point
	valid   map[string]bool
	last    *state.State // after the previous step
}

func newWorld(t *rapid.T) *world {
	root, err := os.MkdirTemp("", "operations")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ctx: context.Background(), root: root, now: time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)}
	w.writes.Store(-1)
	w.git = rapid.IntRange(0, 4).Draw(t, "git") == 0
	w.forget()
	w.draw()
	w.must(os.Mkdir(filepath.Join(root, "beside"), 0o755))
	w.must(os.WriteFile(filepath.Join(root, "beside", "sentinel"), []byte("untouched"), 0o644))
	w.open("first")
	for _, name := range []string{"src/i0", "src/i1", "src/i2", "src/a"} {
		w.must(os.MkdirAll(filepath.Join(w.dir, "src"), 0o755))
		w.must(os.WriteFile(filepath.Join(w.dir, name), []byte(name), 0o644))
	}
	return w
}

// forget starts over without a session.
func (w *world) forget() {
	w.points, w.valid, w.meddled, w.made, w.results = map[string]*point{}, map[string]bool{}, map[string]bool{}, map[string][]string{}, map[string]string{}
	w.input, w.starts, w.last = map[string]string{}, map[string]int{}, nil
}

// draw draws a random pipeline.
func (w *world) draw() {
	var b strings.Builder
	b.WriteString("pipeline \"PRD-001\" {\n")
	for p := range rapid.IntRange(1, 3).Draw(w.t, "phases") {
		fmt.Fprintf(&b, "phase \"p%d\" {\n", p)
		var before []string
		for n := range rapid.IntRange(1, 4).Draw(w.t, "workstreams") {
			s := step{name: fmt.Sprintf("p%dw%d", p, n), once: rapid.IntRange(0, 4).Draw(w.t, "once") == 0}
			if i := rapid.IntRange(0, 3).Draw(w.t, "input"); i < 3 {
				s.input = fmt.Sprint("src/i", i)
			}
			fmt.Fprintf(&b, "workstream %q {\n command = [\"make\", %q]\n artifacts = [\"out/%s/**\"]\n", s.name, s.name, s.name)
			if s.input != "" {
				fmt.Fprintf(&b, " inputs = [%q]\n", s.input)
			}
			if len(before) > 0 && rapid.Bool().Draw(w.t, "depends") {
				s.on = []string{rapid.SampledFrom(before).Draw(w.t, "on")}
				fmt.Fprintf(&b, " depends_on = [workstream.%s]\n", s.on[0])
			}
			if rapid.IntRange(0, 2).Draw(w.t, "gate") == 0 {
				fmt.Fprintf(&b, " gate \"check\" { command = [\"judge\", %q] }\n", s.name)
			}
			if s.once {
				b.WriteString(" effect = \"once\"\n")
			}
			b.WriteString("}\n")
			before = append(before, s.name)
			w.steps = append(w.steps, s)
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	w.source = b.String()
}

// open makes a workspace and a state directory.
func (w *world) open(name string) {
	w.dir = filepath.Join(w.root, name)
	w.must(os.Mkdir(w.dir, 0o755))
	var repo *git.Repository
	if w.git {
		out, err := exec.Command("git", "init", "-q", w.dir).CombinedOutput()
		if err != nil {
			w.t.Fatalf("git init: %v\n%s", err, out)
		}
		if repo, err = git.Open(w.ctx, process.NewCommander(os.Environ()), w.dir); err != nil {
			w.t.Fatal(err)
		}
	}
	var err error
	w.store, err = checkpoint.OpenStore(filepath.Join(w.dir, ".runner"), checkpoint.Options{
		FS: brittle{store.OS(), &w.writes}, Now: func() time.Time { return w.now }, RescueDir: w.root, Include: []string{"src/**"},
	})
	w.must(err)
	w.files, err = w.store.OpenWorkspace(w.dir, repo, workspace.GitRef)
	w.must(err)
}

func (w *world) close() {
	w.must(w.files.Close())
	w.must(os.RemoveAll(w.root))
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

// brittle is a file system that does not wait for the disk. From some operation on, every
// write fails until the file system is mended.
type brittle struct {
	store.FS
	left *atomic.Int64 // operations until writes fail; below 0: they don't
}

func (f brittle) broken() bool {
	for {
		n := f.left.Load()
		if n <= 0 {
			return n == 0
		}
		if f.left.CompareAndSwap(n, n-1) {
			return false
		}
	}
}

func (f brittle) SyncDir(string) error {
	if f.broken() {
		return syscall.EIO
	}
	return nil
}

func (f brittle) Rename(from, to string) error {
	if f.broken() {
		return syscall.EIO
	}
	return f.FS.Rename(from, to)
}

func (f brittle) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if flag != os.O_RDONLY && f.broken() {
		return nil, syscall.EIO
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return brittleFile{file, f}, nil
}

type brittleFile struct {
	store.File
	fs brittle
}

func (f brittleFile) Write(p []byte) (int, error) {
	if f.fs.broken() {
		return 0, syscall.EIO
	}
	return f.File.Write(p)
}

func (f brittleFile) Sync() error {
	if f.fs.broken() {
		return syscall.EIO
	}
	return nil
}

// scribe runs tasks that write their artifact. A task that fails writes a part of it.
type scribe struct{ w *world }

func (s scribe) Run(_ context.Context, task runner.Task, sink runner.Sink) (runner.Result, error) {
	sink.Started(os.Getpid())
	w, name := s.w, task.Command[1]
	done := runner.Result{Outcome: runner.Exited, Started: w.now, Ended: w.now}
	if task.Command[0] == "judge" {
		if w.rejects[name] {
			done.ExitCode = 1
		}
		return done, os.WriteFile(task.Log, nil, 0o600)
	}
	w.ran = append(w.ran, name)
	w.starts[name]++
	at := w.steps[slices.IndexFunc(w.steps, func(s step) bool { return s.name == name })]
	w.input[name] = w.read(at.input)
	text := fmt.Sprintf("%s, run %d of %q", name, w.starts[name], w.input[name])
	if w.fails[name] {
		text, done.ExitCode = "a part of "+name, 1
	} else {
		w.made[name] = append(w.made[name], text)
	}
	path := filepath.Join(w.dir, at.artifact())
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644), os.WriteFile(task.Log, nil, 0o600)); err != nil {
		return runner.Result{}, err
	}
	return done, nil
}

// read returns the content of a file, "" if there is none.
func (w *world) read(name string) string {
	if name == "" {
		return ""
	}
	return w.tree()[name]
}

// watching is the view of a build.
type watching struct {
	plan    func(*plan.Plan)
	durable func(state.Commit)
}

func (v watching) Begin(b runner.Beginning) { v.plan(b.Plan) }
func (v watching) Commit(c state.Commit)    { v.durable(c) }
func (v watching) Warn(string)              {}
func (v watching) Stop(runner.Stopping)     {}
func (v watching) Await(runner.Awaited)     {}
func (v watching) End(runner.Ending)        {}

// run runs a build, and returns how it ended.
func (w *world) run(conflict plan.OnConflict, planned func(*plan.Plan), durable func(state.Commit)) (ending runner.Ending) {
	file, diags := pipeline.Parse([]byte(w.source), filepath.Join(w.dir, "PRD-001.hcl"))
	if diags.HasErrors() {
		w.t.Fatal(diags)
	}
	p, diags := file.Pipeline(pipeline.Inputs{Workspace: w.dir})
	if diags.HasErrors() {
		w.t.Fatal(diags)
	}
	build := func(x *checkpoint.Session) (err error) {
		ending, err = runner.Build(w.ctx, runner.Options{
			Pipeline: p, Store: w.store, Session: x, Executor: scribe{w}, Workspace: w.dir, Files: w.files,
			Parallel: 1, Views: []runner.View{watching{planned, durable}}, OnConflict: conflict, Now: func() time.Time { return w.now },
		})
		return err
	}
	w.locked(func(x *checkpoint.Session) error {
		err := build(x)
		var edited *runner.ConflictError
		if errors.As(err, &edited) && edited.Rerun && conflict == plan.ConflictKeep && len(w.ran) == 0 {
			conflict = plan.ConflictRestore // an artifact that is made again can't be kept
			return build(x)
		}
		return err
	})
	return ending
}

// locked calls do with the locked session. Then it checks that the session's state equals
// that of the journal.
func (w *world) locked(do func(*checkpoint.Session) error) {
	x, err := w.store.Lock(w.ctx, "PRD-001", state.Actor{User: "tester"})
	w.must(err)
	if err := do(x); err != nil {
		w.t.Fatal(errors.Join(err, x.Close()))
	}
	_, err = x.Drain(w.ctx)
	w.must(err)
	if diff := cmp.Diff(asJSON(w.t, w.state()), asJSON(w.t, x.State())); diff != "" {
		w.t.Fatalf("the journal (-) and the session (+) differ:\n%s", diff)
	}
	w.must(x.Close())
}

// refused is like locked, for an operation that must fail.
func (w *world) refused(why error, do func(*checkpoint.Session) error) {
	x, err := w.store.Lock(w.ctx, "PRD-001", state.Actor{User: "tester"})
	w.must(err)
	if err := do(x); !errors.Is(err, why) {
		w.t.Fatalf("error %v, want %v", err, why)
	}
	w.must(x.Close())
}

func asJSON(t *rapid.T, v any) string {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// state returns the state, read anew from the journal.
func (w *world) state() *state.State {
	snap, err := w.store.Load("PRD-001")
	if errors.Is(err, checkpoint.ErrNoSession) {
		return nil
	}
	w.must(err)
	return snap.State
}

// tree reads the files that captures cover.
func (w *world) tree() files {
	all := files{}
	for _, dir := range []string{"src", "out"} {
		err := filepath.WalkDir(filepath.Join(w.dir, dir), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			if strings.HasPrefix(d.Name(), ".runner-restore-") {
				w.t.Fatalf("%s is left", path)
			}
			rel, err := filepath.Rel(w.dir, path)
			if err != nil {
				return err
			}
			if d.Type() == fs.ModeSymlink {
				all[rel], err = os.Readlink(path)
				all[rel] = "link " + all[rel]
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			all[rel] = info.Mode().String() + " " + string(data)
			return err
		})
		w.must(err)
	}
	return all
}

// remember adds the files and the state of a checkpoint to the model.
func (w *world) remember(id string, tree files) {
	file, err := w.store.ReadCheckpoint("PRD-001", id)
	if err != nil {
		w.t.Fatalf("read checkpoint %s when it was made: %v", id, err)
	}
	w.points[id] = &point{tree: tree, summary: summaryOf(file.State), state: file.State}
	w.valid[id] = true
}

func summaryOf(st *state.State) summary {
	s := summary{Steps: st.Steps, Phase: st.CurrentPhase, Status: map[string]state.StepStatus{}, Metrics: st.Metrics}
	for _, p := range st.Phases {
		s.Status["phase "+p.Name] = p.Status
		for _, ws := range p.Workstreams {
			s.Status[ws.Name] = ws.Status
			for _, g := range ws.Gates {
				s.Status[g.Label] = g.Status
			}
		}
	}
	return s
}

// invalidate applies a rollback to the points of the model: points after the target
// become invalid, and going back to an undo checkpoint makes those valid again that were
// valid before the rollback.
func (w *world) invalidate(to *point, is *state.State) {
	valid := w.valid
	if to.valid != nil {
		valid = maps.Clone(to.valid)
	}
	w.valid = map[string]bool{}
	for _, ref := range is.Checkpoints {
		w.valid[ref.ID] = ref.Trigger == state.TriggerPreRollback || valid[ref.ID] && ref.Seq <= to.state.Seq
	}
}

func (w *world) sameFiles(when string, want files) {
	if diff := cmp.Diff(want, w.tree()); diff != "" {
		w.t.Fatalf("after %s the files differ (-want +got):\n%s", when, diff)
	}
}

// sameSummary compares two summaries. A once step that was started after the checkpoint
// is uncertain, and a workstream that ran then no longer runs.
func (w *world) sameSummary(when string, got, want summary, is *state.State) {
	want.Status = maps.Clone(want.Status)
	for name, status := range want.Status {
		if ws := is.Workstream(name); ws != nil && ws.Once && got.Status[name] == state.Uncertain && (status == state.Running || w.starts[name] > 0 && status != state.Completed && status != state.Succeeded) {
			want.Status[name] = state.Uncertain
		} else if ws != nil && status == state.Running {
			want.Status[name] = state.Interrupted
		} else if is.Gate(name) != nil && status == state.Running {
			want.Status[name] = state.Pending
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Fatalf("after %s the state differs (-want +got):\n%s", when, diff)
	}
}

// artifactsOf compares the recorded artifacts of a state with the files.
func (w *world) artifactsOf(st *state.State) {
	tree := w.tree()
	for _, s := range w.steps {
		rec := st.Workstream(s.name)
		if rec.Status != state.Completed && rec.Status != state.Succeeded {
			continue
		}
		for _, a := range rec.Artifacts {
			_, text, _ := strings.Cut(tree[string(a.Path)], " ")
			if got := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))); got != a.Digest {
				w.t.Fatalf("%s is %q, but the state has another digest", a.Path, text)
			}
		}
	}
}

// judgeBuild checks that no done work ran again without a reason, that no work was left
// out, and that no once step ran twice.
func (w *world) judgeBuild(was, is *state.State, plan *plan.Plan, ending runner.Ending) {
	t := w.t
	again := map[string]bool{}
	for _, s := range w.steps {
		ran := slices.Contains(w.ran, s.name)
		rec := is.Workstream(s.name)
		if s.once && w.starts[s.name] > 1 {
			t.Fatalf("%s ran %d times", s.name, w.starts[s.name])
		}
		done := rec.Status == state.Completed
		if ending.Status == state.StatusComplete && !done {
			t.Fatalf("the session is complete, but %s is %s", s.name, rec.Status)
		}
		if was == nil {
			if done && !ran {
				t.Fatalf("%s is completed, but did not run", s.name)
			}
			continue
		}
		before := was.Workstream(s.name)
		if before.Status == state.Completed && ran && !w.hasReason(s, was, is, again, plan) {
			t.Fatalf("%s was completed, but ran again without a reason; the decision was %s", s.name, decided(plan, s.name))
		}
		open := []state.StepStatus{state.Pending, state.Failed, state.Interrupted}
		if slices.Contains(open, before.Status) && done && !ran {
			t.Fatalf("%s was %s and is completed, but did not run", s.name, before.Status)
		}
		again[s.name] = ran || w.meddled[s.name]
		if ran && done {
			for on, result := range rec.Digest.Results {
				w.results[result] = resultOf(is.Workstream(on))
			}
		}
		if before.WorkSeq != rec.WorkSeq {
			again[s.name] = true
		}
	}
	if ending.Status == state.StatusComplete {
		clear(w.meddled)
	}
}

// resultOf returns a text that identifies the result of a workstream.
func resultOf(rec *state.Workstream) string {
	return fmt.Sprint(rec.WorkSeq, rec.Artifacts)
}

// hasReason reports whether a completed workstream had to run again, because its input or
// the result of an upstream workstream changed.
func (w *world) hasReason(s step, was, is *state.State, again map[string]bool, planned *plan.Plan) bool {
	before := was.Workstream(s.name)
	if d := decided(planned, s.name); d != plan.Rerun && d != plan.Depends {
		return false
	}
	for _, a := range before.Artifacts { // the artifact shows from which input it was made
		if text := fmt.Sprintf("%q", w.input[s.name]); string(a.Path) == s.artifact() && !w.madeOf(s.name, a.Digest, text) {
			return true
		}
	}
	// An earlier build may have been stopped after an upstream workstream changed and
	// before this one ran.
	based := func(on string) bool {
		result, known := before.Digest.Results[on]
		return known && w.results[result] != resultOf(was.Workstream(on))
	}
	kept := func(on string) bool { return resultOf(is.Workstream(on)) != resultOf(was.Workstream(on)) } // an edit, or a file from a rollback
	return slices.ContainsFunc(s.on, func(on string) bool { return again[on] || based(on) || kept(on) }) || len(before.Edited) > 0
}

// madeOf reports whether an artifact was made by a run with the given input.
func (w *world) madeOf(name, digest, input string) bool {
	return slices.ContainsFunc(w.made[name], func(text string) bool {
		return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) == digest && strings.HasSuffix(text, " of "+input)
	})
}

func decided(plan *plan.Plan, name string) plan.Decision {
	for _, p := range plan.Phases {
		for _, s := range p.Steps {
			if s.Name == name {
				return s.Decision
			}
		}
	}
	return ""
}

// check checks the invariants that hold after every step.
func (w *world) check(after string) {
	t, st := w.t, w.state()
	for _, ref := range st.Checkpoints {
		p := w.points[ref.ID]
		if p == nil {
			t.Fatalf("after %s there is a checkpoint %s that the model does not know", after, ref.ID)
		}
		if ref.Valid != w.valid[ref.ID] {
			t.Fatalf("after %s checkpoint %s (%s, step %d) is valid: %t, want %t\n%s", after, ref.ID, ref.Trigger, ref.Step, ref.Valid, w.valid[ref.ID], asJSON(t, st.Rollbacks))
		}
		file, err := w.store.ReadCheckpoint("PRD-001", ref.ID)
		if err != nil {
			t.Fatalf("after %s: %v", after, err)
		}
		if got, want := asJSON(t, file.State), asJSON(t, p.state); got != want {
			t.Fatalf("after %s checkpoint %s holds another state:\n%s", after, ref.ID, cmp.Diff(want, got))
		}
		l, _, err := checkpoint.FilesOf(w.ctx, w.files, file.State)
		w.must(err)
		missing, err := w.files.Contents().Missing(w.ctx, l.Entries, true)
		w.must(err)
		if len(missing) > 0 {
			t.Fatalf("after %s checkpoint %s lacks %v", after, ref.ID, missing)
		}
	}
	w.checkDerived(after, st)
	w.last = st
}

func (w *world) checkDerived(after string, st *state.State) {
	t := w.t
	if w.last != nil && w.last.Session == st.Session {
		for _, s := range w.steps {
			if a, b := w.last.Workstream(s.name).Attempts, st.Workstream(s.name).Attempts; b < a {
				t.Fatalf("after %s %s has %d attempts, and had %d", after, s.name, b, a)
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(w.dir, ".runner", "PRD-001.json"))
	w.must(err)
	doc, err := document.Decode(data)
	w.must(err)
	if err := errors.Join(doc.Validate(regexp.MustCompile(`PRD-\d{3,}`)), doc.Matches(st)); err != nil {
		t.Fatalf("after %s the document is invalid or does not match the state: %v\n%s", after, err, data)
	}
	beside, err := os.ReadFile(filepath.Join(w.root, "beside", "sentinel"))
	if names, _ := os.ReadDir(filepath.Join(w.root, "beside")); err != nil || string(beside) != "untouched" || len(names) != 1 {
		t.Fatalf("after %s a file beside the workspace has changed: %q, %v", after, beside, err)
	}
}

// move exports the session and imports it in an empty directory.
func (w *world) move() {
	was, ctx := w.state(), w.ctx
	var archive bytes.Buffer
	if _, err := transfer.Export(ctx, w.store, w.files, "PRD-001", transfer.ExportOptions{Out: &archive}); err != nil {
		w.t.Fatal(err)
	}
	w.must(w.files.Close())
	w.must(os.Rename(w.dir, w.dir+".gone"))
	w.moves++
	w.open(fmt.Sprint("moved", w.moves))
	came, err := transfer.OpenImport(ctx, w.store, &archive, "archive", bundle.Limits{})
	w.must(err)
	plan, err := came.PlanFiles(ctx, w.files)
	w.must(err)
	_, err = came.Place(ctx, state.Actor{}, transfer.PlaceOptions{Files: plan})
	w.must(errors.Join(err, came.Close()))
	if diff := cmp.Diff(asJSON(w.t, was), asJSON(w.t, w.state())); diff != "" {
		w.t.Fatalf("the imported state differs (-want +got):\n%s", diff)
	}
	_, err = transfer.RestoreImported(ctx, w.store, w.files, "PRD-001", plan, state.Actor{}, false)
	w.must(err)
}
