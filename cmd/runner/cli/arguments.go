package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/advice"
)

// Arguments checks the number of arguments. The error shows the usage line, which names
// them.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		problem := "an argument is missing"
		if len(args) > most {
			problem = fmt.Sprintf("unexpected argument %q", args[most])
		}
		return advice.With(advice.Usagef("%s", problem), "usage: "+cmd.UseLine())
	}
}

// FirstArgument returns the first argument, "" if there is none.
func FirstArgument(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
