package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
)

type overrideOptions struct {
	prd    string
	reason string
}

func newOverrideCommand(env *cli.Environment) *cobra.Command {
	var o overrideOptions
	cmd := &cobra.Command{
		Use:   "override PRD review",
		Short: "Go on in spite of a review that forbids it",
		Long: `Go on in spite of a review whose verdict is do_not_ship. The verdict becomes
"overridden"; who did it and why are on record and in the PRD document. The
override holds as long as what was reviewed is unchanged.`,
		Example:   `  runner override PRD-009 review --reason "the finding is about code that we remove next week"`,
		Args:      cli.Arguments(2, 2),
		ValidArgs: []string{"review"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.prd = args[0]; args[1] != "review" {
				return advice.With(advice.Usagef("only the review can be overridden, not %q", args[1]), "usage: "+cmd.UseLine())
			}
			return runOverride(cmd.Context(), env, o)
		},
	}
	cmd.Flags().StringVarP(&o.reason, "reason", "m", "", "record `TEXT` as the reason; required")
	return cmd
}

func runOverride(ctx context.Context, env *cli.Environment, o overrideOptions) error {
	if o.reason == "" {
		return advice.With(advice.Usagef("a reason is required, because it goes into the PRD document"), fmt.Sprintf("`%s`", env.Command("override "+o.prd+" review --reason TEXT")))
	}
	store, st, err := load.TrustedState(ctx, env, load.PipelineRef{PRD: o.prd})
	if err != nil {
		return err
	}
	if err := refuseOverride(o.prd, st.Review); err != nil {
		return err
	}
	record := checkpoint.AuditRecord{What: "override", Args: []state.Text{"review"}, Reason: state.Text(o.reason)}
	t := &change.Target{Env: env, Store: store, PRD: o.prd}
	err = t.Change(ctx, &record, func(session *checkpoint.Session) error {
		if err := refuseOverride(o.prd, session.State().Review); err != nil { // it may have changed before the lock
			return err
		}
		session.Add(state.ReviewOverridden{By: env.Actor(), Reason: state.Text(o.reason)})
		return session.Publish(ctx)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "Overridden: the review of %s\nNext: %s\n", o.prd, env.Command(advice.ResumeSession(st, "")))
	return nil
}

// refuseOverride refuses to override a review that does not forbid to go on.
func refuseOverride(prd string, r *state.Review) error {
	switch {
	case r == nil:
		return advice.With(advice.Usagef("%s has no review", prd), fmt.Sprintf("`runner status %s` shows its state", prd))
	case !r.Blocks():
		return advice.With(advice.Usagef("the review of %s does not forbid to go on: %s", prd, r.Describe()), fmt.Sprintf("`runner status %s` shows its state", prd))
	}
	return nil
}
