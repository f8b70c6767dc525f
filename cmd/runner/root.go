package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/checkpoints"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/logs"
	"prdrunner/cmd/runner/lsp"
	"prdrunner/cmd/runner/watch"
	"prdrunner/cmd/runner/words"
)

// newRootCommand returns the root command with all other commands.
func newRootCommand(env *cli.Environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "runner",
		Short: "Run a pipeline and record every step durably",
		Long: `Runner executes a pipeline declared in HCL and records every step durably. Kill
it at any moment: "runner build --resume" continues from exactly what is
recorded as done.

  runner init PRD-001             write a first pipeline
  runner build PRD-001            run it
  runner build PRD-001 --resume   resume it after a failure, a pause or a kill
  runner help tutorial            learn it in ten minutes; "runner help topics" lists the manual

The workspace is the nearest directory that holds a .runner, a runner.yaml (or
.toml, .json) or a pipeline. Runner looks in the current directory and upwards, as
far as the root of the git work tree. If it finds none, it takes the current
directory. -C names another one. init and checkpoint import work in the current
directory.

` + exitCodeHelp(),
		Args:          cli.UnknownCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd, args); err != nil {
				return err
			}
			if cmd.Name() == cobra.ShellCompRequestCmd {
				unquoteUsages(cmd.Root())
			}
			if err := env.Begin(cmd); err != nil {
				return err
			}
			neutralizeForCI(env, cmd)
			env.Signals.ResumeWith(env.Command(cli.WithoutText(cmd, args)))
			return maskFreeText(env, cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(flagError)
	addGlobalFlags(root, env)
	addCommands(root, env)
	addCompletions(root, env)
	showHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd == root {
			// Report an unknown command before the help of the root command.
			reportError(env, cli.UnknownCommand(root, root.Flags().Args()))
		}
		var help strings.Builder
		cmd.SetOut(&help)
		showHelp(cmd, args)
		cmd.SetOut(env.Stdout)
		if _, err := fmt.Fprint(env.Stdout, withOptionalValues(help.String())); err != nil {
			cmd.PrintErrln(err)
		}
	})
	markRunning(root, env)
	return root
}

// addCommands adds all commands, in the groups of `runner --help`. If the command line
// begins with the name of a command, it adds only that one: making the others takes longer
// than most commands run.
func addCommands(root *cobra.Command, env *cli.Environment) {
	type entry struct {
		name string
		make func(env *cli.Environment) *cobra.Command
	}
	groups := []struct {
		id, title string
		commands  []entry
	}{
		{"run", "Run pipelines:", []entry{
			{"build", newBuildCommand}, {"plan", newPlanCommand}, {"status", newStatusCommand}, {"watch", watch.NewCommand}, {"why", newWhyCommand},
			{"logs", logs.NewCommand}, {"outputs", newOutputsCommand}, {"history", newHistoryCommand}, {"diff", newDiffCommand}, {"render", newRenderCommand}, {"serve", newServeCommand},
			{"pause", newPauseCommand}, {"abandon", newAbandonCommand},
		}},
		{"decide", "Answer what waits for a person:", []entry{
			{"approve", newApproveCommand}, {"reject", newRejectCommand}, {"resolve", newResolveCommand}, {"override", newOverrideCommand},
		}},
		{"report", "Talk to Runner from within a workstream:", []entry{
			{"report", newReportCommand}, {"state", newStateCommand},
		}},
		{"state", "Work with checkpoints:", []entry{
			{"checkpoint", checkpoints.NewCommand}, {"safety", newSafetyCommand},
		}},
		{"write", "Write pipelines:", []entry{
			{"init", newInitCommand}, {"validate", newValidateCommand}, {"fmt", newFmtCommand}, {"graph", newGraphCommand},
			{"config", newConfigCommand}, {"lsp", lsp.NewCommand},
		}},
		{"other", "Other commands:", []entry{
			{"doctor", newDoctorCommand}, {"explain", newExplainCommand}, {"schema", newSchemaCommand},
			{"version", newVersionCommand}, {"man", newManCommand}, {"call", newCallCommand},
		}},
	}
	for _, g := range groups {
		for _, c := range g.commands {
			if len(env.Args) > 0 && env.Args[0] == c.name {
				root.AddCommand(c.make(env))
				return
			}
		}
	}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			cmd := c.make(env)
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	completion := newCompletionCommand(env)
	completion.GroupID = "other"
	root.AddCommand(completion)
	help := newHelpCommand(env)
	help.GroupID = "other"
	root.SetHelpCommand(help)
	root.SetHelpCommandGroupID("other")
}

func addGlobalFlags(root *cobra.Command, env *cli.Environment) {
	o := &env.Options
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVarP(&env.DirFlag, "directory", "C", "", "use `DIR` as the workspace; all paths are relative to it (default: the nearest workspace; the help of runner says how it is found)")
	flags.StringVar(&env.ConfigFlag, "config", "", "read `FILE` instead of the workspace's runner.yaml, .toml or .json")
	o.Output, o.LogLevel, o.LogFormat = "auto", "warn", "text"
	words := func(value *string, name, usage string, allowed ...string) {
		flags.Var(cli.NewEnum(value, allowed...), name, usage+": "+words.OneOf(allowed))
	}
	words(&o.Output, "output", "how to show a run", "auto", "plain", "json", "quiet")
	words(&o.LogLevel, "log-level", "log to standard error from this level", "trace", "debug", "info", "warn", "error", "off")
	words(&o.LogFormat, "log-format", "format of the log", "text", "json")
	flags.BoolVar(&o.NoColor, "no-color", false, "print no colours; the variable NO_COLOR does the same")
}

// markRunning makes a command and its subcommands set env.running when their own code
// begins. That distinguishes mistakes in the command line from errors of the command.
func markRunning(cmd *cobra.Command, env *cli.Environment) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			env.Running = true
			return run(c, args)
		}
	}
	for _, child := range cmd.Commands() {
		markRunning(child, env)
	}
}

// flagError explains the mistake in a flag, and suggests a flag that the user may have
// meant.
func flagError(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("`%s --help` lists the flags", cmd.CommandPath())
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid):
		if takes := valuesOf(invalid.GetFlag()); takes != "" {
			err = fmt.Errorf("--%s takes %s, not %q", invalid.GetFlag().Name, takes, invalid.GetValue())
		}
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := words.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			hint = fmt.Sprintf("did you mean --%s?", near)
		}
		if cmd.Name() == "plan" && unknown.GetSpecifiedName() == "fresh" {
			hint = "without --resume, a plan is always of a new session, as build --fresh begins one: leave --fresh out"
		}
	}
	return advice.With(&advice.UsageError{Err: err}, hint)
}

// valuesOf describes the values of a flag, or returns "" if the flag's own error describes
// them.
func valuesOf(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "int":
		return "a whole number, such as 4"
	case "bool":
		return "true or false, or no value"
	case "duration":
		return "a duration with its unit, such as 90s, 10m or 72h"
	}
	return ""
}

// exitCodeHelp returns the table of exit codes for the help text.
func exitCodeHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, row := range exitCodeTable() {
		fmt.Fprintf(&b, "  %3d  %s\n", row.code, row.meaning)
	}
	return strings.TrimRight(b.String(), "\n")
}
