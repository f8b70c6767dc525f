package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	_ "prdrunner/examples/bench/libraries" // a floor imports the libraries of Runner, so that it starts no faster than a program with them
)

// The names of the commands that this program runs when it is started as a contestant. Each
// does only the work that any program would have to do.
const (
	floorCommand  = "floor"
	groupCommand  = "group"
	chainCommand  = "chain"
	parseCommand  = "parse"
	lookCommand   = "look"
	copyCommand   = "copy"
	keepCommand   = "keep"
	againCommand  = "again"
	removeCommand = "remove"
)

// runItself runs the command that args name, if this program was started as a contestant.
// Otherwise done is false.
func runItself(args []string) (done bool, err error) {
	switch {
	case len(args) == 2 && args[0] == floorCommand:
		return true, runPlain(args[1])
	case len(args) == 2 && args[0] == groupCommand:
		return true, runGrouped(args[1])
	case len(args) == 2 && args[0] == chainCommand:
		return true, runChained(args[1])
	case len(args) == 2 && args[0] == parseCommand:
		return true, parseFile(args[1])
	case len(args) == 2 && args[0] == lookCommand:
		_, err := walkTrees(nil, args[1])
		return true, err
	case len(args) == 3 && args[0] == copyCommand:
		_, err := copyTree(args[1], args[2])
		return true, err
	case len(args) == 3 && args[0] == keepCommand:
		return true, keepTree(args[1], args[2])
	case len(args) == 3 && args[0] == againCommand:
		return true, keepAgain(args[1], args[2])
	case len(args) == 2 && args[0] == removeCommand:
		return true, removeAllBut(args[1])
	}
	return false, nil
}

// parseAlone returns a contestant that parses a file as HCL and does nothing else.
func parseAlone(file string) contestant {
	run, missing := itself(parseCommand, file)
	return contestant{name: parserName, missing: missing, command: run}
}

// parseGraph returns a contestant that parses the pipeline of a graph as HCL and does
// nothing else.
func parseGraph(g graph) contestant {
	t := tools()["runner"]
	c := parseAlone(t.file)
	c.prepare = func(dir string) error { return t.lay(dir, g) }
	return c
}

// itself returns this program as a command.
func itself(args ...string) (run func(dir string) *exec.Cmd, missing string) {
	path, err := os.Executable()
	if err != nil {
		return nil, err.Error()
	}
	return program(append([]string{path}, args...)...)
}

// parseFile parses a file as HCL. It turns off the garbage collector, because nothing that
// the parser allocates becomes garbage.
func parseFile(file string) error {
	debug.SetGCPercent(-1)
	src, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return err
	}
	if _, diags := hclsyntax.ParseConfig(src, file, hcl.InitialPos); diags.HasErrors() {
		return diags
	}
	return nil
}
