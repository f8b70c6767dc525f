//go:build unix

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ciJobs runs the jobs of a workflow file of examples/ci, each in a fresh copy of the example.
// From one job to the next only the state directory is kept, as a cache.
type ciJobs struct {
	t      *testing.T
	binary string
	cache  string // the state directory that the last job kept
	n      int
}

// job is a machine on which a job runs.
type job struct {
	*ciJobs
	dir string
	env []string
}

func newCIJobs(t *testing.T) *ciJobs {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	return &ciJobs{t: t, binary: buildBinary(t)}
}

// begin takes a fresh machine, with what the last job kept. A commit may have changed the files.
func (c *ciJobs) begin(environ map[string]string, change func(dir string)) *job {
	c.t.Helper()
	c.n++
	j := &job{ciJobs: c, dir: copyExample(c.t, "ci")}
	path := c.t.TempDir()
	c.must(os.Symlink(c.binary, filepath.Join(path, "runner")))
	j.env = []string{"PATH=" + path + ":" + os.Getenv("PATH"), "HOME=" + c.t.TempDir(), "USER=ci", "CI=true"}
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		j.env = append(j.env, name+"="+environ[name])
	}
	if c.cache != "" {
		c.must(os.CopyFS(filepath.Join(j.dir, ".runner"), os.DirFS(c.cache)))
	}
	if change != nil {
		change(j.dir)
	}
	return j
}

func (c *ciJobs) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// keep keeps what the job has done.
func (j *job) keep() { j.cache = filepath.Join(j.dir, ".runner") }

