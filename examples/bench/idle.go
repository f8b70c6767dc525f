package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// idle returns the contests of finding out that there is nothing to do, and of starting a
// program.
func idle(n sizes) []contest {
	return []contest{unchangedSteps(n), unchangedInputs(n), reading(n), starting(n)}
}

// unchangedSteps returns the contest of planning steps that are all done. Each contestant
// has its own directory.
func unchangedSteps(n sizes) contest {
	g := wide(n.wide)
	g.again = true
	known := tools()
	files := func(dir string) error { return touch(dir, g) }
	entries := []struct {
		name, tool string
		plan       []string
		done       func(dir string) error // makes all steps done
	}{
		{"runner, for_each", "runner, for_each", []string{"runner", "plan", "PRD-001", "--resume"}, buildToFailure},
		{"runner", "runner", []string{"runner", "plan", "PRD-001", "--resume"}, buildToFailure},
		{"make", "make", []string{"make", "--question", "all"}, files},
		// ninja must run the steps, because it records which command made each file.
		{"ninja", "ninja", known["ninja"].run, func(dir string) error { return call(dir, known["ninja"].run...) }},
		{"snakemake", "snakemake", []string{"snakemake", "--quiet", "all", "--dry-run", "--rerun-triggers", "mtime"}, files},
	}
	c := contest{name: planDone, rounds: n.rounds}
	for _, e := range entries {
		run, missing := program(e.plan...)
		c.contestants = append(c.contestants, contestant{name: e.name, missing: missing, command: func(dir string) *exec.Cmd {
			return run(filepath.Join(dir, e.name))
		}})
	}
	c.shared = func(dir string) error {
		for i, e := range entries {
			if c.contestants[i].missing != "" {
				continue
			}
			own := filepath.Join(dir, e.name)
			if err := os.Mkdir(own, 0o755); err != nil {
				return err
			}
			if err := known[e.tool].lay(own, g); err != nil {
				return err
			}
			if err := e.done(own); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
		}
		return nil
	}
	return c
}

// touch makes the files that the steps of a graph would have made.
func touch(dir string, g graph) error {
	for _, name := range g.names() {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// unchangedInputs returns the contest of finding that no input has changed, in a git
// repository that tracks the files, and in a directory without git.
func unchangedInputs(n sizes) contest {
	const bare, tracked = "bare", "tracked"
	in := func(sub string, argv ...string) (func(dir string) *exec.Cmd, string) {
		run, missing := program(argv...)
		return func(dir string) *exec.Cmd { return run(filepath.Join(dir, sub)) }, missing
	}
	plan := []string{"runner", "plan", "PRD-001", "--resume"}
	trackedPlan, missing := in(tracked, plan...)
	barePlan, _ := in(bare, plan...)
	status, noGit := in(tracked, "git", "status", "--porcelain")
	look, noFloor := itself(lookCommand, filepath.Join(tracked, "files"))
	return contest{
		name: planInputs, rounds: n.manyRounds,
		shared: func(dir string) error {
			for _, sub := range []string{bare, tracked} {
				own := filepath.Join(dir, sub)
				if err := layInputs(own, n.inputs); err != nil {
					return err
				}
				if sub == tracked && noGit == "" {
					if err := calls(own, []string{"git", "init", "--quiet"}, []string{"git", "add", "--all"},
						[]string{"git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "--message", "all"}); err != nil {
						return err
					}
				}
				if err := buildToFailure(own); err != nil {
					return err
				}
			}
			return nil
		},
		contestants: []contestant{
			{name: "runner", missing: missing, command: trackedPlan},
			{name: "runner, no git", missing: missing, command: barePlan},
			{name: "git status", missing: noGit, command: status},
			{name: floorName, missing: noFloor, command: look},
		},
	}
}

// layInputs writes a pipeline with one step, and the files that the step reads.
func layInputs(dir string, files int) error {
	const src = `pipeline "PRD-001" {
  phase "all" {
    workstream "reads" {
      command = ["true"]
      inputs  = ["files/**"]
    }
  }
` + failingPhase + "}\n"
	if err := (tree{files: files, size: 100}).write(filepath.Join(dir, "files")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte(src), 0o644)
}

// reading returns the contest of reading a long pipeline.
func reading(n sizes) contest {
	runner := func(name, prd string) contestant {
		run, missing := program("runner", "validate", prd)
		return contestant{name: name, missing: missing, command: run}
	}
	return contest{
		name: validateLong, rounds: n.rounds,
		shared: func(dir string) error {
			g := wide(n.wide)
			if err := tools()["runner"].lay(dir, g); err != nil {
				return err
			}
			var src bytes.Buffer
			writeForEach(&src, g)
			return os.WriteFile(filepath.Join(dir, "PRD-002.hcl"), bytes.ReplaceAll(src.Bytes(), []byte("PRD-001"), []byte("PRD-002")), 0o644)
		},
		contestants: []contestant{runner("runner", "PRD-001"), runner("runner, for_each", "PRD-002"), parseAlone("PRD-001.hcl")},
	}
}

// starting returns the contest of commands that do almost nothing.
func starting(n sizes) contest {
	version, missing := program("runner", "version")
	validate, _ := program("runner", "validate", "PRD-009")
	bare, noBare := program("bare")
	return contest{
		name: start, rounds: n.manyRounds,
		shared: copyCashier,
		contestants: []contestant{
			{name: "runner version", missing: missing, command: inTree(version)},
			{name: "runner validate", missing: missing, command: inTree(validate)},
			{name: "its imports", missing: noBare, command: inTree(bare)},
		},
	}
}
