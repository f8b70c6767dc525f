package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

type checkpointRollbackOptions struct {
	prd           string
	reference     string
	stateOnly     bool
	filesOnly     bool
	dryRun        bool
	manual        bool
	force         bool
	yes           bool
	json          bool
	reason        string
	variableFlags string // the flags that set variables of the pipeline, for a build that first rolls back
	// again returns the command that repeats the rollback, for the checkpoint's id. After
	// the rollback, a name such as latest~1 would mean another checkpoint.
	repeatCommand func(id string) string
}

func newCheckpointRollbackCommand(env *cli.Environment) *cobra.Command {
	var o checkpointRollbackOptions
	cmd := &cobra.Command{
		Use:   "rollback PRD CHECKPOINT",
		Short: "Go back to a checkpoint",
		Long: `Take the state of a session and the files of the workspace back to a checkpoint.
Rollback shows what would be discarded, asks, and first makes a pre_rollback
checkpoint of the current state and files. To undo the rollback, roll back to that
checkpoint.

If workstreams completed after the checkpoint's files were captured, and Runner
cannot restore everything that they changed, the state goes back to the capture
and these workstreams run again. The preview lists them.

Files that look sensitive are not changed, unless git tracks them, and neither
are files that a capture at the checkpoint would not have included.`,
		Example: `  runner checkpoint rollback PRD-009 latest~1 --dry-run
  runner checkpoint rollback PRD-009 CP-services-20261003T1845 --reason "wrong schema"`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.reference = args[0], args[1]
			o.repeatCommand = func(id string) string { return wordless(cmd, []string{o.prd, id}) }
			return runCheckpointRollback(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.stateOnly, "state-only", false, "restore only the state, exactly as it was at the checkpoint")
	flags.BoolVar(&o.filesOnly, "files-only", false, "restore only the files")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would be done, and change nothing; if the rollback would be refused, exit with its exit code")
	flags.StringVarP(&o.reason, "reason", "m", "", "record `TEXT` as the reason")
	flags.BoolVar(&o.force, "force", false, "roll back although some files cannot be restored, or although commits were pushed")
	flags.BoolVar(&o.manual, "manual", false, "print shell commands that restore the files, and change nothing")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("state-only", "files-only")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "manual")
	cmd.MarkFlagsMutuallyExclusive("manual", "json")
	return cmd
}

func (o checkpointRollbackOptions) options(env *cli.Environment) rollback.Options {
	return rollback.Options{To: o.reference, Scope: o.rollbackScope(), Force: o.force, Deep: o.dryRun, Reason: o.reason, By: env.Actor()}
}

func (o checkpointRollbackOptions) rollbackScope() state.RollbackScope {
	switch {
	case o.stateOnly:
		return state.RollbackState
	case o.filesOnly:
		return state.RollbackFiles
	}
	return state.RollbackAll
}

func runCheckpointRollback(ctx context.Context, env *cli.Environment, o checkpointRollbackOptions) error {
	store, _, err := load.State(env, o.prd)
	if err != nil {
		return err
	}
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	if err := load.RefuseCalled(env, cfg, o.prd); err != nil {
		return err
	}
	w, err := load.GuardedWorkspace(ctx, env, cfg, store, o.prd)
	if err != nil {
		return err
	}
	t := &change.Target{Env: env, Store: store, PRD: o.prd, Files: w}
	return errors.Join(runRollback(ctx, t, env.Terminal(), o), w.Close())
}

// runRollback shows the rollback, asks, and carries it out.
func runRollback(ctx context.Context, t *change.Target, person *view.Terminal, o checkpointRollbackOptions) error {
	if !o.dryRun && !o.manual {
		if err := finishUnplannable(ctx, t); err != nil {
			return err
		}
	}
	plan, err := rollback.PlanTo(ctx, t.Store, t.Files, o.prd, o.options(t.Env))
	if err != nil {
		return refusedRollback(ctx, t, o, "", err)
	}
	tellPassedOver(t.Env, o.reference, plan)
	leaving := *t
	leaving.Leaves = plan.Scope != state.RollbackFiles
	leaving.AnnounceRollbacks()
	if done, err := previewRollback(ctx, t.Env, t.Store, person, o, plan); done || err != nil {
		return refusedRollback(ctx, t, o, plan.Target.ID, err)
	}
	o.reference = plan.Target.ID
	t.Env.Signals.ResumeWith(t.Env.Command(o.repeatCommand(o.reference)))
	cli.AnnounceRestore(t.Env, len(plan.Changes), o.json)
	session, first, err := leaving.Lock(ctx)
	if err != nil {
		return err
	}
	if first.Matches(plan) { // the user asked for the rollback that had been cut short
		st := session.State()
		load.SaveCache(t.Env, t.Files)
		return errors.Join(showRolledBack(t.Env, o, st, first.Result), session.Close())
	}
	return rollBack(ctx, t, session, o)
}

