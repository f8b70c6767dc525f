//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// desk is a workspace in which the real binary is run as people run it. Scripts
// append a word to the file "ran", so that a test can tell what has run.
type desk struct {
	t      *testing.T
	dir    string
	source string // of the pipeline, as it was given last
	out    string // of the last command, both streams
}

// newDesk makes a workspace whose pipeline holds the source.
func newDesk(t *testing.T, source string) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir()}
	d.pipeline(source)
	return d
}

// pipeline writes the pipeline anew. What stands before a line "---" stands
// before its block.
func (d *desk) pipeline(source string) {
	d.t.Helper()
	d.source = source
	before, inside, ok := strings.Cut(source, "---\n")
	if !ok {
		before, inside = "", source
	}
	d.write("PRD-001.hcl", before+"pipeline \"PRD-001\" {\n"+inside+"\n}\n")
}

// runs runs a command and holds it to its exit code.
func (d *desk) runs(want int, args ...string) {
	d.t.Helper()
	d.runsWith(nil, want, args...)
}

// runsWith is runs with additions to the environment.
func (d *desk) runsWith(env []string, want int, args ...string) {
	d.t.Helper()
	d.exits(env, []int{want}, args...)
}

// exits is runsWith where it depends on how fast it goes which code it is.
func (d *desk) exits(env []string, wants []int, args ...string) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "runner", args...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	d.out = string(out)
	if got := cmd.ProcessState.ExitCode(); !slices.Contains(wants, got) {
		d.t.Fatalf("runner %s: exit code %d instead of %d (%v)\n%s", strings.Join(args, " "), got, wants, err, out)
	}
}

// build runs the pipeline with --resume and what else is given.
func (d *desk) build(want int, args ...string) {
	d.t.Helper()
	d.runs(want, append([]string{"build", "PRD-001", "--resume"}, args...)...)
}

// start runs the pipeline beside the test, and returns once the file is there.
func (d *desk) start(until string, args ...string) *exec.Cmd {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "runner", append([]string{"build", "PRD-001"}, args...)...)
	cmd.Dir = d.dir
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.await(func() bool { _, err := os.Stat(d.path(until)); return err == nil })
	return cmd
}

// await waits until something has happened.
func (d *desk) await(happened func() bool) {
	d.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !happened() {
		select {
		case <-tick.C:
		case <-late:
			d.t.Fatal("it did not happen within a minute")
		}
	}
}

// end sends a signal to what start began, and waits for its end.
func (d *desk) end(cmd *exec.Cmd, with syscall.Signal) {
	d.t.Helper()
	if err := cmd.Process.Signal(with); err != nil {
		d.t.Fatal(err)
	}
	_ = cmd.Wait() // how it ends is what the test is about
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *desk) write(name, text string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) remove(name string) {
	d.t.Helper()
	if err := os.RemoveAll(d.path(name)); err != nil {
		d.t.Fatal(err)
	}
}

// ran holds what has run since it was last called to the given words, in any
// order.
func (d *desk) ran(want ...string) {
	d.t.Helper()
	text, err := os.ReadFile(d.path("ran"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.t.Fatal(err)
	}
	d.remove("ran")
	got := strings.Fields(string(text))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		d.t.Fatalf("ran %q, want %q; the last command said:\n%s", got, want, d.out)
	}
}

func (d *desk) holds(name, want string) {
	d.t.Helper()
	text, err := os.ReadFile(d.path(name))
	if err != nil {
		d.t.Fatal(err)
	}
	if got := strings.TrimSpace(string(text)); got != want {
		d.t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

// document is the PRD document as it is on disk.
func (d *desk) document() document {
	d.t.Helper()
	data, err := os.ReadFile(d.path(".runner/PRD-001.json"))
	if err != nil {
		d.t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		d.t.Fatal(err)
	}
	return doc
}

// document is as much of the PRD document as a verdict shows in.
type document struct {
	Status       string   `json:"status"`
	Completed    []string `json:"completed_workstreams"`
	Pending      []string `json:"pending_workstreams"`
	GatesPassed  []string `json:"gates_passed"`
	GatesPending []string `json:"gates_pending"`
}

// status is what `runner status` says of workstreams and gates, by name.
func (d *desk) status() map[string]string {
	d.t.Helper()
	d.runs(0, "status", "PRD-001", "--json")
	type gate struct{ Label, Status string }
	var st struct {
		Status string
		Phases []struct {
			Name, Status string
			Gates        []gate
			Workstreams  []struct {
				Name, Status string
				Gates        []gate
			}
		}
	}
	if err := json.Unmarshal([]byte(d.out), &st); err != nil {
		d.t.Fatalf("status: %v\n%s", err, d.out)
	}
	all := map[string]string{"PRD-001": st.Status}
	for _, p := range st.Phases {
		all["phase "+p.Name] = p.Status
		for _, g := range p.Gates {
			all[g.Label] = g.Status
		}
		for _, w := range p.Workstreams {
			all[w.Name] = w.Status
			for _, g := range w.Gates {
				all[g.Label] = g.Status
			}
		}
	}
	return all
}

// stands holds what a workstream, a gate, a phase or the session stands as.
func (d *desk) stands(name, want string) {
	d.t.Helper()
	if got := d.status()[name]; got != want {
		d.t.Errorf("%s is %q, want %q", name, got, want)
	}
}
