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
	// Run runs a command to its end, and leaves nothing of it behind, also
	// when ctx ends first. That it ended with another exit code than 0 is an
	// *ExitError; that there is no such program is exec.ErrNotFound. When Run
	// returns, all of Stdout is written, and Stdin is not read any more.
	Run(ctx context.Context, c Command) error
}

// Command is a program to run: no shell.
type Command struct {
	Args  []string // the program first
	Dir   string
	Unset []string // names of variables that are taken out of the environment
	Env   []string // NAME=value, added to the environment after that
	// Stdin and Stdout are read and written while the command runs. What may
	// block for long has to be an *os.File, which the command gets itself.
	Stdin  io.Reader
	Stdout io.Writer
}

// ExitError says that a program ran and failed.
type ExitError struct {
	Args   []string
	Code   int    // -1: ended by a signal
	Stderr string // its end
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

// exitCode returns the exit code that an error tells of: 0 for none.
func exitCode(err error) int {
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Code
	}
	return 0
}
