package checkpoints

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
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

// RollbackOptions say what to roll back to, and how.
type RollbackOptions struct {
	To            string // names the checkpoint
	DryRun        bool
	Yes           bool
	JSON          bool
	Reason        string
	VariableFlags string // the flags that set variables of the pipeline, for a build that first rolls back
	// RepeatCommand returns the command that repeats the rollback, for the checkpoint's id.
	// After the rollback, a name such as latest~1 would mean another checkpoint. A dry run
	// does not need it.
	RepeatCommand func(id string) string

	stateOnly, filesOnly, manual, force bool
}

func newRollbackCommand(env *cli.Environment) *cobra.Command {
	var o RollbackOptions
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
		Args: cli.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.To = args[1]
			o.RepeatCommand = func(id string) string { return cli.WithoutText(cmd, []string{args[0], id}) }
			return runRollback(cmd.Context(), env, args[0], o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.stateOnly, "state-only", false, "restore only the state, exactly as it was at the checkpoint")
	flags.BoolVar(&o.filesOnly, "files-only", false, "restore only the files")
	flags.BoolVar(&o.DryRun, "dry-run", false, "show what would be done, and change nothing; if the rollback would be refused, exit with its exit code")
	flags.StringVarP(&o.Reason, "reason", "m", "", "record `TEXT` as the reason")
	flags.BoolVar(&o.force, "force", false, "roll back although some files cannot be restored, or although commits were pushed")
	flags.BoolVar(&o.manual, "manual", false, "print shell commands that restore the files, and change nothing")
	flags.BoolVar(&o.Yes, "yes", false, "do not ask")
	flags.BoolVar(&o.JSON, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("state-only", "files-only")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "manual")
	cmd.MarkFlagsMutuallyExclusive("manual", "json")
	return cmd
}

func (o RollbackOptions) options(env *cli.Environment) rollback.Options {
	return rollback.Options{To: o.To, Scope: o.scope(), Force: o.force, Deep: o.DryRun, Reason: o.Reason, By: env.Actor()}
}

func (o RollbackOptions) scope() state.RollbackScope {
	switch {
	case o.stateOnly:
		return state.RollbackState
	case o.filesOnly:
		return state.RollbackFiles
	}
	return state.RollbackAll
}

func runRollback(ctx context.Context, env *cli.Environment, prd string, o RollbackOptions) error {
	store, _, err := load.State(env, prd)
	if err != nil {
		return err
	}
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	if err := load.RefuseCalled(env, cfg, prd); err != nil {
		return err
	}
	w, err := load.GuardedWorkspace(ctx, env, cfg, store, prd)
	if err != nil {
		return err
	}
	t := &change.Target{Env: env, Store: store, PRD: prd, Files: w}
	return errors.Join(RollBack(ctx, t, env.Terminal(), o), w.Close())
}

