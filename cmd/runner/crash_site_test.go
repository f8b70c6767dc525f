//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// crashSite is where one command is tried: a workspace, which is put back to
// where the command begins before each try, and what is around it.
//
//	w/     the workspace         kept/  as it is before the command
//	home/  tmp/  out/            what is outside; out/ is for archives
//	ran                          a line for each time a workstream ran
type crashSite struct {
	t      *testing.T
	binary string
	dir    string
	op     crashOperation

	ops           []string // of the command, without a fault: kind and name
	recorded      int      // how much of what it is to put on record was there before
	before, after looked
	treeBefore    tree
	tree          tree // after the command
	origin        *origin
	fault, hit    string // what is tried, and the last operation it came to
	met           int    // crash points so far
	ended         int    // of these, where it ended because a signal asked it to
	closely       bool   // all readers look at it, and every byte is checked
}

// ran is how a program ended.
type ran struct {
	code         int // -1: killed
	stdout, told string
}

// looked is what commands that only look say of a session.
type looked struct {
	codes [3]int // of status, checkpoint list and plan
	view  string
}

// origin is where a session stood before what the command finishes was begun.
type origin struct {
	view string
	tree tree
}

// newCrashSite makes a site where files cost little: what a killed process
// wrote is there on any file system.
func newCrashSite(t *testing.T, binary string, op crashOperation) *crashSite {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "runner-crash-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &crashSite{t: t, binary: binary, dir: dir, op: op, fault: "none", closely: true}
	for _, name := range []string{"w", "home", "tmp", "out"} {
		s.must(os.Mkdir(s.path(name), 0o755))
	}
	return s
}

func (s *crashSite) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *crashSite) prd() string {
	if s.op.prd == "" {
		return "PRD-001"
	}
	return s.op.prd
}

// prepare makes what the command begins with, and remembers where it leads.
func (s *crashSite) prepare() {
	s.t.Helper()
	s.op.prepare(s)
	s.command("cp", "-a", s.path("w"), s.path("kept"))
	s.command("cp", "-a", s.path("out"), s.path("kept-out"))
	if data, err := os.ReadFile(s.path("ran")); err == nil {
		s.must(os.WriteFile(s.path("kept-ran"), data, 0o600))
	}
	s.recorded = s.records()
	s.before, s.treeBefore = s.look("before it"), readTree(s.t, s.path("w"))
	if r := s.run("", s.op.args...); r.code != s.op.code {
		s.failf("it exits %d, want %d\n%s%s", r.code, s.op.code, r.stdout, r.told)
	}
	s.ops = s.logged()
	s.after = s.look("without a fault")
	s.tree = readTree(s.t, s.path("w"))
	s.settled("without a fault")
}

// reset puts everything back to where the command begins.
func (s *crashSite) reset() {
	s.t.Helper()
	for _, name := range []string{"w", "out", "tmp", "ran"} {
		s.must(os.RemoveAll(s.path(name)))
	}
	s.must(os.Mkdir(s.path("tmp"), 0o755))
	s.command("cp", "-a", s.path("kept"), s.path("w"))
	s.command("cp", "-a", s.path("kept-out"), s.path("out"))
	if data, err := os.ReadFile(s.path("kept-ran")); err == nil {
		s.must(os.WriteFile(s.path("ran"), data, 0o600))
	}
}

// run runs the program, with a failpoint or without.
func (s *crashSite) run(failpoint string, args ...string) ran {
	s.t.Helper()
	s.must(os.RemoveAll(s.path("ops")))
	cmd := exec.Command(s.binary, args...)
	cmd.Dir = s.path("w")
	cmd.Env = append(s.environ(), "RUNNER_FAILPOINT_LOG="+s.path("ops"), "RUNNER_FAILPOINT="+failpoint)
	var stdout, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &told
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), told.String()}
}

func (s *crashSite) environ() []string {
	return []string{
		"GOGC=off", "PATH=" + os.Getenv("PATH"), "HOME=" + s.path("home"), "TMPDIR=" + s.path("tmp"), "USER=u",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@localhost", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@localhost",
	}
}

// exits runs the program without a fault, and holds it to one of some exit codes.
func (s *crashSite) exits(codes []int, args ...string) ran {
	s.t.Helper()
	r := s.run("", args...)
	for _, code := range codes {
		if r.code == code {
			return r
		}
	}
	s.failf("%v exits %d, want one of %v\n%s%s", args, r.code, codes, r.stdout, r.told)
	return r
}

