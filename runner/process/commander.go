package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/runner"
)

const (
	// commandGrace is the time between asking a command to end and killing it.
	commandGrace = 2 * time.Second
	// commandDrain bounds how long Run waits for the output pipes after a command has
	// ended.
	commandDrain = 10 * time.Second
	// stderrLimit is the number of bytes of standard error that an error message includes.
	stderrLimit = 4 << 10
)

// Commander runs the programs that Runner itself needs, such as git: without a shell, and
// each in a process group that ends with it. It is safe for concurrent use.
//
// On Linux a command ends when Runner does. It carries a token, so that an Executor does
// not mistake its orphans for those of a task.
type Commander struct {
	base environment
}

var _ git.Commander = (*Commander)(nil)

// NewCommander returns a Commander. Its programs get the environment baseEnv, in the form
// NAME=value, and are searched for in its PATH.
func NewCommander(baseEnv []string) *Commander {
	return &Commander{base: newEnvironment(baseEnv)}
}

// Run implements git.Commander. When ctx ends, Run asks the command to end, and kills it
// after commandGrace. The error then wraps that of ctx.
func (c *Commander) Run(ctx context.Context, command git.Command) error {
	if len(command.Args) == 0 || command.Args[0] == "" {
		return errors.New("run a command: it is empty")
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("run %s: %w", command.Args[0], err)
	}
	env := c.environ(command)
	file, failure := lookUp(command.Args[0], lastValue(env, "PATH"), command.Dir)
	switch {
	case failure != nil && failure.outcome == runner.NotFound:
		return &exec.Error{Name: command.Args[0], Err: exec.ErrNotFound}
	case failure != nil:
		return fmt.Errorf("run %s: %s", command.Args[0], failure.detail)
	}
	said := &tail{limit: stderrLimit}
	cmd := &exec.Cmd{
		Path: file, Args: command.Args, Dir: command.Dir, Env: env,
		Stdin: command.Stdin, Stdout: command.Stdout, Stderr: said,
		SysProcAttr: commandAttributes(), WaitDelay: commandDrain,
	}
	var err error
	onWorkerThread(func() { err = supervise(ctx, cmd) })
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = &git.ExitError{Args: command.Args, Code: exit.ExitCode(), Stderr: said.String()}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("run %s: %w: %w", command.Args[0], ctx.Err(), err)
	case err != nil:
		return fmt.Errorf("run %s: %w", command.Args[0], err)
	}
	return nil
}

// environ returns the environment of a command. If several entries have the same name,
// the last one counts. Messages are in English, because callers parse some of them.
func (c *Commander) environ(command git.Command) []string {
	unset := make(map[string]bool, len(command.Unset))
	for _, name := range command.Unset {
		unset[foldName(name)] = true
	}
	env := slices.DeleteFunc(slices.Clone(c.base.entries), func(entry string) bool {
		name, _, _ := cutEntry(entry)
		return unset[foldName(name)]
	})
	env = append(env, "LC_ALL=C")
	env = append(env, command.Env...)
	return append(env, tokenVariable+"="+strconv.Itoa(os.Getpid())+"-command")
}

// supervise starts a command, and returns when the command and its group have ended.
func supervise(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	return awaitGroup(cmd, stopOnCancel(ctx, cmd.Process))
}

// stopOnCancel asks a process group to end when ctx ends. After disarm has returned, it
// sends no signal.
func stopOnCancel(ctx context.Context, p *os.Process) (disarm func()) {
	var callbacks sync.WaitGroup
	done := make(chan struct{})
	callbacks.Add(1)
	release := context.AfterFunc(ctx, func() {
		defer callbacks.Done()
		askGroup(p)
		timer := time.NewTimer(commandGrace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			killGroup(p)
		}
	})
	return func() {
		close(done)
		if release() {
			callbacks.Done()
		}
		callbacks.Wait()
	}
}

// tail is a writer that keeps the last stderrLimit bytes.
type tail struct {
	limit int
	bytes []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.bytes = append(t.bytes, p[max(0, len(p)-t.limit):]...)
	if over := len(t.bytes) - t.limit; over > 0 {
		t.bytes = append(t.bytes[:0], t.bytes[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.bytes) }
