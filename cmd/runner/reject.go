package main

import (
	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/cmd/runner/cli"
)

func newRejectCommand(env *cli.Environment) *cobra.Command {
	var o answerOptions
	cmd := &cobra.Command{
		Use:   "reject PRD [GATE]",
		Short: "Reject a gate that waits for a person",
		Long: `Reject a gate that waits for a person. The workstreams that the gate judges run
again when the session is resumed. GATE can be omitted if only one gate waits.`,
		Example: `  runner reject PRD-009 -m "the totals are wrong"`,
		Args:    arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.pipeline.PRD, o.gate = args[0], firstArgument(args[1:])
			return runAnswer(cmd.Context(), env, o, checkpoint.VerbReject)
		},
	}
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "record `TEXT` with the answer")
	return cmd
}
