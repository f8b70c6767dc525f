package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/docs"
	"prdrunner/cmd/runner/show"
	"prdrunner/cmd/runner/words"
)

// newHelpCommand returns the help command. It replaces cobra's, which exits 0 for an
// unknown command and knows no pages of a manual.
func newHelpCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Show the help of a command, or a page of the manual",
		Long: `Show the help of a command, or a page of the manual: "runner help tutorial" is the
first, and "runner help topics" lists all.`,
		Example: `  runner help build
  runner help topics
  runner help tutorial`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return slices.Concat(commandNames(cmd.Root()), []string{"topics"}, topics()), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err == nil && target != nil && len(rest) == 0 {
				target.InitDefaultHelpFlag()
				return target.Help()
			}
			if len(args) == 1 {
				return runHelp(cmd.Context(), env, args[0], commandNames(cmd.Root()))
			}
			if err == nil && target != nil {
				return cli.UnknownCommand(target, rest)
			}
			return cli.UnknownCommand(cmd.Root(), args)
		},
	}
}

// runHelp shows a page of the manual. commands are the names of the commands.
func runHelp(_ context.Context, env *cli.Environment, topic string, commands []string) error {
	width := env.Width(env.Stdout)
	if topic == "topics" {
		return show.ManualTopics(env.Stdout, docs.Groups(), width)
	}
	text, ok := docs.Find(strings.ToLower(topic))
	if !ok {
		hint := "`runner help topics` lists the pages of the manual, and `runner --help` the commands"
		if near := words.Nearest(topic, append(topics(), commands...)); near != "" {
			hint = fmt.Sprintf("did you mean `runner help %s`?", near)
		}
		return advice.With(advice.Usagef("there is no command and no page of the manual %q", topic), hint)
	}
	return show.Manual(env.Stdout, text, width)
}

// topics returns the names of the pages of the manual.
func topics() []string {
	var names []string
	for _, g := range docs.Groups() {
		for _, p := range g.Pages {
			names = append(names, p.Name)
		}
	}
	return names
}

// commandNames returns the names of the commands that a user may type.
func commandNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// withOptionalValues makes a help text name a flag whose value may be left out as it is typed: --resume[=CHECKPOINT].
// pflag has put the internal value that stands for none in the brackets. The columns stay where they are.
func withOptionalValues(help string) string {
	flag := regexp.MustCompile(`(?m)^( .*--[a-z-]+) ([A-Z]+)\[="[^"]*"\]`)
	return flag.ReplaceAllStringFunc(help, func(shown string) string {
		parts := flag.FindStringSubmatch(shown)
		return fmt.Sprintf("%-*s", len(shown), parts[1]+"[="+parts[2]+"]")
	})
}
