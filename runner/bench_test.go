package runner_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/process"
)

func TestMain(m *testing.M) {
	// Random values are the same in every run, and fewer than in .ci/proof, unless flags say
	// otherwise.
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.checks": "25"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// bench is a workspace with a pipeline, in which real processes run. Scripts append a
// word to the file "ran", so that a test can see which workstreams have run.
type bench struct {
	t     *testing.T
	dir   string
	store *checkpoint.Store
	src   string
	vars  map[string]string

	commits []state.Commit
	warned  []string
	mend    func() // called with the first warning
	plan    *plan.Plan
}

// newBench makes a workspace. The source is the body of the pipeline block. Blocks
// outside of it, such as variables, locals and gates, come first, before a line "---".
func newBench(t *testing.T, src string) *bench {
	t.Helper()
	return newBenchOn(t, store.OS(), src)
}

// newBenchOn is like newBench, with the given file system for the state.
func newBenchOn(t *testing.T, fsys store.FS, src string) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), vars: map[string]string{}}
	b.rewrite(src)
	var err error
	o := checkpoint.Options{FS: fsys, RescueDir: t.TempDir()}
	if b.store, err = checkpoint.OpenStore(filepath.Join(b.dir, ".runner"), o); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) rewrite(src string) {
	before, inside, ok := strings.Cut(src, "---\n")
	if !ok {
		before, inside = "", src
	}
	b.src = before + "pipeline \"PRD-001\" {\n title = \"Test\"\n" + inside + "}\n"
}

func (b *bench) pipeline() *pipeline.Pipeline {
	b.t.Helper()
	file, diags := pipeline.Parse([]byte(b.src), filepath.Join(b.dir, "PRD-001.hcl"))
	if diags.HasErrors() {
		b.t.Fatal(diags)
	}
	in := pipeline.Inputs{Workspace: b.dir, Variables: map[string]pipeline.Input{}}
	for name, text := range b.vars {
		in.Variables[name] = pipeline.Input{Text: text, Origin: "--var"}
	}
	p, diags := file.Pipeline(in)
	if diags.HasErrors() {
		b.t.Fatal(diags)
	}
	return p
}

// build runs the pipeline, and resumes the session if there is one.
func (b *bench) build(with ...func(*runner.Options)) (runner.Ending, error) {
	b.t.Helper()
	exec, err := process.New(process.Options{BaseEnv: os.Environ()})
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() {
		if err := exec.Close(); err != nil {
			b.t.Error(err)
		}
	}()
	ctx := context.Background()
	session, err := b.store.Lock(ctx, "PRD-001", state.Actor{User: "tester"})
	if err != nil {
		b.t.Fatal(err)
	}
	b.commits, b.warned, b.plan = nil, nil, nil
	o := runner.Options{
		Pipeline: b.pipeline(), Store: b.store, Session: session, Executor: exec, Workspace: b.dir, Parallel: 4,
		Views: []runner.View{b}, By: state.Actor{User: "tester"},
	}
	for _, f := range with {
		f(&o)
	}
	ending, err := runner.Build(ctx, o)
	if cerr := session.Close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	return ending, err
}

// must runs a build and fails the test unless the session ends with the given status.
func (b *bench) must(status state.Status, with ...func(*runner.Options)) runner.Ending {
	b.t.Helper()
	e, err := b.build(with...)
	if err != nil {
		b.t.Fatal(err)
	}
	if e.Status != status {
		b.t.Fatalf("the session is %s, want %s; error %+v, pause %+v, warnings %q", e.Status, status, e.Error, e.Pause, b.warned)
	}
	return e
}

func (b *bench) Begin(begin runner.Beginning) { b.plan = begin.Plan }
func (b *bench) Commit(c state.Commit)        { b.commits = append(b.commits, c) }
func (b *bench) Stop(runner.Stopping)         {}
func (b *bench) Await(runner.Awaited)         {}

func (b *bench) Warn(message string) {
	if b.warned = append(b.warned, message); b.mend != nil && len(b.warned) == 1 {
		b.mend()
	}
}
func (b *bench) End(runner.Ending)       {}
func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) write(name, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) remove(name string) {
	b.t.Helper()
	if err := os.Remove(b.path(name)); err != nil {
		b.t.Fatal(err)
	}
}

// ran returns the words that workstreams have appended to the file "ran" since the last
// call, and empties the file.
func (b *bench) ran() []string {
	b.t.Helper()
	text, err := os.ReadFile(b.path("ran"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.remove("ran")
	return strings.Fields(string(text))
}

func (b *bench) wantRan(want ...string) {
	b.t.Helper()
	got := b.ran()
	if !slices.Equal(got, want) {
		b.t.Fatalf("ran %q, want %q", got, want)
	}
}

// wantRanSet is like wantRan, but ignores the order.
func (b *bench) wantRanSet(want ...string) {
	b.t.Helper()
	got := b.ran()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		b.t.Fatalf("ran %q, want %q", got, want)
	}
}

func (b *bench) state() *state.State {
	b.t.Helper()
	snap, err := b.store.Load("PRD-001")
	if err != nil {
		b.t.Fatal(err)
	}
	return snap.State
}

// decision returns the decision about a step in the plan of the last build.
func (b *bench) decision(name string) plan.Decision {
	b.t.Helper()
	for _, p := range b.plan.Phases {
		for _, s := range p.Steps {
			if s.Name == name {
				return s.Decision
			}
		}
	}
	b.t.Fatalf("no step %q in the plan", name)
	return ""
}
