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

// desk is a workspace in which tests run the real binary as users do. The scripts of its
// pipelines append a word to the file ran, so that a test sees which scripts have run.
type desk struct {
	t      *testing.T
	dir    string
	source string // the source of the pipeline, as last passed to the method pipeline
	out    string // the output of the last command, both streams
}

// newDesk returns a new workspace with this pipeline.
func newDesk(t *testing.T, source string) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir()}
	d.pipeline(source)
	return d
}

// pipeline writes PRD-001.hcl. The source is the content of the pipeline block. If the
// source has a line "---", the text before that line goes before the block.
func (d *desk) pipeline(source string) {
	d.t.Helper()
	d.source = source
	before, inside, ok := strings.Cut(source, "---\n")
	if !ok {
		before, inside = "", source
	}
	d.write("PRD-001.hcl", before+"pipeline \"PRD-001\" {\n"+inside+"\n}\n")
}

// runs runs a command and checks its exit code.
func (d *desk) runs(want int, args ...string) {
	d.t.Helper()
	d.runsWith(nil, want, args...)
}

// runsWith is runs with more variables in the environment.
func (d *desk) runsWith(env []string, want int, args ...string) {
	d.t.Helper()
	d.exits(env, []int{want}, args...)
}

// exits is runsWith for commands whose exit code depends on timing: any of wants is fine.
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

// build runs the pipeline with --resume and these arguments, and checks the exit code.
func (d *desk) build(want int, args ...string) {
	d.t.Helper()
	d.runs(want, append([]string{"build", "PRD-001", "--resume"}, args...)...)
}

// start starts a build and returns once the file exists. The build runs on meanwhile.
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

// await waits until happened returns true.
func (d *desk) await(happened func() bool) {
	d.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !happened() {
		select {
		case <-tick.C:
		case <-late:
			d.t.Fatal("waited for a minute in vain")
		}
	}
}

// end sends a signal to a build that start started, and waits until the build has ended.
func (d *desk) end(cmd *exec.Cmd, with syscall.Signal) {
	d.t.Helper()
	if err := cmd.Process.Signal(with); err != nil {
		d.t.Fatal(err)
	}
	_ = cmd.Wait() // the build has been ended by a signal
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

// ran checks that the file ran has exactly these words, in any order, and removes the
// file.
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

// holds checks the content of a file, without white space around it.
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

// document returns the PRD document as it is on disk.
func (d *desk) document() progress {
	d.t.Helper()
	data, err := os.ReadFile(d.path(".runner/PRD-001.json"))
	if err != nil {
		d.t.Fatal(err)
	}
	var doc progress
	if err := json.Unmarshal(data, &doc); err != nil {
		d.t.Fatal(err)
	}
	return doc
}

// progress holds the fields of the PRD document that depend on workstreams and gates.
type progress struct {
	Status       string   `json:"status"`
	Completed    []string `json:"completed_workstreams"`
	Pending      []string `json:"pending_workstreams"`
	GatesPassed  []string `json:"gates_passed"`
	GatesPending []string `json:"gates_pending"`
}

// status returns the statuses in `runner status`: of workstreams by name, of gates by
// label, of phases by "phase " and name, and of the session by PRD-001.
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

// stands checks the status of a workstream, a gate, a phase or the session.
func (d *desk) stands(name, want string) {
	d.t.Helper()
	if got := d.status()[name]; got != want {
		d.t.Errorf("%s is %q, want %q", name, got, want)
	}
}
