package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	_ "prdrunner/examples/bench/libraries" // a floor is of who uses them: it starts no faster
)

// The names of what this program does itself when it is started as a contestant:
// only what must be done, whoever does it.
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

// runItself does what this program is started for as a contestant; done is false
// where it is not.
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
		_, err := lookAt(nil, args[1])
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

// parseAlone reads a file as HCL, and does nothing with it.
func parseAlone(file string) contestant {
	run, missing := itself(parseCommand, file)
	return contestant{name: parserName, missing: missing, command: run}
}

// parseGraph reads the file of a graph as HCL, and does nothing with it.
func parseGraph(g graph) contestant {
	t := tools()["runner"]
	c := parseAlone(t.file)
	c.prepare = func(dir string) error { return t.lay(dir, g) }
	return c
}

// itself is this program as a command.
func itself(args ...string) (run func(dir string) *exec.Cmd, missing string) {
	path, err := os.Executable()
	if err != nil {
		return nil, err.Error()
	}
	return program(append([]string{path}, args...)...)
}

// parseFile collects no garbage: there is none of what a parser makes.
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