// command runs another program.
func (s *crashSite) command(name string, args ...string) {
	s.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = s.dir, s.environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// logged returns the operations of the last run, kind and name.
func (s *crashSite) logged() (ops []string) {
	data, _ := os.ReadFile(s.path("ops")) // there is none if nothing was changed
	for line := range strings.Lines(string(data)) {
		_, op, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		ops = append(ops, op)
	}
	return ops
}

// look has those commands look that change nothing, and checks that they do
// not. Where it is not to look closely, a glance must do.
func (s *crashSite) look(when string) looked {
	s.t.Helper()
	if !s.closely {
		l := s.glance(when)
		l.codes[2] = s.before.codes[2]
		return l
	}
	was := s.everything("w")
	l := s.glance(when)
	plan := s.run("", "plan", s.prd(), "--resume")
	s.endedByItself(when, plan)
	l.codes[2] = plan.code
	if now := s.everything("w"); !maps.Equal(was, now) {
		s.failf("%s: looking changed something: %s", when, tree(now).diff(tree(was)))
	}
	return l
}

// glance is look without a plan, the dearest part, and where no checkpoint is
// compared without a list of them.
func (s *crashSite) glance(when string) (l looked) {
	s.t.Helper()
	status := s.run("", "status", s.prd(), "--json")
	s.endedByItself(when, status)
	list := ran{stdout: "{}", code: s.after.codes[1]}
	if s.closely || !s.op.runs {
		list = s.run("", "checkpoint", "list", s.prd(), "--json")
		s.endedByItself(when, list)
	}
	l.codes[0], l.codes[1] = status.code, list.code
	if status.code == 0 && list.code == 0 {
		l.view = s.view(status.stdout, list.stdout)
	}
	return l
}

func (s *crashSite) endedByItself(when string, r ran) {
	s.t.Helper()
	if r.code < 0 || strings.Contains(r.told, "goroutine ") {
		s.failf("%s a reader does not end by itself\n%s", when, r.told)
	}
}

// view is what is compared of a session: all but times and names.
func (s *crashSite) view(status, list string) string {
	s.t.Helper()
	type gate struct {
		Label  string `json:"label"`
		Status string `json:"status"`
	}
	var st struct {
		Status string `json:"status"`
		Phases []struct {
			Name        string `json:"name"`
			Status      string `json:"status"`
			Workstreams []struct {
				Name   string `json:"name"`
				Status string `json:"status"`
				Gates  []gate `json:"gates"`
			} `json:"workstreams"`
			Gates []gate `json:"gates"`
		} `json:"phases"`
		Uncertain []any `json:"uncertain"`
	}
	var cps struct {
		Checkpoints []struct {
			Trigger string `json:"trigger"`
			Step    int    `json:"step"`
			Valid   bool   `json:"valid"`
			Pinned  bool   `json:"pinned"`
		} `json:"checkpoints"`
	}
	if err := errors.Join(json.Unmarshal([]byte(status), &st), json.Unmarshal([]byte(list), &cps)); err != nil {
		s.failf("what is printed is no JSON: %v\n%s%s", err, status, list)
	}
	v := fmt.Sprintln(st.Status, st.Phases, st.Uncertain)
	if s.op.runs {
		return v // resuming makes other checkpoints than going on
	}
	for _, c := range cps.Checkpoints {
		if c.Trigger != "manual" && c.Trigger != "pre_rollback" { // these are made again
			v += fmt.Sprintln(c.Trigger, c.Step, c.Valid, c.Pinned)
		}
	}
	return v
}

// everything is what lies somewhere.
func (s *crashSite) everything(name string) map[string]string {
	s.t.Helper()
	all, err := standing(s.path(name), func(fs.FileInfo) string { return "" })
	s.must(err)
	return all
}

// failf says what was tried, and how to try it again.
func (s *crashSite) failf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s: runner %s with %s (at %q): %s\nagain: go test ./cmd/runner -run '^TestCrashPoints$/^%s$' -crash.at='%s'",
		s.op.name, strings.Join(s.op.args, " "), s.fault, s.hit, fmt.Sprintf(format, args...),
		strings.ReplaceAll(s.op.name, " ", "_"), s.fault)
}

func (s *crashSite) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
