package main

import (
	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/cmd/runner/answer"
	"prdrunner/cmd/runner/cli"
)

func newApproveCommand(env *cli.Environment) *cobra.Command {
	var o answer.Options
	cmd := &cobra.Command{
		Use:   "approve PRD [GATE]",
		Short: "Approve a gate that waits for a person",
		Long: `Approve a gate that waits for a person, whether or not a build is running. GATE
can be omitted if only one gate waits.

If the gate asks for inputs, give each with --input, unless it has a default.
"runner status" shows which ones it asks for.

The approval holds for exactly what the gate judged when it asked. If that has
changed, the command is refused; if it changes later, the gate asks again.

If no build is running, this command finds such changes itself. It needs the
pipeline for that: it reads the file that the session ran, or the one given by
-f, and takes variables in the same way as "runner build".`,
		Example: `  runner approve PRD-009
  runner approve PRD-009 'sign-off (services)' -m "checked on staging"
  runner approve PRD-009 direction --input style=short --input feedback="less text"`,
		Args: cli.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Pipeline.PRD, o.Gate = args[0], cli.FirstArgument(args[1:])
			return answer.Give(cmd.Context(), env, o, checkpoint.VerbApprove)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&o.Message, "message", "m", "", "record `TEXT` with the answer")
	addInputFlag(cmd, &o)
	o.Pipeline.AddFlags(cmd)
	return cmd
}

// addInputFlag adds the flag for the inputs of an answer.
func addInputFlag(cmd *cobra.Command, o *answer.Options) {
	cmd.Flags().StringArrayVar(&o.Inputs, "input", nil, "give an input that the gate asks for, as `NAME=TEXT` (repeatable)")
}
