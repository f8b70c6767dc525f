// Command runner executes a pipeline declared in HCL and records every step
// durably.
//
// Each command is one file: a constructor newXxxCommand, a struct xxxOptions
// that its flags fill, and a function run(ctx, options). main makes an environment
// (env.go), which holds the process's streams, environment variables and clock,
// and passes it to every command. A config (config.go) holds the user's
// configuration. One switch (exit.go) maps errors to exit codes. The commands
// hold no logic of their own: they read flags, make one call into
// prdrunner/runner, prdrunner/pipeline or prdrunner/checkpoint, and show the
// result.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	if err != nil && asksForJSON(env, cmd) && !env.stdout.used() {
		err = errors.Join(err, writeJSON(env.stdout, newFailure(env, err)))
	}
	return exitCode(err)
}
