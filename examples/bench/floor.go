package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The names of what this program does itself when it is started as a contestant:
// only what must be done, whoever does it.
const (
	floorCommand  = "floor"
	parseCommand  = "parse"
	copyCommand   = "copy"
	removeCommand = "remove"
)

// runItself does what this program is started for as a contestant; done is false
// where it is not.
func runItself(args []string) (done bool, err error) {
	switch {
	case len(args) == 2 && args[0] == floorCommand:
		n, err := strconv.Atoi(args[1])
		return true, errors.Join(err, runFloor(n))
	case len(args) == 2 && args[0] == parseCommand:
		return true, parseFile(args[1])
	case len(args) == 3 && args[0] == copyCommand:
		return true, copyTree(args[1], args[2])
	case len(args) == 2 && args[0] == removeCommand:
		return true, removeAllBut(args[1])
	}
	return false, nil
}

// floor starts so many commands that do nothing, each with a log of its own, and
// waits for them; it keeps no record.
func floor(n int) contestant {
	run, missing := itself(floorCommand, strconv.Itoa(n))
	return contestant{name: floorName, missing: missing, command: run}
}

// parseAlone reads a file as HCL, and does nothing with it.
func parseAlone(file string) contestant {
	run, missing := itself(parseCommand, file)
	return contestant{name: "hclsyntax", missing: missing, command: run}
}

// itself is this program as a command.
func itself(args ...string) (run func(dir string) *exec.Cmd, missing string) {
	path, err := os.Executable()
	if err != nil {
		return nil, err.Error()
	}
	return program(append([]string{path}, args...)...)
}

// runFloor runs n commands below the working directory, two at a time.
func runFloor(n int) error {
	path, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	numbers := make(chan int)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for number := range numbers {
				errs[i] = errors.Join(errs[i], runNothing(path, strconv.Itoa(number)+".log"))
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	wg.Wait()
	return errors.Join(errs...)
}

func runNothing(path, log string) error {
	f, err := os.Create(log)
	if err != nil {
		return err
	}
	p, err := os.StartProcess(path, []string{"true"}, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, f, f}})
	if err != nil {
		return errors.Join(err, f.Close())
	}
	state, err := p.Wait()
	if err == nil && !state.Success() {
		err = fmt.Errorf("true: %s", state)
	}
	return errors.Join(err, f.Close())
}

func parseFile(file string) error {
	src, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return err
	}
	if _, diags := hclsyntax.ParseConfig(src, file, hcl.InitialPos); diags.HasErrors() {
		return diags
	}
	return nil
}
