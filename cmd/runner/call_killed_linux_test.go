package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCallKilledAnywhere kills a build that calls a pipeline before an operation on the disk:
// the failpoint counts in the process of the caller and in that of the called pipeline, and
// kills the one that gets there first. Then the build is resumed. Both sessions must become
// complete and whole, the outputs must arrive, and no workstream that was on record as
// complete may run again. With -crash.every, each operation is tried.
func TestCallKilledAnywhere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds; left out with -short")
	}
	binary := buildBinary(t, "failpoint")
	last := 0
	for at := 1; last == 0; at *= 2 {
		if newCalled(t, binary).killed(at) == 0 {
			last = at
		}
	}
	step := max(1, last/6)
	if *crashEvery > 0 {
		step = *crashEvery
	}
	for at := 1 + int(seedOr(*crashSeed)%uint64(step)); at < last; at += step {
		t.Run(fmt.Sprint("kill@", at), func(t *testing.T) {
			t.Parallel()
			c := newCalled(t, binary)
			c.killed(at)
			done := c.completed()
			ran := c.ran()
			c.run("", 0, "build", "PRD-001", "--resume=auto")
			if got := c.read("result"); got != "42\n" {
				t.Errorf("the output of the called pipeline is %q", got)
			}
			for _, name := range done {
				if again := c.ran(); again[name] != ran[name] {
					t.Errorf("%s was on record as complete, and ran %d times", name, again[name])
				}
			}
			c.run("", 0, "checkpoint", "validate", "PRD-001", "--deep")
			c.run("", 0, "checkpoint", "validate", "PRD-001.etl", "--deep")
		})
	}
}

// called is a workspace with a pipeline that calls another one.
type called struct {
	t           *testing.T
	binary, dir string
}

func newCalled(t *testing.T, binary string) *called {
	c := &called{t, binary, t.TempDir()}
	c.write("PRD-001.hcl", `pipeline "PRD-001" {
  phase "main" {
    workstream "etl" {
      artifacts = ["out/rows"]
      call {
        file = "etl-job.hcl"
        vars = { rows = 42 }
      }
    }
    workstream "report" {
      depends_on = [workstream.etl]
      script     = "echo report >> ran; echo ${workstream.etl.outputs.rows} > result"
    }
  }
}
`)
	c.write("etl-job.hcl", `variable "rows" { type = number }
pipeline "etl" {
  outputs = { rows = workstream.load.outputs.rows }
  phase "main" {
    workstream "extract" {
      script    = "echo extract >> ran; mkdir -p out; echo ${var.rows} > out/rows"
      artifacts = ["out/rows"]
    }
    workstream "load" {
      depends_on = [workstream.extract]
      script     = "echo load >> ran; echo rows=$(cat out/rows) >> $RUNNER_OUTPUT"
    }
  }
}
`)
	return c
}

func (c *called) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *called) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(c.dir, name)) // "" without it
	return string(data)
}

// killed runs the build, which is killed at an operation, and returns its exit code.
func (c *called) killed(at int) int {
	return c.run(fmt.Sprint("kill@", at), -2, "build", "PRD-001")
}

// run runs a command, which must exit with a code, unless that is -2.
func (c *called) run(failpoint string, want int, args ...string) int {
	c.t.Helper()
	cmd := exec.Command(c.binary, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "RUNNER_FAILPOINT="+failpoint)
	out, _ := cmd.CombinedOutput() // the exit code says more
	if code := cmd.ProcessState.ExitCode(); want != -2 && code != want {
		c.t.Errorf("%v exits %d, want %d\n%s", args, code, want, out)
	}
	return cmd.ProcessState.ExitCode()
}

// ran returns how often each workstream has run.
func (c *called) ran() map[string]int {
	counts := map[string]int{}
	for name := range strings.FieldsSeq(c.read("ran")) {
		counts[name]++
	}
	return counts
}

// completed returns the workstreams of both sessions that are on record as complete.
func (c *called) completed() (names []string) {
	for _, prd := range []string{"PRD-001", "PRD-001.etl"} {
		cmd := exec.Command(c.binary, "status", prd, "--json")
		cmd.Dir = c.dir
		out, err := cmd.Output()
		if err != nil {
			continue // it has not begun
		}
		var st struct {
			Phases []struct {
				Workstreams []struct{ Name, Status string }
			}
		}
		if err := json.Unmarshal(out, &st); err != nil {
			c.t.Fatal(err)
		}
		for _, p := range st.Phases {
			for _, w := range p.Workstreams {
				if w.Status == "completed" && w.Name != "etl" {
					names = append(names, w.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
