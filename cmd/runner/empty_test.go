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

// TestEmptyIsRefused gives every command an empty argument in each place that
// it has one in, and an empty value for each flag that takes one.
func TestEmptyIsRefused(t *testing.T) {
	t.Chdir(t.TempDir()) // should one be carried out after all, -C= too
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
			if placeholder == freeText || kind != "string" && kind != "stringArray" {
				return
			}
			refusesEmpty(t, "--"+flag.Name+" is empty", slices.Concat(command, []string{"--" + flag.Name + "="}, needed(cmd, nil)))
		})
	}
}

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

// placeholders are the arguments that a command takes before a --, each once.
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

// needed adds to the first arguments of a command those that it can't do without.
func needed(cmd *cobra.Command, args []string) []string {
	for _, name := range placeholders(cmd)[len(args):] {
		if cmd.Args == nil || cmd.Args(cmd, args) == nil {
			break
		}
		args = append(args, name)
	}
	return args
}
