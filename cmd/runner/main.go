// Command runner executes a pipeline declared in HCL and records every step durably.
//
// Each command is one file: a constructor newXxxCommand, a struct xxxOptions that its
// flags fill, and a function runXxx(ctx, env, options), which makes one call into
// prdrunner/runner, prdrunner/pipeline or prdrunner/checkpoint and shows the result.
// root.go lists the commands. Those about checkpoints are in package checkpoints, and
// larger ones have a package each: logs, watch, serve, doctor, explain and manual. A command gets
// everything else from the packages below this one:
//
//   - cli: the process around it: streams, environment variables, clock, signals, terminal;
//   - config: what the user has set;
//   - load: the pipeline, the state directory, the session and the files that it works on;
//   - change: the one way to change a session: lock, finish what was cut short, record in
//     the audit log, do, close;
//   - begin: how a build begins, resumes or refuses;
//   - answer: an approval or a rejection of a gate that waits;
//   - inspect: what it answers if it changes nothing, read from sessions and files;
//   - info: what it answers, as values whose JSON is what --json prints;
//   - show, page: how its answer looks, on a terminal and in a browser;
//   - advice: usage errors, hints and commands to type next.
//
// Where to begin: pause.go is a short command, build.go the largest; exit.go has the one
// switch that maps errors to exit codes. What a run does is decided in prdrunner/runner;
// nothing here decides about workstreams, gates or checkpoints.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/rollback"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
)

func main() {
	collectLate()
	env := cli.ThisProcess()
	// A second signal ends the process at once. The next command treats that as a kill, and
	// finishes the work that was cut short.
	ctx := env.Signals.Catch(context.Background(), func(name, what string) { endAtOnce(env, name, what) })
	os.Exit(execute(ctx, env))
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, env *cli.Environment) int {
	env.Version = readBuildInfo().Version
	root := newRootCommand(env)
	root.SetArgs(env.Args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !env.Running {
		// An error from before the command's own code runs is a mistake in the command
		// line.
		err = asUsageError(err)
	}
	for _, warning := range env.Warnings {
		fmt.Fprintln(env.Stderr, "Warning:", warning)
	}
	err = asInterruption(env, err)
	reportError(env, err)
	if err != nil && asksForJSON(env, cmd) && !env.Stdout.Used() {
		err = errors.Join(err, show.JSON(env.Stdout, newFailure(env, err)))
	}
	return exitCode(err)
}

// asInterruption converts the error of a command that a signal ended: it prints that the
// command was interrupted, and returns an error that needs no message.
func asInterruption(env *cli.Environment, err error) error {
	name, line := env.Signals.Interruption(env.Localize(unwound(err)))
	if name == "" || !fromSignal(err) {
		return err
	}
	fmt.Fprintln(env.Stderr, line)
	return &endedError{signal: name}
}

// fromSignal reports whether a signal can be the reason for an error. It returns false for
// errors that report damage or mistakes which the command found, or a state which it left:
// the user must see these errors.
func fromSignal(err error) bool {
	var failed *rollback.Error
	switch {
	case silent(err), advice.IsA[*checkpoint.PoisonedError](err), errors.As(err, &failed) && !failed.Undone:
		return false
	case errors.Is(err, context.Canceled):
		return true
	}
	// A terminal sends its signals to git too, whose error is then arbitrary.
	_, known := knownCode(err)
	return !known
}

// unwound returns what an error says about the place where a command was interrupted.
func unwound(err error) string {
	if err == nil {
		return ""
	}
	canceled := context.Canceled.Error()
	what := strings.ReplaceAll(strings.ReplaceAll(err.Error(), ": "+canceled, ""), "\n", "; ")
	if what == canceled {
		return ""
	}
	return " (" + what + ")"
}

// tellGrace is how long endAtOnce may take to print its message: the reader of standard
// error may have stopped reading.
const tellGrace = time.Second

// endAtOnce prints why the process ends, and ends it. It waits for a reader no longer than
// tellGrace.
func endAtOnce(env *cli.Environment, name, what string) {
	printed := make(chan struct{})
	go func() {
		fmt.Fprintln(env.Stderr, what)
		close(printed)
	}()
	select {
	case <-printed:
	case <-time.After(tellGrace):
	}
	os.Exit(endedCode(&endedError{signal: name}))
}
