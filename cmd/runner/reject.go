package main

import (
	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
)

func newRejectCommand(env *cli.Environment) *cobra.Command {
	var o answerOptions
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
			o.pipeline.PRD, o.gate = args[0], cli.FirstArgument(args[1:])
			return runAnswer(cmd.Context(), env, o, checkpoint.VerbReject)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "record `TEXT` with the answer, and hand it to what runs again")
	addInputFlag(cmd, &o)
	cmd.Flags().StringArrayVar(&o.to, "to", nil, "run `WORKSTREAM` again, instead of all that the gate judges (repeatable)")
	return cmd
}

// resolve checks the inputs of an answer and the workstreams that a rejection names.
func (a *answer) resolve(st *state.State, g *state.Gate) error {
	var err error
	if a.to, err = (state.Rejection{State: st, Gate: g}).Work(a.to); err != nil {
		return advice.Usagef("--to: %w", err)
	}
	if a.inputs, err = state.CheckInputs(g.Asks, a.given, a.verb == checkpoint.VerbApprove); err != nil {
		return advice.Usagef("%s: %w", g.Label, err)
	}
	return nil
}
