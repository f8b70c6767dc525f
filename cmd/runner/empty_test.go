package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
)

// TestEmptyIsRefused runs every command with an empty argument in each place, and with an
// empty value of each string flag, except for flags that take free text. The command must
// exit with a usage error that names the empty argument or flag.
func TestEmptyIsRefused(t *testing.T) {
	t.Chdir(t.TempDir()) // in case that a command runs after all, also one with -C=
	for path, cmd := range leaves(commandLine(t)) {
		command := strings.Fields(path)[1:]
		full := placeholders(cmd)
		for i := range full {
			args := slices.Clone(full[:i+1])
			args[i] = ""
			refusesEmpty(t, "an argument is empty", slices.Concat(command, needed(cmd, args)))
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			placeholder, _ := pflag.UnquoteUsage(flag)
			kind := flag.Value.Type()
			if placeholder == cli.FreeText || kind != "string" && kind != "stringArray" {
				return
			}
			refusesEmpty(t, "--"+flag.Name+" is empty", slices.Concat(command, []string{"--" + flag.Name + "="}, needed(cmd, nil)))
		})
	}
}

// refusesEmpty runs a command, which must exit with a usage error that contains want, and
// print nothing to standard output.
func refusesEmpty(t *testing.T, want string, args []string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := cli.ThisProcess()
	env.Args, env.Environ, env.Stdin, env.Stdout, env.Stderr = args, nil, strings.NewReader(""), show.NewScreen(&stdout), show.NewScreen(&stderr)
	code := execute(context.Background(), env)
	if code != exitUsage || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
		t.Errorf("runner %q: exit code %d, and printed %q", args, code, stderr.String())
	}
}

// placeholders returns the names of the arguments that a command takes before --, each
// once.
func placeholders(cmd *cobra.Command) []string {
	var names []string
	use, _, _ := strings.Cut(cmd.Use, " [--")
	for _, word := range strings.Fields(use)[1:] {
		if !strings.HasPrefix(word, "{") {
			names = append(names, strings.Trim(word, "[]."))
		}
	}
	return names
}

// needed appends placeholders to args until the command accepts the number of arguments.
func needed(cmd *cobra.Command, args []string) []string {
	for _, name := range placeholders(cmd)[len(args):] {
		if cmd.Args == nil || cmd.Args(cmd, args) == nil {
			break
		}
		args = append(args, name)
	}
	return args
}
