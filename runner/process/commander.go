package process

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/workspace"
)

const (
	// commandGrace is how long a program has to end once it was asked to.
	commandGrace = 2 * time.Second
	// stderrKept is how much of a program's standard error is kept: its end.
	stderrKept = 4 << 10
)

// Commander runs the programs that package workspace needs, such as git, each
// in its own process group and without a shell. It implements
// workspace.Commander.
type Commander struct{ env []string }

// NewCommander returns a Commander whose programs inherit an environment.
func NewCommander(env []string) *Commander { return &Commander{env: env} }

// Run implements workspace.Commander.
func (c *Commander) Run(ctx context.Context, w workspace.Command) error {
	var stderr tailWriter
	cmd := exec.CommandContext(ctx, w.Args[0], w.Args[1:]...) //nolint:gosec // what runs is decided by the caller, which takes no shell
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.Dir, w.Stdin, w.Stdout, &stderr
	cmd.Env = append(without(c.env, w.Unset), w.Env...)
	cmd.SysProcAttr = commandAttributes()
	cmd.Cancel = func() error { return terminate(cmd.Process) }
	cmd.WaitDelay = commandGrace
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("run %s: %w", w.Args[0], ctx.Err())
	case errors.As(err, &exit):
		return &workspace.ExitError{Args: w.Args, Code: exit.ExitCode(), Stderr: string(stderr.kept)}
	}
	return fmt.Errorf("run %s: %w", w.Args[0], err)
}

// without returns an environment without some variables.
func without(env, names []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// tailWriter keeps the end of what is written to it.
type tailWriter struct{ kept []byte }

// Write implements io.Writer.
func (t *tailWriter) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - stderrKept; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}
