package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// jobs is how many steps run at the same time.
const jobs = "2"

// tool is a program that runs the steps of a graph.
type tool struct {
	name  string
	file  string                         // the name of the file that it reads
	write func(w *bytes.Buffer, g graph) // writes the content of file for a graph
	run   []string                       // the command that runs all steps, in the directory of file
}

// tools returns Runner and the tools that people would use instead, by name.
func tools() map[string]tool {
	runner := []string{"runner", "build", "PRD-001", "--parallel", jobs, "--output", "quiet"}
	all := []tool{
		{"runner", "PRD-001.hcl", writeBlocks, runner},
		{"runner, for_each", "PRD-001.hcl", writeForEach, runner},
		{"make", "Makefile", writeMakefile, []string{"make", "--silent", "--jobs", jobs}},
		{"ninja", "build.ninja", writeNinja, []string{"ninja", "--quiet", "-j", jobs}},
		{"go-task", "Taskfile.yml", writeTaskfile, []string{"task", "--silent", "--concurrency", jobs, "all"}},
		{"snakemake", "Snakefile", writeSnakefile, []string{"snakemake", "--quiet", "all", "--cores", jobs}},
	}
	named := make(map[string]tool, len(all))
	for _, t := range all {
		named[t.name] = t
	}
	return named
}

// lay writes the tool's file for a graph into a directory.
func (t tool) lay(dir string, g graph) error {
	var src bytes.Buffer
	t.write(&src, g)
	return os.WriteFile(filepath.Join(dir, t.file), src.Bytes(), 0o644)
}

func writeBlocks(w *bytes.Buffer, g graph) {
	fmt.Fprint(w, "pipeline \"PRD-001\" {\n  phase \"all\" {\n")
	for _, s := range g.steps {
		fmt.Fprintf(w, "    workstream %q {\n      command = [\"true\"]\n", s.name)
		if len(s.on) > 0 {
			fmt.Fprintf(w, "      depends_on = [workstream.%s]\n", strings.Join(s.on, ", workstream."))
		}
		fmt.Fprint(w, "    }\n")
	}
	fmt.Fprint(w, "  }\n", g.end())
}

// end returns the end of a pipeline.
func (g graph) end() string {
	if g.again {
		return failingPhase + "}\n"
	}
	return "}\n"
}

// failingPhase never succeeds, so that its session can be resumed.
const failingPhase = `  phase "last" {
    workstream "fails" { command = ["false"] }
  }
`

// writeForEach writes a single for_each block with as many steps as the graph has. It
// ignores the dependencies of the graph.
func writeForEach(w *bytes.Buffer, g graph) {
	fmt.Fprintf(w, `pipeline "PRD-001" {
  phase "all" {
    workstream "s" {
      for_each = toset([for i in range(%d) : tostring(i)])
      command  = ["true"]
    }
  }
%s`, len(g.steps), g.end())
}

func writeMakefile(w *bytes.Buffer, g graph) {
	all := strings.Join(g.names(), " ")
	command := "touch $@"
	if !g.again {
		command = "true"
		// Without this, make would take a file with the name of a step for its result.
		fmt.Fprintf(w, ".PHONY: all %s\n", all)
	}
	fmt.Fprintf(w, "all: %s\n", all)
	for _, s := range g.steps {
		fmt.Fprintf(w, "%s: %s\n\t%s\n", s.name, strings.Join(s.on, " "), command)
	}
}

func writeNinja(w *bytes.Buffer, g graph) {
	command := "true"
	if g.again {
		command = "touch $out"
	}
	fmt.Fprintf(w, "rule step\n  command = %s\n", command)
	for _, s := range g.steps {
		fmt.Fprintf(w, "build %s: step", s.name)
		if len(s.on) > 0 {
			fmt.Fprint(w, " | ", strings.Join(s.on, " "))
		}
		fmt.Fprint(w, "\n")
	}
}

func writeTaskfile(w *bytes.Buffer, g graph) {
	fmt.Fprint(w, "version: '3'\ntasks:\n  all:\n    deps:\n")
	for _, name := range g.names() {
		fmt.Fprintf(w, "      - %s\n", name)
	}
	for _, s := range g.steps {
		// Without "run: once", a task that several tasks depend on runs several times.
		fmt.Fprintf(w, "  %s:\n    run: once\n    cmds: ['true']\n", s.name)
		if len(s.on) > 0 {
			fmt.Fprintf(w, "    deps: [%s]\n", strings.Join(s.on, ", "))
		}
	}
}

// writeSnakefile has each rule make an empty file, because rules of Snakemake can only
// depend on files.
func writeSnakefile(w *bytes.Buffer, g graph) {
	quoted := func(names []string) string {
		all := make([]string, len(names))
		for i, name := range names {
			all[i] = strconv.Quote(name)
		}
		return strings.Join(all, ", ")
	}
	fmt.Fprintf(w, "rule all:\n  input: %s\n", quoted(g.names()))
	for _, s := range g.steps {
		fmt.Fprintf(w, "rule r%s:\n", s.name)
		if len(s.on) > 0 {
			fmt.Fprintf(w, "  input: %s\n", quoted(s.on))
		}
		fmt.Fprintf(w, "  output: touch(%q)\n  shell: \"true\"\n", s.name)
	}
}
