package main

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDoctor runs doctor in each situation of a session. It must name what is wrong and what
// to type, and leave all files as they are.
func TestDoctor(t *testing.T) {
	t.Parallel()
	finds := map[string]struct {
		code  int
		texts []string
	}{
		"killed":               {0, []string{"warning    session PRD-001: its runner was killed; the lock is free, and no process is left", "→ `runner build PRD-001 --resume` goes on"}},
		"rolled back half-way": {5, []string{"problem    session PRD-001: a rollback to CP-", "→ `runner build PRD-001 --resume` finishes it"}},
		"damaged":              {5, []string{"problem    session PRD-001: ", "→ `runner checkpoint validate PRD-001` shows the damage"}},
		"no session":           {0, []string{"ok         sessions: there are none yet", "Nothing is wrong."}},
		"running":              {0, []string{"ok         session PRD-001: running (pid "}},
		"complete":             {0, []string{"ok         session PRD-001: complete"}},
		"failed":               {0, []string{"ok         session PRD-001: failed"}},
		"waiting":              {0, []string{"ok         session PRD-001: paused"}},
		"written by hand":      {0, []string{"ok         session PRD-001: a document that was written by hand"}},
		"failed in a git work tree": {0, []string{
			"ok         git: version ", ", branch ", "ok         session PRD-001: failed"}},
	}
	all := situations()
	for name, want := range finds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepared(t, all[name])
			files, before := p.files(), p.describeTree()["ws"]
			out := p.run(want.code, "doctor")
			if name == "no session" && p.describeTree()["ws"] != before {
				t.Error("doctor wrote in a workspace that has no state directory")
			}
			for _, text := range want.texts {
				if !strings.Contains(out, text) {
					t.Errorf("no %q in\n%s", text, out)
				}
			}
			if diff := cmp.Diff(files, p.files()); diff != "" && name != "running" && name != "killed" {
				t.Errorf("doctor left or changed files:\n%s", diff)
			}
			checkDoctorJSON(t, p, want.code)
		})
	}
}

// files returns the paths of the place.
func (p *place) files() []string {
	p.t.Helper()
	all, err := describeTree(p.root, func(fs.FileInfo) string { return "" })
	if err != nil {
		p.t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(all))
}

