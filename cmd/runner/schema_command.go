package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/schema"
	"prdrunner/cmd/runner/words"
)

func newSchemaCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of something that Runner writes or reads",
		Long: `Print a JSON Schema (2020-12): of runner.yaml, of the files that Runner writes, or of what
a command prints with --json. Without NAME, list all. The schema of a command has its
name: that of "runner checkpoint list --json" is checkpoint-list.`,
		Example: `  runner schema
  runner schema status
  runner schema runner-yaml > runner.schema.json`,
		Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSchema(cmd.Context(), env, strings.Join(args, ""))
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			names, err := schema.Names()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func runSchema(_ context.Context, env *cli.Environment, name string) error {
	names, err := schema.Names()
	if err != nil {
		return err
	}
	if name == "" {
		_, err = fmt.Fprintln(env.Stdout, strings.Join(names, "\n"))
		return err
	}
	text, ok := schema.Find(name)
	if !ok {
		hint := "`runner schema` lists them"
		if near := words.Nearest(name, names); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		return advice.With(advice.Usagef("there is no schema %q", name), hint)
	}
	_, err = env.Stdout.Write(text)
	return err
}
