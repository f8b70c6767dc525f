// Command runner executes a pipeline declared in HCL and records every step
// durably.
//
// Each command is one file: a constructor newXxxCommand, a struct xxxOptions
// that its flags fill, and a function runXxx(ctx, env, options), which makes one call
// into prdrunner/runner, prdrunner/pipeline or prdrunner/checkpoint and shows the result.
// root.go lists the commands. Where to begin:
//
//   - env.go: environment, the process's streams, environment variables and clock, which
//     main passes to every command;
//   - change.go: target, through which every command changes a session: lock, finish what
//     was cut short, record in the audit log, do, close;
//   - status.go: how commands find and read a session without changing it;
//   - start.go: how a build decides whether it begins, resumes or refuses;
//   - exit.go: the one switch that maps errors to exit codes.
//
// What the user has set is in package config. What a run does is decided in
// prdrunner/runner; nothing here decides about workstreams, gates or checkpoints.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"prdrunner/cmd/runner/show"
)

func main() {
	collectLate()
	env := processEnvironment()
	// A second signal ends the process at once. The next command treats that as a kill, and
	// finishes the work that was cut short.
	ctx := env.signals.catch(context.Background(), func(name, what string) { endAtOnce(env, name, what) })
	os.Exit(execute(ctx, env))
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, env *environment) int {
	root := newRootCommand(env)
	root.SetArgs(env.args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !env.running {
		// An error from before the command's own code runs is a mistake in the command line.
		err = asUsageError(err)
	}
	for _, warning := range env.warnings {
		fmt.Fprintln(env.stderr, "Warning:", warning)
	}
	err = env.signals.interrupted(env, err)
	reportError(env, err)
	if err != nil && asksForJSON(env, cmd) && !env.stdout.Used() {
		err = errors.Join(err, show.JSON(env.stdout, newFailure(env, err)))
	}
	return exitCode(err)
}
