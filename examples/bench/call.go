package main

import (
	"errors"
	"fmt"
	"os/exec"
)

// program returns a function that makes a command for a directory, or why the command
// cannot run.
func program(argv ...string) (run func(dir string) *exec.Cmd, missing string) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, argv[0] + " is not installed"
	}
	return func(dir string) *exec.Cmd {
		cmd := exec.Command(path, argv[1:]...)
		cmd.Dir = dir
		return cmd
	}, ""
}

// call runs a command without measuring it.
func call(dir string, argv ...string) error {
	run, missing := program(argv...)
	if missing != "" {
		return errors.New(missing)
	}
	cmd := run(dir)
	if shown, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, tail(string(shown)))
	}
	return nil
}

// calls runs commands one after the other without measuring them.
func calls(dir string, commands ...[]string) error {
	for _, argv := range commands {
		if err := call(dir, argv...); err != nil {
			return err
		}
	}
	return nil
}

// buildToFailure runs a pipeline whose last phase fails. It returns an error unless the
// build exits with status 1.
func buildToFailure(dir string) error {
	err := call(dir, "runner", "build", "PRD-001", "--output", "quiet")
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil
	}
	return fmt.Errorf("the last phase should have failed: %w", err)
}
