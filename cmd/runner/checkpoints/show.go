package checkpoints

import (
	"context"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type showOptions struct {
	prd       string
	reference string
	json      bool
}

func newShowCommand(env *cli.Environment) *cobra.Command {
	o := showOptions{reference: "latest"}
	cmd := &cobra.Command{
		Use:   "show PRD [CHECKPOINT]",
		Short: "Show the contents of a checkpoint",
		Long: `Show what a checkpoint contains, and whether it is intact. Without CHECKPOINT, show
the latest one. If the checkpoint is damaged, show what the journal has of it, and
exit 5. "runner checkpoint --help" says how to name a checkpoint.`,
		Example: `  runner checkpoint show PRD-009 latest~1`,
		Args:    cli.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			if len(args) > 1 {
				o.reference = args[1]
			}
			return runShow(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runShow(ctx context.Context, env *cli.Environment, o showOptions) error {
	store, st, err := load.NamedOrOnlyState(env, o.prd)
	if err != nil {
		return err
	}
	return load.WithWorkspace(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) error {
		found, err := rollback.Inspect(ctx, store, w, st.PRD, o.reference)
		if err != nil {
			return advice.Archived(env.CommandLine, store, st.PRD, advice.UnknownReference(st.PRD, err))
		}
		if found.File == nil {
			return advice.With(found.Unread, "`runner checkpoint validate "+st.PRD+"` names the valid ones")
		}
		if o.json {
			err = show.JSON(env.Stdout, info.NewCheckpointReport(found))
		} else {
			err = show.Checkpoint(env.Stdout, env.CommandLine, env.Now(), found)
		}
		if err == nil && !found.Check.Whole() {
			err = ErrDamageShown
		}
		return err
	})
}
