package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

func TestMain(m *testing.M) {
	helperProcess()
	// What is random is the same in every run, unless a flag says otherwise.
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// clock goes on by a millisecond whenever it is asked.
func clock() func() time.Time {
	at := time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Millisecond)
		return at
	}
}

var by = state.Actor{User: "ana", Host: "build-1", PID: 42}

// cashier is the pipeline of the examples: five workstreams, each with a gate.
func cashier() state.Shape {
	gates := []string{"schema-validation", "type-check", "lint", "type-check", "test-pass"}
	var shape state.Shape
	for i, title := range []string{"Database Layer", "Service Layer", "Route Handlers", "Hooks", "Tests"} {
		shape.Phases = append(shape.Phases, state.PhaseShape{
			Name: fmt.Sprintf("phase-%d", i+1),
			Workstreams: []state.WorkstreamShape{{
				Name: fmt.Sprintf("WS%d", i+1), Title: title, Batch: 1, Gates: []string{gates[i]},
			}},
		})
	}
	return shape
}

func started(session string, shape state.Shape) state.SessionStarted {
	return state.SessionStarted{
		FormatVersion: state.FormatVersion, Session: session, PRD: "PRD-009", Title: "Cashier Workflows",
		Pipeline: state.FileRef{Path: "PRD-009.hcl", Digest: "sha256:ab"}, Shape: shape, By: by, Version: "test",
	}
}

// work are the events of a workstream that does its work.
func work(name, gate string, paths ...string) []state.Event {
	w := state.Work{Attempt: 1, DurationMS: 5, Digest: state.Digest{Definition: "sha256:d"}}
	for _, p := range paths {
		w.Artifacts = append(w.Artifacts, state.Artifact{Path: state.Text(p), Size: 3, Mode: 0o644, Digest: "sha256:" + p})
	}
	label := gate + " (" + name + ")"
	return []state.Event{
		state.WorkstreamStarted{Workstream: name, Attempt: 1},
		state.WorkstreamSucceeded{Workstream: name, Work: w},
		state.GateStarted{Gate: label},
		state.GatePassed{Verdict: state.Verdict{Gate: label, Definition: "sha256:g", Judged: "sha256:j"}},
		state.WorkstreamCompleted{Workstream: name},
	}
}

// fixture is a store on some file system.
type fixture struct {
	t   testing.TB
	fs  store.FS
	dir string
	o   Options
}

func inMemory(t testing.TB) *fixture { return on(t, store.NewMemory(), "/ws/.runner") }

// eachForm runs a test in memory with checkpoint files that are compressed, and
// with ones that are not.
func eachForm(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	for name, compress := range map[string]bool{"plain": false, "compressed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.compress(compress)
			test(t, f)
		})
	}
}

// compress says whether what is written from now on is compressed.
func (f *fixture) compress(on bool) {
	f.o.Policy = DefaultPolicy()
	f.o.Policy.Compress = on
}

func onDisk(t testing.TB) *fixture {
	return on(t, store.OS(), filepath.Join(t.TempDir(), ".runner"))
}

func on(t testing.TB, fsys store.FS, dir string) *fixture {
	return &fixture{t: t, fs: fsys, dir: dir, o: Options{
		FS: fsys, Now: clock(), Version: "test", RescueDir: filepath.Join(filepath.Dir(dir), "rescue"),
	}}
}

func (f *fixture) open() *Store {
	f.t.Helper()
	s, err := OpenStore(f.dir, f.o)
	must(f.t, err)
	return s
}

func (f *fixture) lock() *Session {
	f.t.Helper()
	x, err := f.open().Lock(context.Background(), "PRD-009", by)
	must(f.t, err)
	return x
}

// run starts a session and does the first two workstreams, each boundary a
// commit of its own.
func (f *fixture) run() *Session {
	f.t.Helper()
	x := f.lock()
	must(f.t, x.Start(started("S1", cashier())))
	commit(f.t, x, state.PhaseStarted{Phase: "phase-1"})
	for _, e := range work("WS1", "schema-validation", "a.sql", "b.ts") {
		commit(f.t, x, e)
	}
	commit(f.t, x, state.PhaseCompleted{Phase: "phase-1"})
	commit(f.t, x, state.PhaseStarted{Phase: "phase-2"})
	return x
}

func (f *fixture) read(name string) []byte {
	f.t.Helper()
	data, err := store.ReadFile(f.fs, filepath.Join(f.dir, name))
	must(f.t, err)
	return data
}

func (f *fixture) write(name string, data []byte) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	must(f.t, store.MkdirAll(f.fs, filepath.Dir(path)))
	must(f.t, store.WriteFile(f.fs, path, data))
}

func (f *fixture) checkpoints() disk.CheckpointDir {
	f.t.Helper()
	s := f.open()
	return s.layout.CheckpointsIn(s.layout.PRDDir("PRD-009"))
}

// filesOf are the files of a checkpoint.
func (f *fixture) filesOf(id string) []string {
	f.t.Helper()
	paths, err := f.checkpoints().Paths(id)
	must(f.t, err)
	return paths
}

// checkpointFile names the file of a checkpoint within the state directory.
func (f *fixture) checkpointFile(id string) string {
	f.t.Helper()
	return "PRD-009/checkpoints/" + filepath.Base(f.checkpoints().FilePath(id))
}

// kill ends a session as SIGKILL would: its locks go, nothing else happens.
func kill(t testing.TB, x *Session) {
	t.Helper()
	must(t, x.Abort())
}

func commit(t testing.TB, x *Session, events ...state.Event) []state.Commit {
	t.Helper()
	x.Add(events...)
	commits, err := x.Drain(context.Background())
	must(t, err)
	return commits
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same compares states, or anything else, by their JSON.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	g, err := json.MarshalIndent(got, "", " ")
	must(t, err)
	w, err := json.MarshalIndent(want, "", " ")
	must(t, err)
	if !bytes.Equal(g, w) {
		t.Fatalf("%s: got\n%s\nwant\n%s", what, g, w)
	}
}

// digestText is the name of the object that holds a text.
func digestText(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

// wide is a pipeline of one phase with n workstreams.
func wide(n int) state.Shape {
	p := state.PhaseShape{Name: "all"}
	for i := range n {
		p.Workstreams = append(p.Workstreams, state.WorkstreamShape{Name: fmt.Sprintf("w%d", i), Batch: 1})
	}
	return state.Shape{Phases: []state.PhaseShape{p}}
}

func seqOf(s *state.State) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s %d", s.Session, s.Seq)
}
