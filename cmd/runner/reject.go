package main

import (
	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/cmd/runner/answer"
	"prdrunner/cmd/runner/cli"
)

func newRejectCommand(env *cli.Environment) *cobra.Command {
	var o answer.Options
	cmd := &cobra.Command{
		Use:   "reject PRD [GATE]",
		Short: "Reject a gate that waits for a person",
		Long: `Reject a gate that waits for a person. The workstreams that the gate judges run
again when the session is resumed. GATE can be omitted if only one gate waits.

With --to, only the named workstreams run again, and whatever uses results of
theirs that differ then. Each must be one that the gate judges, or one that
runs before those.

The processes that run again find the text of -m in the file that
RUNNER_FEEDBACK names.`,
		Example: `  runner reject PRD-009 -m "the totals are wrong"
  runner reject PRD-009 sign-off --to design -m "page 2 lacks the error cases"`,
		Args: cli.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Pipeline.PRD, o.Gate = args[0], cli.FirstArgument(args[1:])
			return answer.Give(cmd.Context(), env, o, checkpoint.VerbReject)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&o.Message, "message", "m", "", "record `TEXT` with the answer, and hand it to what runs again")
	addInputFlag(cmd, &o)
	cmd.Flags().StringArrayVar(&o.To, "to", nil, "run `WORKSTREAM` again, instead of all that the gate judges (repeatable)")
	return cmd
}
