package checkpoints

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type createOptions struct {
	prd    string
	reason string
	json   bool
}

func newCreateCommand(env *cli.Environment) *cobra.Command {
	var o createOptions
	cmd := &cobra.Command{
		Use:   "create PRD",
		Short: "Make a checkpoint now",
		Long: `Make a checkpoint of a session and of the files of the workspace as they are now.
Files are captured only while nothing runs: during a build, the checkpoint has
the files of the last capture.`,
		Example: `  runner checkpoint create PRD-009 --reason "before the schema change"`,
		Args:    cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			return runCreate(cmd.Context(), env, o)
		},
	}
	cmd.Flags().StringVarP(&o.reason, "reason", "m", "", "record `TEXT` as the reason")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runCreate(ctx context.Context, env *cli.Environment, o createOptions) error {
	store, st, err := load.TrustedState(ctx, env, load.PipelineRef{PRD: o.prd})
	if err != nil {
		return err
	}
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	request := checkpoint.Request{PRD: o.prd, Verb: checkpoint.VerbCreate, Comment: state.Text(o.reason), By: env.Actor(), At: env.Now()}
	files := load.OpenWorkspaceAhead(ctx, env, cfg, store, st)
	defer files.Stop()
	var created *state.CheckpointRef
	var first *change.FinishedRollback
	err = (&change.Target{Env: env, Store: store, PRD: o.prd}).Ask(ctx, request, func(session *checkpoint.Session, done *change.FinishedRollback) (err error) {
		first = done
		w, err := files.Await()
		if err != nil {
			return err
		}
		masker, unknown := load.SecretsOf(env, cfg, load.PipelineRef{PRD: o.prd}, session.State(), nil)
		load.RefuseSecrets(env, w, masker, unknown)
		defer func() { err = errors.Join(err, w.Close()) }()
		if err := load.CheckBranchName(ctx, w.Git(), masker); err != nil {
			return err
		}
		created, err = session.Create(ctx, w, o.reason)
		load.SaveCache(env, w)
		return err
	})
	if err != nil {
		return err
	}
	byRun := created == nil
	if byRun {
		if created, err = change.NewestManualCheckpoint(store, o.prd); err != nil {
			return err
		}
	}
	notCaptured, err := load.NotCapturedAt(ctx, env, store, created)
	if err != nil {
		return fmt.Errorf("name what checkpoint %s, which was created, leaves out: %w", created.ID, err)
	}
	if o.json {
		return show.JSON(env.Stdout, info.NewCreatedReport(o.prd, created, notCaptured, first.KeptIDs()))
	}
	return show.Created(env.Stdout, created, byRun, notCaptured, first.KeptIDs())
}
