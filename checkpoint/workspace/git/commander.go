package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Commander starts programs for this package, which never starts one itself.
type Commander interface {
	// Run runs a command to its end. None of its processes remains, even if ctx ends
	// first. An exit code other than 0 is an *ExitError; a missing program is
	// exec.ErrNotFound. When Run returns, it has written all of Stdout, and no longer
	// reads Stdin.
	Run(ctx context.Context, c Command) error
}

// Command is a program to run: no shell.
type Command struct {
	Args  []string // the program first
	Dir   string
	Unset []string // names of variables to remove from the environment
	Env   []string // NAME=value, added to the environment after that
	// Run reads Stdin and writes Stdout while the command runs. A reader or writer
	// that may block for long has to be an *os.File, which the command inherits.
	Stdin  io.Reader
	Stdout io.Writer
}

// ExitError says that a program ran and failed.
type ExitError struct {
	Args   []string
	Code   int    // -1: ended by a signal
	Stderr string // the end of the program's standard error
}

func (e *ExitError) Error() string {
	ended := fmt.Sprintf("exit code %d", e.Code)
	if e.Code < 0 {
		ended = "ended by a signal"
	}
	name := strings.Join(e.Args[:min(len(e.Args), 1)], "")
	if said := strings.TrimSpace(e.Stderr); said != "" {
		return fmt.Sprintf("%s: %s: %s", name, ended, said)
	}
	return name + ": " + ended
}

// exitCode returns the exit code of an *ExitError, and 0 for any other error.
func exitCode(err error) int {
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Code
	}
	return 0
}
