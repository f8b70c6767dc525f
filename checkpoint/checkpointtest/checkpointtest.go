// Package checkpointtest has fixtures for tests of package checkpoint and of the
// operations on checkpoints. A Fixture is a store without a workspace, a Project has a
// workspace, and a GitProject has one in a git repository. Only tests import the
// package.
package checkpointtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/inventory"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// Clock returns a clock that advances by a millisecond at each call. It is for one
// goroutine.
func Clock() func() time.Time {
	at := time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Millisecond)
		return at
	}
}

// By is the actor of all events.
var By = state.Actor{User: "ana", Host: "build-1", PID: 42}

// Cashier is the pipeline of the examples: five workstreams, each with a gate.
func Cashier() state.Shape {
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

// Started returns the event that starts a session of PRD-009.
func Started(session string, shape state.Shape) state.SessionStarted {
	return state.SessionStarted{
		FormatVersion: state.FormatVersion, Session: session, PRD: "PRD-009", Title: "Cashier Workflows",
		Pipeline: state.FileRef{Path: "PRD-009.hcl", Digest: "sha256:ab"}, Shape: shape, By: By, Version: "test",
	}
}

// Work returns the events of a workstream that succeeds at its first attempt and passes
// a gate.
func Work(name, gate string, paths ...string) []state.Event {
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

// Fixture opens a store in a state directory.
type Fixture struct {
	T       testing.TB
	FS      store.FS
	Dir     string // the state directory
	Options checkpoint.Options
}

// InMemory returns a store in memory.
func InMemory(t testing.TB) *Fixture { return On(t, store.NewMemory(), "/ws/.runner") }

// Compress sets whether checkpoint files are compressed from now on.
func (f *Fixture) Compress(on bool) {
	f.Options.Policy = checkpoint.DefaultPolicy()
	f.Options.Policy.Compress = on
}

// On returns a store in a directory of a file system.
func On(t testing.TB, fsys store.FS, dir string) *Fixture {
	return &Fixture{T: t, FS: fsys, Dir: dir, Options: checkpoint.Options{
		FS: fsys, Now: Clock(), Version: "test", RescueDir: filepath.Join(filepath.Dir(dir), "rescue"),
	}}
}

// Open opens the store.
func (f *Fixture) Open() *checkpoint.Store {
	f.T.Helper()
	s, err := checkpoint.OpenStore(f.Dir, f.Options)
	Must(f.T, err)
	return s
}

// Lock locks PRD-009.
func (f *Fixture) Lock() *checkpoint.Session {
	f.T.Helper()
	x, err := f.Open().Lock(context.Background(), "PRD-009", By)
	Must(f.T, err)
	return x
}

// Run starts a session of [Cashier] and completes the first workstream, with a commit for
// each boundary.
func (f *Fixture) Run() *checkpoint.Session {
	f.T.Helper()
	x := f.Lock()
	Must(f.T, x.Start(Started("S1", Cashier())))
	Commit(f.T, x, state.PhaseStarted{Phase: "phase-1"})
	for _, e := range Work("WS1", "schema-validation", "a.sql", "b.ts") {
		Commit(f.T, x, e)
	}
	Commit(f.T, x, state.PhaseCompleted{Phase: "phase-1"})
	Commit(f.T, x, state.PhaseStarted{Phase: "phase-2"})
	return x
}

// Read reads a file of the state directory.
func (f *Fixture) Read(name string) []byte {
	f.T.Helper()
	data, err := store.ReadFile(f.FS, filepath.Join(f.Dir, name))
	Must(f.T, err)
	return data
}

// Write writes a file of the state directory.
func (f *Fixture) Write(name string, data []byte) {
	f.T.Helper()
	path := filepath.Join(f.Dir, name)
	Must(f.T, store.MkdirAll(f.FS, filepath.Dir(path)))
	Must(f.T, store.WriteFile(f.FS, path, data))
}

// Checkpoints returns the directory of the checkpoint files of PRD-009.
func (f *Fixture) Checkpoints() disk.CheckpointDir {
	f.T.Helper()
	s := f.Open()
	return s.Layout().CheckpointsIn(s.Layout().PRDDir("PRD-009"))
}

// FilesOf returns the paths of the files of a checkpoint.
func (f *Fixture) FilesOf(id string) []string {
	f.T.Helper()
	paths, err := f.Checkpoints().Paths(id)
	Must(f.T, err)
	return paths
}

// Kill ends a session as SIGKILL would: it releases the locks and writes nothing.
func Kill(t testing.TB, x *checkpoint.Session) {
	t.Helper()
	Must(t, x.Abort())
}

// Commit adds events, writes them to the journal and returns their commits.
func Commit(t testing.TB, x *checkpoint.Session, events ...state.Event) []state.Commit {
	t.Helper()
	x.Add(events...)
	commits, err := x.Drain(context.Background())
	Must(t, err)
	return commits
}

// Must fails the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Same fails the test if the JSON of two values differs.
func Same(t testing.TB, what string, got, want any) {
	t.Helper()
	g, err := json.MarshalIndent(got, "", " ")
	Must(t, err)
	w, err := json.MarshalIndent(want, "", " ")
	Must(t, err)
	if !bytes.Equal(g, w) {
		t.Fatalf("%s: got\n%s\nwant\n%s", what, g, w)
	}
}

// DigestText returns the digest of a text.
func DigestText(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

// Wide returns a pipeline of one phase with n workstreams, w0 to w(n-1).
func Wide(n int) state.Shape {
	p := state.PhaseShape{Name: "all"}
	for i := range n {
		p.Workstreams = append(p.Workstreams, state.WorkstreamShape{Name: fmt.Sprintf("w%d", i), Batch: 1})
	}
	return state.Shape{Phases: []state.PhaseShape{p}}
}

// SeqOf returns the session and the sequence number of a state, or "" for nil.
func SeqOf(s *state.State) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s %d", s.Session, s.Seq)
}

// Put stores an object, and returns the artifact that has its bytes.
func Put(t testing.TB, s *checkpoint.Store, path, content string) state.Artifact {
	t.Helper()
	batch := s.Objects().Begin()
	ref, err := batch.Put(context.Background(), []byte(content))
	Must(t, err)
	Must(t, batch.Commit(context.Background()))
	return state.Artifact{Path: state.Text(path), Size: ref.Size, Mode: 0o644, Digest: ref.Digest}
}

// Produce completes another attempt of a workstream of [Wide].
func Produce(t testing.TB, x *checkpoint.Session, name string, artifacts ...state.Artifact) {
	t.Helper()
	attempt := x.State().Workstream(name).Attempts + 1
	Commit(t, x,
		state.WorkstreamStarted{Workstream: name, Attempt: attempt},
		state.WorkstreamCompleted{Workstream: name, Work: &state.Work{Attempt: attempt, DurationMS: 3, Artifacts: artifacts}})
}

// Mark makes a checkpoint and writes its file.
func Mark(t testing.TB, x *checkpoint.Session, trigger state.Trigger) string {
	t.Helper()
	id, made := x.Checkpoint(trigger, "", nil)
	if !made {
		t.Fatalf("no checkpoint for %s", trigger)
	}
	Commit(t, x)
	Must(t, x.WriteDerived(context.Background()))
	return id
}

// LockPRD locks a PRD.
func LockPRD(t testing.TB, s *checkpoint.Store, prd string) *checkpoint.Session {
	t.Helper()
	x, err := s.Lock(context.Background(), prd, By)
	Must(t, err)
	return x
}

// StartedOf returns the event that starts a session with the pipeline [Wide].
func StartedOf(prd, session string, n int) state.SessionStarted {
	e := Started(session, Wide(n))
	e.PRD = prd
	return e
}

// Tick is a clock that advances at each call and can be moved. It is safe for concurrent
// use.
type Tick struct {
	mu sync.Mutex
	at time.Time
}

// Now returns the time, a millisecond later at each call.
func (c *Tick) Now() time.Time { return c.Move(time.Millisecond) }

// Move advances the clock.
func (c *Tick) Move(by time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
	return c.at
}

// NewTick returns a Tick.
func NewTick() *Tick { return &Tick{at: time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)} }

// Has returns a digit for each artifact: 1 if its object exists, otherwise 0.
func Has(t testing.TB, s *checkpoint.Store, artifacts ...state.Artifact) string {
	t.Helper()
	var b strings.Builder
	for _, a := range artifacts {
		there, err := s.Objects().Has(a.Digest)
		Must(t, err)
		if there {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}

// NeedsWhole fails the test if an object is missing that the state or a checkpoint needs.
func NeedsWhole(t testing.TB, s *checkpoint.Store, prd string) {
	t.Helper()
	if lacking := LackingIn(t, s, prd); lacking != "" {
		t.Fatal(lacking)
	}
}

// LackingIn describes an object that the state or a checkpoint needs and that is missing.
// It returns "" if there is none.
func LackingIn(t testing.TB, s *checkpoint.Store, prd string) string {
	t.Helper()
	snap, err := s.Load(prd)
	if errors.Is(err, checkpoint.ErrNoSession) {
		return ""
	}
	Must(t, err)
	if missing := MissingOf(t, s, snap.State); missing != "" {
		return fmt.Sprintf("%s: its state has no %s", prd, missing)
	}
	for _, ref := range snap.State.Checkpoints {
		f, err := s.ReadCheckpoint(prd, ref.ID)
		Must(t, err)
		if missing := MissingOf(t, s, f.State); missing != "" {
			return fmt.Sprintf("%s: checkpoint %s has no %s", prd, ref.ID, missing)
		}
	}
	return ""
}

// MissingOf returns the digest of an object that a state needs and that is missing, or ""
// if there is none.
func MissingOf(t testing.TB, s *checkpoint.Store, state *state.State) string {
	t.Helper()
	for digest := range DigestsOf(t, s, state) {
		if there, err := s.Objects().Has(digest); err != nil || !there {
			return digest
		}
	}
	return ""
}

// DigestsOf returns the digests of the artifacts, files and listings of a state.
func DigestsOf(t testing.TB, s *checkpoint.Store, current *state.State) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for w := range current.Records() {
		if max(w.WorkSeq, w.FilesSeq) <= current.EmptiedSeq { // their objects were removed
			continue
		}
		for _, a := range w.Artifacts {
			all[a.Digest] = true
		}
	}
	for _, c := range []*state.Capture{current.Capture, current.RunCapture} {
		if c == nil {
			continue
		}
		all[c.Listing] = true
		l, err := workspace.ReadListing(context.Background(), s.Objects().Get, c.Listing)
		Must(t, err)
		for _, e := range l.Entries {
			if e.Digest != "" {
				all[e.Digest] = true
			}
		}
	}
	return all
}

// Everything returns the files and directories below a directory, with their modes, times
// and content.
func Everything(t testing.TB, fsys store.FS, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := fsys.ReadDir(dir)
	Must(t, err)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		Must(t, err)
		found[path] = info.Mode().String() + " " + info.ModTime().String()
		if e.IsDir() {
			for name, what := range Everything(t, fsys, path) {
				found[name] = what
			}
			continue
		}
		if info.Mode().IsRegular() {
			data, err := store.ReadFile(fsys, path)
			Must(t, err)
			found[path] += " " + string(data)
		}
	}
	return found
}

// IsThere reports whether a file exists.
func IsThere(t testing.TB, s *checkpoint.Store, path string) bool {
	t.Helper()
	there, err := store.Exists(s.Layout().FS, path)
	Must(t, err)
	return there
}

// EachForm runs a test in memory, once with compressed checkpoint files and once with
// plain ones.
func EachForm(t *testing.T, test func(t *testing.T, f *Fixture)) {
	t.Helper()
	for name, compress := range map[string]bool{"plain": false, "compressed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := InMemory(t)
			f.Compress(compress)
			test(t, f)
		})
	}
}

