package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type rebuildOptions struct {
	prd        string
	references []string
	journal    bool
	dryRun     bool
	yes        bool
	json       bool
}

func newRebuildCommand(env *cli.Environment) *cobra.Command {
	var o rebuildOptions
	cmd := &cobra.Command{
		Use:   "rebuild PRD [CHECKPOINT]...",
		Short: "Repair damaged checkpoints or a damaged journal",
		Long: `Repair damaged checkpoints: write their files again from the journal, and restore
lost objects from git or from files of the workspace with the same content. The
damaged files are kept next to the journal.

With --journal, repair a damaged journal: start a new one from the newest state
that is intact, in a checkpoint file or in the journal before the damage.
Everything recorded after that state is lost, and is listed as far as it can be
read. The damaged journal is kept.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.journal {
				return cli.Arguments(1, 1)(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.references = args[0], args[1:]
			if o.journal {
				return runRebuildJournal(cmd.Context(), env, o)
			}
			return runRebuild(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.journal, "journal", false, "repair a damaged journal; everything after its newest intact state is lost")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would be done, and change nothing")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runRebuild(ctx context.Context, env *cli.Environment, o rebuildOptions) error {
	store, st, err := load.State(env, o.prd)
	if advice.IsA[*state.DamagedError](err) {
		return advice.With(err, "`runner checkpoint rebuild "+o.prd+" --journal` starts a new journal")
	}
	if err != nil {
		return err
	}
	return load.WithWorkspace(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) error {
		if o.dryRun {
			found, err := validate.Run(ctx, store, w, validate.Options{PRD: o.prd, Refs: o.references, Deep: true})
			if err != nil {
				return advice.UnknownReference(o.prd, err)
			}
			if err := found.Unread(); err != nil {
				return fmt.Errorf("rebuild checkpoints of %s: %w", o.prd, err)
			}
			return writeRebuilt(env, o, wouldRebuild(found))
		}
		for _, reference := range o.references { // before the change, which may finish a rollback or an import
			if _, err := change.StateAfterFinish(ctx, store, st).FindCheckpoint(reference); err != nil {
				return advice.UnknownReference(o.prd, fmt.Errorf("find checkpoint %q of %s: %w", reference, o.prd, err))
			}
		}
		var rebuilt []repair.RebuiltCheckpoint
		record := checkpoint.AuditRecord{What: "checkpoint rebuild", Args: state.Texts(o.references)}
		t := &change.Target{Env: env, Store: store, PRD: o.prd, Files: w}
		err = t.Change(ctx, &record, func(session *checkpoint.Session) (err error) {
			rebuilt, err = repair.RebuildCheckpoints(ctx, session, w, o.references)
			auditRebuilt(&record, rebuilt)
			return err
		})
		if err != nil {
			return advice.UnknownReference(o.prd, err)
		}
		return writeRebuilt(env, o, rebuilt)
	})
}

// auditRebuilt adds to an audit record the checkpoints that were rebuilt, and their
// damage.
func auditRebuilt(record *checkpoint.AuditRecord, rebuilt []repair.RebuiltCheckpoint) {
	var why []string
	for i := range rebuilt {
		r := &rebuilt[i]
		record.IDs = append(record.IDs, r.ID)
		if len(r.Was) == 0 {
			why = append(why, "its file was missing")
		}
		for _, was := range r.Was {
			why = append(why, string(was))
		}
	}
	record.Because(why...)
}

// wouldRebuild returns the checkpoints of the current session for which a rebuild has
// something to do.
func wouldRebuild(found *validate.Validation) []repair.RebuiltCheckpoint {
	list := []repair.RebuiltCheckpoint{}
	for _, s := range found.Sessions {
		for i := range s.Checkpoints {
			c := &s.Checkpoints[i]
			if s.Place == disk.PlaceCurrent && c.Mendable() {
				list = append(list, repair.NewRebuilt(*c))
			}
		}
	}
	return list
}

func writeRebuilt(env *cli.Environment, o rebuildOptions, rebuilt []repair.RebuiltCheckpoint) error {
	damaged := slices.ContainsFunc(rebuilt, func(r repair.RebuiltCheckpoint) bool { return !r.Whole() || o.dryRun && len(r.Was) > 0 })
	if o.json {
		if err := show.JSON(env.Stdout, info.NewRebuiltReport(o.prd, o.dryRun, rebuilt)); err != nil {
			return err
		}
	} else {
		show.RebuiltCheckpoints(env.Stdout, env.CommandLine, o.dryRun, rebuilt)
	}
	if damaged {
		return ErrDamageShown
	}
	return nil
}

func runRebuildJournal(ctx context.Context, env *cli.Environment, o rebuildOptions) error {
	store, err := load.OpenAnyStore(env, o.prd)
	if err != nil {
		return err
	}
	plan, err := repair.PlanJournalRebuild(store, o.prd)
	if err != nil {
		return rebuildHint(o.prd, err)
	}
	if o.dryRun {
		return writeRebuiltJournal(env, o, plan)
	}
	if !o.yes {
		show.RebuiltJournal(env.Stderr, env.CommandLine, o.prd, plan)
	}
	if err := cli.Confirm(ctx, env.Terminal(), o.yes, fmt.Sprintf("Start a new journal of %s at step %d?", o.prd, plan.Step)); err != nil {
		return err
	}
	record := checkpoint.AuditRecord{What: "checkpoint rebuild --journal", PRD: o.prd}
	auditJournal(&record, plan)
	err = change.WithAudit(env, store, &record, func() (err error) {
		plan, err = repair.RebuildJournal(ctx, store, o.prd, env.Actor())
		if err == nil {
			auditJournal(&record, plan)
		}
		return err
	})
	if err != nil {
		return rebuildHint(o.prd, err)
	}
	return writeRebuiltJournal(env, o, plan)
}

// auditJournal adds to an audit record the checkpoint from which the new journal starts,
// the checkpoints that are gone, the rollbacks that were under way or began in a lost
// commit, and the damage.
func auditJournal(record *checkpoint.AuditRecord, r *repair.JournalRebuild) {
	record.Session, record.IDs, record.Reason = r.Session, nil, state.Text(r.Damage.Error())
	if r.From != "" {
		record.IDs = append(record.IDs, r.From)
	}
	record.IDs = append(record.IDs, r.Gone...)
	for _, met := range r.Rollbacks {
		record.IDs = append(record.IDs, met.ID)
	}
}

// rebuildHint adds to the error of a journal that is not rebuilt what the user can do
// instead.
func rebuildHint(prd string, err error) error {
	switch {
	case errors.Is(err, repair.ErrNotDamaged):
		return advice.With(&advice.UsageError{Err: err}, "`runner checkpoint validate "+prd+"` looks at the checkpoints")
	case advice.IsA[*state.DamagedError](err):
		return advice.With(err, "`runner abandon "+prd+"` archives all of it")
	}
	return err
}

func writeRebuiltJournal(env *cli.Environment, o rebuildOptions, r *repair.JournalRebuild) error {
	if !o.json {
		show.RebuiltJournal(env.Stdout, env.CommandLine, o.prd, r)
		return nil
	}
	return show.JSON(env.Stdout, info.NewRebuiltJournalReport(env.CommandLine, o.prd, o.dryRun, r))
}
