package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/runner/plan"
)

const loopPipeline = `pipeline "PRD-001" {
  phase "loop" {
    repeat {
      until = workstream.test.outputs.round == "2"
      max   = MAX
    }
    workstream "code" {
      script    = "echo code $RUNNER_ITERATION >> ran; echo $RUNNER_ITERATION > code"
      artifacts = ["code"]
    }
    workstream "test" {
      depends_on = [workstream.code]
      script     = "echo test $RUNNER_ITERATION >> ran; echo round=$RUNNER_ITERATION >> $RUNNER_OUTPUT"
    }
  }
  phase "after" {
    workstream "ship" { script = "echo ship 1 >> ran" }
  }
}
`

// TestLoopIsPlannedAfterKill kills the build of a phase that repeats before each write to the
// journal. The next build must begin with the workstreams that the plan names, in the iteration
// that it names, and must run none that the plan blocks.
func TestLoopIsPlannedAfterKill(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds; left out with -short")
	}
	binary := buildBinary(t, "failpoint")
	for most, code := range map[string]int{"1": 1, "3": 0} {
		t.Run("at most "+most, func(t *testing.T) {
			t.Parallel()
			for at := 2; ; at++ { // the first write begins the session
				l := &killedLoop{t: t, binary: binary, dir: t.TempDir(), most: most}
				if l.write(); !l.kill(at) {
					break
				}
				l.resumesAsPlanned(fmt.Sprintf("killed before write %d", at), code)
			}
		})
	}
}

type killedLoop struct {
	t                 *testing.T
	binary, dir, most string
}

func (l *killedLoop) write() {
	source := strings.Replace(loopPipeline, "MAX", l.most, 1)
	if err := os.WriteFile(filepath.Join(l.dir, "PRD-001.hcl"), []byte(source), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// run runs Runner in the workspace. It returns the standard output, and the exit code.
func (l *killedLoop) run(failpoint string, args ...string) (stdout []byte, code int) {
	l.t.Helper()
	cmd := exec.Command(l.binary, args...)
	cmd.Dir = l.dir
	cmd.Env = append(os.Environ(), "RUNNER_FAILPOINT="+failpoint)
	stdout, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	return stdout, cmd.ProcessState.ExitCode()
}

// kill runs a build that is killed before its nth write to the journal. It returns false if the
// build ends before that.
func (l *killedLoop) kill(at int) bool {
	l.t.Helper()
	_, code := l.run(fmt.Sprintf("kill@%d:write/journal.jsonl", at), "build", "PRD-001")
	return code == -1
}

func (l *killedLoop) ran() []string {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(l.dir, "ran"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.t.Fatal(err)
	}
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
}

// planned returns what the plan runs, as the workstreams write it, until another iteration
// follows.
func (l *killedLoop) planned() (runs, blocked []string) {
	l.t.Helper()
	data, code := l.run("", "plan", "PRD-001", "--resume", "--json")
	var planned plan.Plan
	if err := json.Unmarshal(data, &planned); code != 0 || err != nil {
		l.t.Fatalf("the plan: exit code %d, %v\n%s", code, err, data)
	}
	for _, phase := range planned.Phases {
		iteration := 1
		if phase.Repeat != nil {
			iteration = phase.Repeat.Iteration
		}
		for _, s := range phase.Steps {
			switch s.Decision {
			case plan.Run, plan.Rerun:
				runs = append(runs, fmt.Sprintf("%s %d", s.Name, iteration))
			case plan.Blocked:
				blocked = append(blocked, s.Name)
			case plan.Reuse:
			case plan.Cached, plan.Judge, plan.Depends, plan.Uncertain, plan.Skipped:
				l.t.Fatalf("the plan decides %s for %s", s.Decision, s.Name)
			}
		}
	}
	return runs, blocked
}

// resumesAsPlanned resumes the build, and compares what it runs with the plan. ship is planned
// to run after the iteration that the plan shows, and the build may come to more of them.
func (l *killedLoop) resumesAsPlanned(when string, want int) {
	l.t.Helper()
	if _, code := l.run("", "plan", "PRD-001", "--resume"); code == 6 {
		return // the session is complete
	}
	runs, blocked := l.planned()
	before := l.ran()
	if _, code := l.run("", "build", "PRD-001", "--resume"); code != want {
		l.t.Errorf("%s: the build exits %d, want %d", when, code, want)
	}
	got := l.ran()[len(before):]
	first := slices.DeleteFunc(slices.Clone(runs), func(s string) bool { return s == "ship 1" })
	if len(got) < len(first) || !slices.Equal(got[:len(first)], first) {
		l.t.Errorf("%s: the plan runs %q, and the build ran %q", when, runs, got)
	}
	if len(first) == 0 && !slices.Equal(got, runs) {
		l.t.Errorf("%s: the plan runs %q and nothing else, and the build ran %q", when, runs, got)
	}
	if slices.Contains(blocked, "ship") && slices.Contains(got, "ship 1") {
		l.t.Errorf("%s: the plan blocks ship, and the build ran it", when)
	}
}
