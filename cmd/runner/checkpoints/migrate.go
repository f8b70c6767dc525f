package checkpoints

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type migrateOptions struct {
	prd    string
	dryRun bool
	json   bool
}

func newMigrateCommand(env *cli.Environment) *cobra.Command {
	var o migrateOptions
	cmd := &cobra.Command{
		Use:   "migrate [PRD]",
		Short: "Convert sessions to the current format version",
		Long: `Convert the state of a session, or of all current sessions, to the current format
version. The old files are kept: the journal as journal.FIRST-LAST.jsonl, other
files in backup-VERSION/. You need not migrate: Runner reads the older versions.
An older Runner cannot read a migrated session. A session of a newer version is
refused and not changed.`,
		Example: `  runner checkpoint migrate PRD-009 --dry-run`,
		Args:    cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = cli.FirstArgument(args)
			return runMigrate(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would be done, and change nothing")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runMigrate(ctx context.Context, env *cli.Environment, o migrateOptions) error {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{PRD: o.prd})
	if err != nil {
		return err
	}
	prds := []string{o.prd}
	if o.prd == "" {
		if prds, err = store.Reader().PRDs(); err != nil {
			return err
		}
	} else if err := load.CheckPRD(env, cfg, o.prd); err != nil {
		return err
	}
	result := info.NewMigrationReport(o.dryRun)
	var failed error
	for _, prd := range prds {
		m, err := migrateOne(ctx, env, store, prd, o.dryRun)
		if errors.Is(err, checkpoint.ErrNoSession) && o.prd == "" {
			continue // a document written by hand
		}
		if errors.Is(err, checkpoint.ErrNoSession) {
			return load.NoSession(env, store, prd)
		}
		if err != nil { // the other sessions are still migrated
			failed = errors.Join(failed, advice.Locked(prd, err))
			continue
		}
		result.Add(prd, m)
	}
	if o.json {
		if failed != nil {
			return failed
		}
		return show.JSON(env.Stdout, result)
	}
	show.Migration(env.Stdout, result)
	return failed
}

func migrateOne(ctx context.Context, env *cli.Environment, store *checkpoint.Store, prd string, dryRun bool) (*repair.Migrated, error) {
	plan, err := repair.PlanMigrate(ctx, store, prd)
	if err != nil || dryRun || !plan.Needed() {
		return plan, err
	}
	record := checkpoint.AuditRecord{What: "checkpoint migrate", PRD: prd, Args: []state.Text{state.Text(plan.From), state.Text(plan.To)}}
	var done *repair.Migrated
	err = change.WithAudit(env, store, &record, func() (err error) {
		done, err = repair.Migrate(ctx, store, prd, env.Actor())
		if done != nil {
			record.Session, record.IDs = done.Session, done.Checkpoints
		}
		return err
	})
	return done, err
}