// command returns the command of a step, as the CI systems start it.
func (j *job) command(script string, environ ...string) (*exec.Cmd, *strings.Builder) {
	j.t.Helper()
	file := filepath.Join(j.t.TempDir(), "step.sh")
	j.must(os.WriteFile(file, []byte(script), 0o600))
	cmd, out := exec.Command("bash", "-e", file), &strings.Builder{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = j.dir, append(slices.Clone(j.env), environ...), out, out
	return cmd, out
}

// step runs a step, and returns what it printed. Its exit code must be as given.
func (j *job) step(exit int, script string, environ ...string) string {
	j.t.Helper()
	cmd, out := j.command(script, environ...)
	if err := cmd.Run(); cmd.ProcessState == nil {
		j.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != exit {
		j.t.Fatalf("job %d: exit code %d, want %d, of\n%s\n%s", j.n, got, exit, script, out)
	}
	return out.String()
}

func (j *job) read(path string) string {
	j.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(j.dir, path)
	}
	data, err := os.ReadFile(path)
	j.must(err)
	return string(data)
}

// untranslated takes the translation from a line, so that the tests fail.
func (c *ciJobs) untranslated(dir string) {
	c.must(os.WriteFile(filepath.Join(dir, "src", "market.txt"), []byte("how much is it = quanto custa\ncheap =\n"), 0o600))
}

// hanging returns a change that adds a test which never ends, and a function that waits until it
// runs.
func (c *ciJobs) hanging() (change func(dir string), started func()) {
	pipe := filepath.Join(c.t.TempDir(), "started")
	c.must(syscall.Mkfifo(pipe, 0o600))
	return func(dir string) {
			c.must(os.WriteFile(filepath.Join(dir, "tests", "hangs.sh"), []byte("echo > "+pipe+"; sleep 1000\n"), 0o600))
		}, func() {
			_, err := os.ReadFile(pipe)
			c.must(err)
		}
}

// githubSteps returns the scripts of the steps of examples/ci/github.yml by their names, and the
// variables that the job sets.
func githubSteps(t *testing.T) (steps map[string]string, env map[string]string) {
	t.Helper()
	data, err := os.ReadFile("../../examples/ci/github.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct {
				Name, Uses, Run string
				With            map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(data, &workflow); err != nil {
		t.Fatal(err)
	}
	steps = map[string]string{}
	cached := 0
	for _, s := range workflow.Jobs["release"].Steps {
		if s.Run != "" {
			steps[s.Name] = s.Run
		}
		if s.With["path"] == ".runner" && strings.HasPrefix(s.Uses, "actions/cache/") {
			cached++
		}
	}
	if cached != 2 || len(steps) != 3 || !strings.Contains(steps["Build"], "build PRD-012 --resume=auto") {
		t.Fatalf("the steps have changed: %d for the cache, %q", cached, steps)
	}
	return steps, workflow.Jobs["release"].Env
}

// TestGitHubWorkflow runs the jobs of a release: the tests fail, a job is cancelled, the next one
// goes on and waits for an approval, which the one after it gets, and then nothing is left to run.
func TestGitHubWorkflow(t *testing.T) {
	t.Parallel()
	c := newCIJobs(t)
	steps, environ := githubSteps(t)
	begin := func(change func(dir string)) (j *job, result func(exit int) string) {
		files := t.TempDir()
		of := maps.Clone(environ)
		maps.Copy(of, map[string]string{
			"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": filepath.Join(files, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(files, "summary"),
			"GITHUB_ACTOR": "ana", "GITHUB_RUN_ID": "77",
		})
		j = c.begin(of, change)
		j.env = append(j.env, "GITHUB_WORKSPACE="+j.dir)
		return j, func(exit int) string {
			t.Helper()
			output := j.read(of["GITHUB_OUTPUT"])
			return j.step(exit, steps["Result"], "STATUS="+valueOf("status", output), "PAUSED_AT="+valueOf("paused_at", output)) + j.read(of["GITHUB_STEP_SUMMARY"])
		}
	}

	j, result := begin(c.untranslated)
	expect(t, j.step(1, steps["Build"]), "::error file=src/market.txt,line=2,title=test::no translation")
	expect(t, result(1), "**test** at `src/market.txt:2`")
	expect(t, j.read("results/errors.sarif"), `"uri":"src/market.txt"`)
	j.keep()

	hangs, started := c.hanging()
	j, result = begin(hangs)
	cmd, out := j.command(steps["Build"])
	j.must(cmd.Start())
	started()
	j.must(cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		t.Fatalf("a cancelled job exits %d\n%s", code, out)
	}
	expect(t, result(1), "interrupted by SIGTERM")
	j.keep()

	j, result = begin(nil)
	expect(t, j.step(3, steps["Build"]), "book ✅", "release (check) waits for approval")
	expect(t, result(0), "::notice::waits at release (check)", "runner approve PRD-012")
	j.keep()

	j, result = begin(nil)
	expect(t, j.step(0, steps["Approve"]), "Approved release (check) of PRD-012")
	expect(t, j.step(0, steps["Build"]), "publish")
	expect(t, result(0), "✅ 1 passed")
	expect(t, j.read("released/book.txt"), "quanto custa")
	j.keep()

	j, result = begin(nil)
	expect(t, j.step(0, steps["Build"]), "book has its artifacts back: build/book.txt", "3 reused")
	expect(t, result(0), "♻️ 1 reused")
	expect(t, j.read("results/junit.xml"), `tests="4" failures="0"`)
}

// valueOf returns the value of a NAME=value line.
func valueOf(name, lines string) string {
	_, rest, _ := strings.Cut("\n"+lines, "\n"+name+"=")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// TestGitLabWorkflow runs the jobs of a release: the tests fail, it waits for an approval, is
// approved, and then nothing is left to run.
func TestGitLabWorkflow(t *testing.T) {
	t.Parallel()
	c := newCIJobs(t)
	data, err := os.ReadFile("../../examples/ci/gitlab.yml")
	c.must(err)
	var workflow map[string]struct {
		Script    []string
		Cache     struct{ Paths []string }
		Artifacts struct{ Reports map[string]string }
	}
	c.must(yaml.Unmarshal(data, &workflow))
	release := workflow["release"]
	if len(release.Cache.Paths) != 1 || release.Cache.Paths[0] != ".runner" {
		t.Fatalf("the cache is %v", release.Cache.Paths)
	}
	run := func(exit int, change func(dir string), approve string) (j *job, out string) {
		j = c.begin(map[string]string{"GITLAB_CI": "true", "GITLAB_USER_LOGIN": "ana", "CI_JOB_ID": "77", "APPROVE": approve}, change)
		out = j.step(exit, strings.Join(release.Script, "\n"))
		j.keep()
		return j, out
	}
	reports := release.Artifacts.Reports

	j, out := run(1, c.untranslated, "")
	expect(t, out, "no translation")
	expect(t, j.read(reports["junit"]), `failures="1"`)
	expect(t, j.read(reports["dotenv"]), "status=failed\n")

	j, _ = run(3, nil, "")
	expect(t, j.read(reports["dotenv"]), "paused_at=release (check)\n")

	j, out = run(0, nil, "yes")
	expect(t, out, "Approved release (check) of PRD-012", "publish")
	expect(t, j.read("released/book.txt"), "quanto custa")

	_, out = run(0, nil, "")
	expect(t, out, "3 reused")
}