func checkDoctorJSON(t *testing.T, p *place, code int) {
	t.Helper()
	var report struct {
		FormatVersion string `json:"format_version"`
		Problems      int    `json:"problems"`
		Checks        []struct{ Name, Level, Detail, Next string }
	}
	out := p.run(code, "doctor", "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	problems := 0
	for _, c := range report.Checks {
		if c.Level == "problem" {
			problems++
		}
		if c.Level != "ok" && c.Next == "" || c.Name == "" || c.Detail == "" {
			t.Errorf("a finding says too little: %+v", c)
		}
	}
	if report.FormatVersion == "" || report.Problems != problems || (problems > 0) != (code != 0) {
		t.Errorf("%d problems counted, %d found, exit code %d", report.Problems, problems, code)
	}
}

// TestDoctorProblems makes one thing after the other wrong.
func TestDoctorProblems(t *testing.T) {
	t.Parallel()
	inGit := func(p *place) {
		p.git("init", "-q", "-b", "main")
		p.git("add", ".")
		p.git("commit", "-q", "-m", "one")
	}
	for name, test := range map[string]struct {
		breakIt func(t *testing.T, p *place)
		args    []string
		code    int
		want    []string
	}{
		"an unknown key": {func(_ *testing.T, p *place) { p.write("runner.yaml", "paralle: 1\n") }, nil, 2,
			[]string{"problem    configuration: ", "parallel", "→ `runner config --defaults` lists every key", "1 problem, 0 warnings."}},
		"a state directory that cannot be made": {func(_ *testing.T, p *place) {
			p.write("runner.yaml", "checkpoint: { storage: { location: runner.yaml/state } }\n")
		}, nil, 5, []string{"problem    state directory: "}},
		"everybody may write": {func(t *testing.T, p *place) {
			p.failed()
			if err := os.Chmod(filepath.Join(p.ws, ".runner"), 0o777); err != nil {
				t.Fatal(err)
			}
		}, nil, 5, []string{"problem    state directory: ", "chmod o-w"}},
		"a file of another user": {func(t *testing.T, p *place) {
			if os.Getuid() != 0 {
				t.Skip("only root can give files away")
			}
			p.failed()
			if err := os.Chown(filepath.Join(p.ws, ".runner", "PRD-001", "journal.jsonl"), 65534, -1); err != nil {
				t.Fatal(err)
			}
		}, nil, 5, []string{"problem    state directory: .runner/PRD-001/journal.jsonl belongs to another user", "→ as root, `chown -R "}},
		"no directory for temporary files": {func(_ *testing.T, p *place) { p.environ = append(p.environ, "TMPDIR="+p.ws+"/none") }, nil, 5,
			[]string{"problem    temporary files: ", "→ set TMPDIR"}},
		"a lock of git": {func(_ *testing.T, p *place) {
			inGit(p)
			p.write(".git/index.lock", "")
		}, nil, 0, []string{"warning    git: git's lock ", "→ wait for that command to end; where no git is at work: `rm "}},
		"a merge": {func(_ *testing.T, p *place) {
			inGit(p)
			p.write(".git/MERGE_HEAD", "")
		}, nil, 0, []string{"warning    git: a merge is in progress"}},
		"a merge, where checkpoints are committed": {func(_ *testing.T, p *place) {
			inGit(p)
			p.write("runner.yaml", "checkpoint: { git: { mode: commit } }\n")
			p.write(".git/MERGE_HEAD", "")
		}, nil, 5, []string{"problem    git: a merge is in progress", "--abort"}},
		"no git": {func(_ *testing.T, p *place) {
			inGit(p)
			p.environ = append(p.environ, "PATH="+filepath.Join(p.root, "home"))
		}, nil, 5, []string{"problem    git: the workspace is in a git work tree, and git is not found in PATH"}},
		"state that git tracks": {func(_ *testing.T, p *place) {
			p.git("init", "-q", "-b", "main")
			p.failed()
			p.git("add", "-f", ".runner")
			p.git("commit", "-q", "-m", "one")
		}, nil, 5, []string{"problem    session PRD-001: ", "`runner checkpoint import --adopt PRD-001` takes it over"}},
		"a state directory for each PRD": {func(_ *testing.T, p *place) {
			p.write("runner.yaml", "checkpoint: { storage: { location: \"state/{prd}\" } }\n")
		}, nil, 0, []string{"unchecked  state directory: each PRD has a state directory of its own", "→ `runner doctor PRD`"}},
		"that of a PRD": {func(_ *testing.T, p *place) {
			p.write("runner.yaml", "checkpoint: { storage: { location: \"state/{prd}\" } }\n")
		}, []string{"PRD-001"}, 0, []string{"ok         state directory: state/PRD-001 is made by the first build"}},
		"processes of a dead runner": {func(t *testing.T, p *place) {
			p.write("PRD-001.hcl", `pipeline "PRD-001" {
  phase "one" {
    workstream "make" { script = "sleep 600 & echo > begun; wait" }
  }
}
`)
			cmd := p.command("runner", "build", "PRD-001")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			p.until("the workstream has begun", func() bool { return p.exists("begun") })
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()     // it was killed
			t.Cleanup(func() { // the context of the test is over by then
				end := exec.Command("runner", "abandon", "PRD-001", "--yes")
				end.Dir, end.Env = p.ws, p.environ
				if out, err := end.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}, nil, 0, []string{"warning    session PRD-001: processes of a runner that has ended still run: pid ", "→ `runner build PRD-001 --resume` ends them first"}},
		"a rescue copy": {func(t *testing.T, p *place) {
			p.ws = unfinished(t)
			write(t, p.ws, "ok")
			run(t, p.ws, 0, "build", "PRD-001", "--resume")
			rescueRollback(t, p.ws, filepath.Join(p.root, "tmp"))
		}, nil, 5, []string{
			"problem    session PRD-001: a rollback to CP-",
			"warning    session PRD-001: what could not be written to the journal is in the rescue copy ", "takes it over; keep the file until then"}},
		"half a record": {func(_ *testing.T, p *place) {
			p.failed()
			p.write(".runner/PRD-001/journal.jsonl", p.read(".runner/PRD-001/journal.jsonl")+`{"v":1`)
		}, nil, 0, []string{"warning    session PRD-001: the journal ends with half a record"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepared(t, func(*place) {})
			test.breakIt(t, p)
			out := p.run(test.code, append([]string{"doctor"}, test.args...)...)
			for _, text := range test.want {
				if !strings.Contains(out, text) {
					t.Errorf("no %q in\n%s", text, out)
				}
			}
		})
	}
}