// RollBack shows the rollback of a session, asks person, and carries it out. A dry run shows
// it only, and needs no person.
func RollBack(ctx context.Context, t *change.Target, person *view.Terminal, o RollbackOptions) error {
	if !o.DryRun && !o.manual {
		if err := finishUnplannable(ctx, t); err != nil {
			return err
		}
	}
	plan, err := rollback.PlanTo(ctx, t.Store, t.Files, t.PRD, o.options(t.Env))
	if err != nil {
		return refusedRollback(ctx, t, o, "", err)
	}
	tellPassedOver(t.Env, o.To, plan)
	leaving := *t
	leaving.Leaves = plan.Scope != state.RollbackFiles
	leaving.AnnounceRollbacks()
	if done, err := previewRollback(ctx, t, person, o, plan); done || err != nil {
		return refusedRollback(ctx, t, o, plan.Target.ID, err)
	}
	o.To = plan.Target.ID
	t.Env.Signals.ResumeWith(t.Env.Command(o.RepeatCommand(o.To)))
	cli.AnnounceRestore(t.Env, len(plan.Changes), o.JSON)
	session, first, err := leaving.Lock(ctx)
	if err != nil {
		return err
	}
	if first.Matches(plan) { // the user asked for the rollback that had been cut short
		st := session.State()
		load.SaveCache(t.Env, t.Files)
		return errors.Join(showRolledBack(t, o, st, first.Result), session.Close())
	}
	return carryOutRollback(ctx, t, session, o)
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

func showRollbackPreview(t *change.Target, o RollbackOptions, plan *rollback.Plan) error {
	if o.JSON {
		return show.JSON(t.Env.Stdout, info.NewRollbackPreviewReport(t.PRD, plan))
	}
	return show.RollbackPreview(t.Env.Stdout, t.PRD, plan)
}

// previewRollback shows what a rollback would do, and asks. It reports whether the command
// is done after that. A dry run is refused if the rollback would be.
func previewRollback(ctx context.Context, t *change.Target, person *view.Terminal, o RollbackOptions, plan *rollback.Plan) (bool, error) {
	switch {
	case o.manual:
		return true, show.RollbackScript(t.Env.Stdout, t.Env.Workdir, t.Store.Objects(), t.PRD, plan)
	case o.DryRun:
		return true, errors.Join(showRollbackPreview(t, o, plan), plan.Refused(o.force))
	}
	if !o.Yes {
		if err := show.RollbackPreview(t.Env.Stderr, t.PRD, plan); err != nil {
			return true, err
		}
	}
	if err := plan.Refused(o.force); err != nil {
		return true, err
	}
	return false, cli.Confirm(ctx, person, o.Yes, fmt.Sprintf("Roll %s back to %s?", t.PRD, plan.Target.ID))
}

// refusedRollback adds a hint to the error of a refused rollback. If damage is the reason,
// it marks the checkpoint as damaged, unless the command must not change anything. id is
// the checkpoint, "" if it is unknown.
func refusedRollback(ctx context.Context, t *change.Target, o RollbackOptions, id string, err error) error {
	unfinished, _ := rollback.PlanFinish(ctx, t.Store, nil, t.PRD) // a refused rollback must not finish an earlier one
	if _, _, ok := change.DamageIn(err, id); ok && unfinished == nil && !o.DryRun && !o.manual {
		session, _, locked := t.Lock(ctx)
		if locked != nil {
			return errors.Join(err, locked)
		}
		err = errors.Join(change.MarkDamage(ctx, t, session, id, err), session.Close())
	}
	return advice.Archived(t.Env.CommandLine, t.Store, t.PRD, o.addHint(t.PRD, id, err))
}

// tellPassedOver lists the damaged checkpoints that a reference such as latest~1 does not
// count.
func tellPassedOver(env *cli.Environment, reference string, plan *rollback.Plan) {
	if len(plan.PassedOver) > 0 {
		fmt.Fprintf(env.Stderr, "Marked as damaged, and not counted: %s; %s is %s\n", strings.Join(plan.PassedOver, ", "), reference, plan.Target.ID)
	}
}

// carryOutRollback carries a rollback out, shows how it ended, and closes the session.
func carryOutRollback(ctx context.Context, t *change.Target, session *checkpoint.Session, o RollbackOptions) error {
	record := checkpoint.AuditRecord{
		What: "checkpoint rollback",
		Args: []state.Text{state.Text(o.To), state.Text(o.scope())}, Reason: state.Text(o.Reason),
	}
	var done *rollback.Result
	var st *state.State
	err := t.CarryOut(session, &record, func(session *checkpoint.Session) (err error) {
		done, err = rollback.Run(ctx, session, t.Files, o.options(t.Env))
		if done != nil {
			record.IDs = []string{done.ID, done.To, done.Safety}
		}
		err = change.MarkDamage(ctx, t, session, o.To, err)
		st = session.State()
		return err
	})
	if err != nil {
		return rollbackFailed(t, o, st, err)
	}
	return showRolledBack(t, o, st, done)
}

func showRolledBack(t *change.Target, o RollbackOptions, st *state.State, done *rollback.Result) error {
	if o.JSON {
		return show.JSON(t.Env.Stdout, info.NewRollbackReport(t.PRD, st, done))
	}
	return show.RolledBack(t.Env.Stdout, t.Env.CommandLine, o.VariableFlags, st, done)
}

// addHint adds to the error of a refused rollback what to type next. target is the id of
// the checkpoint, "" if it is unknown. The command names the checkpoint by its id,
// because a name such as latest may mean another checkpoint once this one is marked as
// damaged.
func (o RollbackOptions) addHint(prd, target string, err error) error {
	if target == "" {
		return advice.Rollback(prd, err)
	}
	return advice.ForcedRollback(prd, "`runner "+advice.RollbackCommand(prd, target, o.scope())+" --force`", err)
}

// rollbackFailed shows the session and the files as a failed rollback left them.
func rollbackFailed(t *change.Target, o RollbackOptions, st *state.State, err error) error {
	var failed *rollback.Error
	if !errors.As(err, &failed) || failed.Undone && errors.Is(err, context.Canceled) {
		return o.addHint(t.PRD, o.To, err)
	}
	return errors.Join(err, show.RollbackFailed(t.Env.Stderr, t.Env.CommandLine, o.VariableFlags, st, failed))
}