// finishUnplannable finishes what a rollback can't be planned without: a rescue copy, an
// incomplete end of the journal, or an import that was cut short. If only a rollback was
// cut short, finishUnplannable does not finish it: the plan knows where that leads, and a
// rollback that is refused must finish nothing.
func finishUnplannable(ctx context.Context, t *change.Target) error {
	snap, err := change.ReadSession(t.Store, t.PRD)
	if err != nil || !change.Interrupted(snap) {
		return nil // rollback.PlanTo reports the error
	}
	if change.RollingBack(snap) && snap.RescuePath == "" && snap.Import == nil {
		if first, err := rollback.PlanFinish(ctx, t.Store, nil, t.PRD); err == nil && first != nil {
			return nil
		}
	}
	_, err = t.FinishInterrupted(ctx)
	return err
}

func showRollbackPreview(env *cli.Environment, o checkpointRollbackOptions, plan *rollback.Plan) error {
	if o.json {
		return show.JSON(env.Stdout, show.NewRollbackPreviewReport(o.prd, plan))
	}
	return show.RollbackPreview(env.Stdout, o.prd, plan)
}

// previewRollback shows what a rollback would do, and asks. It reports whether the command
// is done after that. A dry run is refused if the rollback would be.
func previewRollback(ctx context.Context, env *cli.Environment, store *checkpoint.Store, person *view.Terminal, o checkpointRollbackOptions, plan *rollback.Plan) (bool, error) {
	switch {
	case o.manual:
		return true, show.RollbackScript(env.Stdout, env.Workdir, store.Objects(), o.prd, plan)
	case o.dryRun:
		return true, errors.Join(showRollbackPreview(env, o, plan), plan.Refused(o.force))
	}
	if !o.yes {
		if err := show.RollbackPreview(env.Stderr, o.prd, plan); err != nil {
			return true, err
		}
	}
	if err := plan.Refused(o.force); err != nil {
		return true, err
	}
	return false, cli.Confirm(ctx, person, o.yes, fmt.Sprintf("Roll %s back to %s?", o.prd, plan.Target.ID))
}

// refusedRollback adds a hint to the error of a refused rollback. If damage is the reason,
// it marks the checkpoint as damaged, unless the command must not change anything. id is
// the checkpoint, "" if it is unknown.
func refusedRollback(ctx context.Context, t *change.Target, o checkpointRollbackOptions, id string, err error) error {
	unfinished, _ := rollback.PlanFinish(ctx, t.Store, nil, o.prd) // a refused rollback must not finish an earlier one
	if _, _, ok := change.DamageIn(err, id); ok && unfinished == nil && !o.dryRun && !o.manual {
		session, _, locked := t.Lock(ctx)
		if locked != nil {
			return errors.Join(err, locked)
		}
		err = errors.Join(change.MarkDamage(ctx, t, session, id, err), session.Close())
	}
	return advice.Archived(t.Env.CommandLine, t.Store, o.prd, o.addHint(id, err))
}

// tellPassedOver lists the damaged checkpoints that a reference such as latest~1 does not
// count.
func tellPassedOver(env *cli.Environment, reference string, plan *rollback.Plan) {
	if len(plan.PassedOver) > 0 {
		fmt.Fprintf(env.Stderr, "Marked as damaged, and not counted: %s; %s is %s\n", strings.Join(plan.PassedOver, ", "), reference, plan.Target.ID)
	}
}

// rollBack carries a rollback out, shows how it ended, and closes the session.
func rollBack(ctx context.Context, t *change.Target, session *checkpoint.Session, o checkpointRollbackOptions) error {
	record := checkpoint.AuditRecord{
		What: "checkpoint rollback",
		Args: []state.Text{state.Text(o.reference), state.Text(o.rollbackScope())}, Reason: state.Text(o.reason),
	}
	var done *rollback.Result
	var st *state.State
	err := t.CarryOut(session, &record, func(session *checkpoint.Session) (err error) {
		done, err = rollback.Run(ctx, session, t.Files, o.options(t.Env))
		if done != nil {
			record.IDs = []string{done.ID, done.To, done.Safety}
		}
		err = change.MarkDamage(ctx, t, session, o.reference, err)
		st = session.State()
		return err
	})
	if err != nil {
		return rollbackFailed(t.Env, o, st, err)
	}
	return showRolledBack(t.Env, o, st, done)
}

func showRolledBack(env *cli.Environment, o checkpointRollbackOptions, st *state.State, done *rollback.Result) error {
	if o.json {
		return show.JSON(env.Stdout, show.NewRollbackReport(o.prd, st, done))
	}
	return show.RolledBack(env.Stdout, env.CommandLine, o.variableFlags, st, done)
}

// addHint adds to the error of a refused rollback what to type next. target is the id of
// the checkpoint, "" if it is unknown. The command names the checkpoint by its id,
// because a name such as latest may mean another checkpoint once this one is marked as
// damaged.
func (o checkpointRollbackOptions) addHint(target string, err error) error {
	if target == "" {
		return advice.Rollback(o.prd, err)
	}
	return advice.ForcedRollback(o.prd, "`runner "+advice.RollbackCommand(o.prd, target, o.rollbackScope())+" --force`", err)
}

// rollbackFailed shows the session and the files as a failed rollback left them.
func rollbackFailed(env *cli.Environment, o checkpointRollbackOptions, st *state.State, err error) error {
	var failed *rollback.Error
	if !errors.As(err, &failed) || failed.Undone && errors.Is(err, context.Canceled) {
		return o.addHint(o.reference, err)
	}
	return errors.Join(err, show.RollbackFailed(env.Stderr, env.CommandLine, o.variableFlags, st, failed))
}
