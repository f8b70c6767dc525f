package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/manual"
)

type manOptions struct {
	dir  string
	root *cobra.Command
}

func newManCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `Write a manual page for each command into a directory, which is made if it is
missing. The pages are those of section 1: "man -l DIR/runner-build.1" shows one, and
man finds them below a directory of MANPATH, in man1. Pages that are there are
replaced.`,
		Example: `  runner man ~/.local/share/man/man1
  man runner-build`,
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := newRootCommand(withoutArguments(env))
			root.InitDefaultHelpCmd()
			return runMan(cmd.Context(), env, manOptions{dir: env.Path(args[0]), root: root})
		},
	}
}

// withoutArguments returns an environment for a command line of which only the help is of
// interest. It makes newRootCommand make all commands.
func withoutArguments(env *cli.Environment) *cli.Environment {
	return &cli.Environment{
		Version: env.Version, Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr, Now: env.Now,
		IsTerminal: env.IsTerminal, Executable: env.Executable, Abs: env.Abs,
	}
}

func runMan(_ context.Context, env *cli.Environment, o manOptions) error {
	pages := manual.Pages(o.root, env.Version)
	if err := os.MkdirAll(o.dir, 0o755); err != nil { //nolint:gosec // everybody may read manuals
		return fmt.Errorf("write the manual pages: %w", err)
	}
	for _, page := range pages {
		path := filepath.Join(o.dir, page.Name+".1")
		if err := os.WriteFile(path, page.Text, 0o644); err != nil { //nolint:gosec // everybody may read manuals
			return fmt.Errorf("write the manual pages: %w", err)
		}
	}
	_, err := fmt.Fprintf(env.Stdout, "Wrote %d pages to %s\n", len(pages), env.Display(o.dir))
	return err
}
