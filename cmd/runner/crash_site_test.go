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
	"time"
)

// crashSite is a directory in which one command is tried with many faults. Before each
// try, the directory is restored to the state in which the command starts.
//
//	w/     the workspace         kept/  a copy of w/ from before the command
//	home/  tmp/  out/            directories outside of w/; out/ is for archives
//	ran                          one line for each time that a workstream ran
type crashSite struct {
	t      *testing.T
	binary string
	dir    string
	op     crashOperation

	ops           []string // operations of the command without a fault: kind and file
	recorded      int      // how many events of the kind op.record there were before the command
	before, after looked   // what readers show before and after the command
	treeBefore    tree     // the workspace before the command
	tree          tree     // the workspace after the command
	origin        *origin  // set if the command may undo an unfinished operation
	fault, hit    string   // the fault that is tried, and the operation that it hit
	met           int      // how many faults were met
	ended         int      // how many of the met faults were signals that ended the command
	closely       bool     // after this fault every reader runs, and validate checks every byte
}

// ran is how a program ended.
type ran struct {
	code         int    // -1: killed
	stdout, told string // told is the standard error
}

// looked is what the readers show of a session. Readers are commands that change nothing.
type looked struct {
	codes [3]int // exit codes of status, checkpoint list and plan
	view  string // as the method view returns it
}

// origin is the state before the unfinished operation that the command finishes or
// undoes.
type origin struct {
	view string
	tree tree
}

// newCrashSite makes a crashSite in memory if there is /dev/shm. That is enough for
// kills: what a killed process has written survives on any file system.
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

// prepare makes the situation in which the command starts, runs the command once without
// a fault and keeps the states before and after it.
func (s *crashSite) prepare() {
	s.t.Helper()
	s.op.prepare(s)
	s.command("cp", "-a", s.path("w"), s.path("kept"))
	s.dateObjects("kept", time.Now().Add(-time.Hour))
	s.command("cp", "-a", s.path("out"), s.path("kept-out"))
	if data, err := os.ReadFile(s.path("ran")); err == nil {
		s.must(os.WriteFile(s.path("kept-ran"), data, 0o600))
	}
	s.recorded = s.records()
	s.before, s.treeBefore = s.look("before the command"), readTree(s.t, s.path("w"))
	if r := s.run("", s.op.args...); r.code != s.op.code {
		s.failf("the command exits %d, want %d\n%s%s", r.code, s.op.code, r.stdout, r.told)
	}
	s.ops = s.logged()
	s.after = s.look("without a fault")
	s.tree = readTree(s.t, s.path("w"))
	s.checkOutcome("without a fault")
}

// reset restores the state in which the command starts.
func (s *crashSite) reset() {
	s.t.Helper()
	for _, name := range []string{"w", "out", "tmp", "ran", "cache"} {
		s.must(os.RemoveAll(s.path(name)))
	}
	s.must(os.Mkdir(s.path("tmp"), 0o755))
	s.command("cp", "-a", s.path("kept"), s.path("w"))
	s.dateObjects("w", time.Now())
	s.command("cp", "-a", s.path("kept-out"), s.path("out"))
	if data, err := os.ReadFile(s.path("kept-ran")); err == nil {
		s.must(os.WriteFile(s.path("ran"), data, 0o600))
	}
}

// dateObjects sets the times of the objects of git below a directory, and of the directories that hold them. Runner takes old
// ones for written, and does not sync them: after a quarter of an hour of tries, a command would have fewer operations than
// when it ran without a fault. So each try begins with young ones, and the copy that is kept has old ones, so that any try
// notices if it does not.
func (s *crashSite) dateObjects(of string, at time.Time) {
	s.t.Helper()
	s.must(filepath.WalkDir(s.path(of+"/.git/objects"), func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the workspace is in no repository
			return nil
		}
		return errors.Join(err, os.Chtimes(path, at, at))
	}))
}

// run runs the binary in the workspace. The failpoint may be empty.
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
	if cmd.ProcessState.ExitCode() == -1 { // what it had begun of git goes on alone
		awaitGit(s.t, s.binary, s.dir)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), told.String()}
}

func (s *crashSite) environ() []string {
	return []string{
		"GOGC=off", "PATH=" + os.Getenv("PATH"), "HOME=" + s.path("home"), "XDG_CACHE_HOME=" + s.path("cache"), "TMPDIR=" + s.path("tmp"), "USER=u",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@localhost", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@localhost",
	}
}

// exits runs the binary without a fault. The exit code must be one of codes.
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

// command runs a program other than Runner, which must succeed.
func (s *crashSite) command(name string, args ...string) {
	s.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = s.dir, s.environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// logged returns the operations of the last run, as kind and file.
func (s *crashSite) logged() (ops []string) {
	data, _ := os.ReadFile(s.path("ops")) // the file does not exist if nothing was changed
	for line := range strings.Lines(string(data)) {
		_, op, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		ops = append(ops, op)
	}
	return ops
}

// look runs the readers and checks that they change nothing. Without s.closely it only
// calls glance, and takes over the exit code of plan from before the command.
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
		s.failf("%s: a reader changed something: %s", when, tree(now).diff(tree(was)))
	}
	return l
}

// glance runs status and, if s.closely is set or checkpoints are compared, checkpoint
// list. It does not run plan, the slowest reader.
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

// endedByItself checks that a reader was not killed and did not panic.
func (s *crashSite) endedByItself(when string, r ran) {
	s.t.Helper()
	if r.code < 0 || strings.Contains(r.told, "goroutine ") {
		s.failf("%s: a reader was killed or panicked\n%s", when, r.told)
	}
}

// view returns what is compared of a session: the states of its phases, workstreams and
// gates and, for a command that is no build, its checkpoints, without times and ids.
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
		s.failf("the readers print no valid JSON: %v\n%s%s", err, status, list)
	}
	v := fmt.Sprintln(st.Status, st.Phases, st.Uncertain)
	if s.op.runs {
		return v // a resumed build makes other checkpoints than a build without a fault
	}
	for _, c := range cps.Checkpoints {
		if c.Trigger != "manual" && c.Trigger != "pre_rollback" { // a repeated command makes more of these
			v += fmt.Sprintln(c.Trigger, c.Step, c.Valid, c.Pinned)
		}
	}
	return v
}

// everything returns a description of each file below a directory, by path.
func (s *crashSite) everything(name string) map[string]string {
	s.t.Helper()
	all, err := describeTree(s.path(name), func(fs.FileInfo) string { return "" })
	s.must(err)
	return all
}

// failf fails the test, and says which fault was tried and how to try that fault again.
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
