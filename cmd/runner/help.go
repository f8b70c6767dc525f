package main

import (
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
)

// newHelpCommand returns the help command. It replaces cobra's, which exits 0 for an
// unknown command.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil || target == nil {
				return cli.UnknownCommand(cmd.Root(), args)
			}
			if len(rest) > 0 {
				return cli.UnknownCommand(target, rest)
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
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