// OnDisk returns a store in a temporary directory.
func OnDisk(t testing.TB) *Fixture {
	return On(t, store.OS(), filepath.Join(t.TempDir(), ".runner"))
}

// CheckpointFile returns the name of a checkpoint's file within the state directory.
func (f *Fixture) CheckpointFile(id string) string {
	f.T.Helper()
	return "PRD-009/checkpoints/" + filepath.Base(f.Checkpoints().FilePath(id))
}

// Compact compacts the journal of PRD-009, however small, as the next owner does with one
// that has grown large.
func Compact(t testing.TB, s *checkpoint.Store) {
	t.Helper()
	u, err := s.LockUnopened(context.Background(), "PRD-009")
	Must(t, err)
	_, err = u.StartOver(By, func(*state.State) {})
	Must(t, err)
	x, err := u.Open(By)
	Must(t, err)
	Must(t, x.Close())
}

// SameSpans fails the test if what the owner of a session knows of the recorded artifacts
// differs from what the journals hold.
func SameSpans(t testing.TB, x *checkpoint.Session) {
	t.Helper()
	if x.Spans().Behind {
		return
	}
	_, err := x.Drain(context.Background())
	Must(t, err)
	r := &reader.Record{State: x.State(), SessionDir: disk.SessionDir{
		Dir: x.Store().Layout().PRDDir(x.PRD()), PRD: x.PRD(), Place: disk.PlaceCurrent,
	}}
	read := func(spans *journal.Spans) (ever, dropped map[string]int64) {
		all, needed, err := inventory.Recorded(context.Background(), x.Store(), r, spans)
		Must(t, err)
		ever = maps.Collect(all.All())
		dropped = maps.Clone(ever)
		maps.DeleteFunc(dropped, func(digest string, _ int64) bool { return needed.Needs(digest) })
		return ever, dropped
	}
	ever, dropped := read(x.Spans())
	wantEver, wantDropped := read(nil)
	if !maps.Equal(ever, wantEver) || !maps.Equal(dropped, wantDropped) {
		t.Fatalf("recorded: %s\ndropped: %s", cmp.Diff(wantEver, ever), cmp.Diff(wantDropped, dropped))
	}
}
