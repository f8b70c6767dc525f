package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// constructs returns the contests of workstreams that are more than a process: those that
// are known only when a result is there, those with a work tree of their own, those that
// call a pipeline, and those that are shown on a terminal. Each contestant does nothing in its steps.
func constructs(n sizes) []contest {
	return []contest{fannedOut(n), isolated(n), called(n), onTerminal(n)}
}

// onTerminal compares a run on a terminal, with its live view, with one that shows nothing.
func onTerminal(n sizes) contest {
	source := fmt.Sprintf(`pipeline "PRD-001" {
  phase "all" {
    workstream "s" {
      for_each = toset([for i in range(%d) : tostring(i)])
      command  = ["true"]
    }
  }
}
`, n.wide)
	live := newBuild("live", n.wide, source)
	quiet := live.command
	live.missing = "its options of script are those of Linux"
	if runtime.GOOS == "linux" {
		var inTerminal func(dir string) *exec.Cmd
		inTerminal, live.missing = program("script", "--quiet", "--return", "--command", "stty columns 100 rows 30; exec runner build PRD-001 --ci none --parallel "+jobs, "typescript")
		live.command = func(dir string) *exec.Cmd {
			cmd := inTerminal(dir)
			cmd.Env = append(quiet(dir).Env, "TERM=xterm")
			return cmd
		}
	}
	live.check = func(dir, shown string) error {
		if !strings.Contains(shown, "running") {
			return errors.New("it has shown no row of what runs")
		}
		return completed(dir, n.wide)
	}
	return contest{name: terminalName, rounds: n.fewRounds, contestants: []contestant{live, newBuild("quiet", n.wide, source)}}
}

// fannedOut compares instances that follow from a result with those that are known from the
// beginning.
func fannedOut(n sizes) contest {
	return contest{name: fanOutName, rounds: n.rounds, contestants: []contestant{
		newBuild("over a result", n.wide+1, fmt.Sprintf(`pipeline "PRD-001" {
  phase "first" {
    workstream "split" { script = "echo \"names=[$(seq -s , %d)]\" >> $RUNNER_OUTPUT" }
  }
  phase "all" {
    workstream "s" {
      for_each     = toset([for i in jsondecode(workstream.split.outputs.names) : tostring(i)])
      max_elements = %d
      command      = ["true"]
    }
  }
}
`, n.wide, n.wide)),
		newBuild("over constants", n.wide+1, fmt.Sprintf(`pipeline "PRD-001" {
  phase "first" {
    workstream "split" { command = ["true"] }
  }
  phase "all" {
    workstream "s" {
      for_each = toset([for i in range(%d) : tostring(i)])
      command  = ["true"]
    }
  }
}
`, n.wide)),
	}}
}

// isolated compares steps in work trees of a small workspace with a Makefile whose steps copy
// the same files, and with steps in the workspace itself.
func isolated(n sizes) contest {
	files := tree{files: 20, size: 4 << 10}
	source := func(block string) string {
		return fmt.Sprintf(`pipeline "PRD-001" {
  phase "all" {
    workstream "s" {
      for_each = toset([for i in range(%d) : tostring(i)])
      command  = ["true"]
      %s
    }
  }
}
`, n.wide, block)
	}
	run, missing := program("make", "--silent", "--jobs", jobs)
	copied := contestant{name: "make, cp", missing: missing, command: run, prepare: func(dir string) error {
		targets := fmt.Sprintf("STEPS := $(addprefix s,$(shell seq %d))\n.PHONY: all $(STEPS)\nall: $(STEPS)\n$(STEPS):\n\tcp -R files $@ && cd $@ && true && rm -r ../$@\n", n.wide)
		return os.WriteFile(filepath.Join(dir, "Makefile"), []byte(targets), 0o644)
	}}
	c := contest{name: isolateName, rounds: 1, contestants: []contestant{
		newBuild("runner, isolate", n.wide, source("isolate { include = [\"files\"] }")), copied, newBuild("runner", n.wide, source("")),
	}}
	for i, who := range c.contestants {
		c.contestants[i].prepare = func(dir string) error {
			if err := files.write(filepath.Join(dir, "files")); err != nil {
				return err
			}
			return who.prepare(dir)
		}
	}
	return c
}

// called compares calls of a pipeline with builds of the same pipeline, each in a directory
// of its own.
func called(n sizes) contest {
	const child = `pipeline "PRD-001" {
  phase "all" {
    workstream "s" { command = ["true"] }
  }
}
`
	run, missing := program("sh", "-c", fmt.Sprintf("seq %d | xargs -P %s -I{} runner -C {} build PRD-001 --output quiet", n.wide, jobs))
	calls := newBuild("call", n.wide, fmt.Sprintf(`pipeline "PRD-001" {
  phase "all" {
    workstream "s" {
      for_each = toset([for i in range(%d) : tostring(i)])
      call { file = "child.hcl" }
    }
  }
}
`, n.wide))
	write := calls.prepare
	calls.prepare = func(dir string) error {
		if err := os.WriteFile(filepath.Join(dir, "child.hcl"), []byte(child), 0o644); err != nil {
			return err
		}
		return write(dir)
	}
	builds := contestant{name: "builds", missing: missing, command: run, prepare: func(dir string) error {
		for i := range n.wide {
			own := filepath.Join(dir, strconv.Itoa(i+1))
			if err := os.Mkdir(own, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(own, "PRD-001.hcl"), []byte(child), 0o644); err != nil {
				return err
			}
		}
		return nil
	}}
	return contest{name: callName, rounds: 1, contestants: []contestant{calls, builds}}
}

// newBuild returns the contestant that builds a pipeline of n workstreams.
func newBuild(name string, n int, source string) contestant {
	run, missing := program("runner", "build", "PRD-001", "--parallel", jobs, "--output", "quiet")
	return contestant{name: name, missing: missing,
		command: func(dir string) *exec.Cmd {
			cmd := run(dir)
			cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
			return cmd
		},
		prepare: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte(source), 0o644)
		},
		check: func(dir, _ string) error { return completed(dir, n) },
	}
}
