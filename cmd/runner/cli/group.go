package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/advice"
)

// NewGroup returns a command that only holds other commands, such as checkpoint.
func NewGroup(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  UnknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(children...)
	return cmd
}

// UnknownCommand refuses arguments of a command that only holds other commands.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	hint := fmt.Sprintf("`%s --help` lists the commands", cmd.CommandPath())
	if under, rest, err := cmd.Find([]string{"checkpoint", args[0]}); err == nil && len(rest) == 0 && cmd.Root() == cmd {
		hint = fmt.Sprintf("did you mean `%s`?", under.CommandPath())
	} else if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean `%s %s`?", cmd.CommandPath(), near[0])
	}
	return advice.With(advice.Usagef("unknown command %q for `%s`", args[0], cmd.CommandPath()), hint)
}
