package checkpoints

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type pinOptions struct {
	prd       string
	reference string
	reason    string
	pinned    bool
	json      bool
}

func newPinCommand(env *cli.Environment) *cobra.Command {
	o := pinOptions{pinned: true}
	cmd := &cobra.Command{
		Use:     "pin PRD CHECKPOINT",
		Short:   "Protect a checkpoint from pruning",
		Example: `  runner checkpoint pin PRD-009 latest --reason "before the schema change"`,
		Args:    cli.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.reference = args[0], args[1]
			return runPin(cmd.Context(), env, o)
		},
	}
	cmd.Flags().StringVarP(&o.reason, "reason", "m", "", "record `TEXT` as the reason")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func newUnpinCommand(env *cli.Environment) *cobra.Command {
	var o pinOptions
	cmd := &cobra.Command{
		Use:     "unpin PRD CHECKPOINT",
		Short:   "Remove the pin of a checkpoint",
		Example: `  runner checkpoint unpin PRD-009 CP-services-20261003T1845`,
		Args:    cli.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.reference = args[0], args[1]
			return runPin(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runPin(ctx context.Context, env *cli.Environment, o pinOptions) error {
	store, st, err := load.TrustedState(ctx, env, load.PipelineRef{PRD: o.prd})
	if err != nil {
		return err
	}
	st = change.StateAfterFinish(ctx, store, st)
	meant, err := st.FindCheckpoint(o.reference)
	if err != nil { // before the lock, which writes
		err = fmt.Errorf("find checkpoint %q of %s: %w", o.reference, o.prd, err)
		return advice.Archived(env.CommandLine, store, o.prd, advice.UnknownReference(o.prd, err))
	}
	what, word := "checkpoint unpin", "Unpinned"
	if o.pinned {
		what, word = "checkpoint pin", "Pinned"
	}
	var ref *state.CheckpointRef
	var changed bool
	record := checkpoint.AuditRecord{What: what, Args: []state.Text{state.Text(o.reference)}, IDs: []string{meant.ID}, Reason: state.Text(o.reason)}
	t := &change.Target{Env: env, Store: store, PRD: o.prd}
	err = t.Change(ctx, &record, func(session *checkpoint.Session) (err error) {
		ref, changed, err = session.Pin(ctx, meant.ID, o.pinned, env.Actor(), o.reason)
		return err
	})
	if err != nil {
		return advice.UnknownReference(o.prd, err)
	}
	if o.json {
		return show.JSON(env.Stdout, info.NewPinReport(o.prd, changed, ref))
	}
	if !changed {
		word += " already"
	}
	fmt.Fprintf(env.Stdout, "%s: %s\n", word, ref.ID)
	return nil
}
