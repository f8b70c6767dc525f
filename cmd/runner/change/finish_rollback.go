package change

import (
	"context"
	"fmt"
	"io"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

// FinishedRollback describes a rollback that was cut short, and that a command finished
// before it did its own work. It is nil if no rollback was cut short.
type FinishedRollback struct {
	PRD    string
	intent state.RollbackStarted
	Result *rollback.Result
	kept   []*state.CheckpointRef // the checkpoints of files that were edited in between
}

// finishRollback finishes a rollback of a session and its files that was cut short.
func finishRollback(ctx context.Context, env *cli.Environment, store *checkpoint.Store, session *checkpoint.Session, w *workspace.Workspace) (*FinishedRollback, error) {
	st := session.State()
	f := &FinishedRollback{PRD: st.PRD, intent: *st.Rollback}
	had := len(st.KeptEdits(f.intent))
	fmt.Fprintf(env.Stderr, "A rollback of %s to %s was cut short; finishing it first\n", f.PRD, f.intent.To)
	record := checkpoint.AuditRecord{
		What: "checkpoint rollback (finish)", PRD: f.PRD, Session: st.Session,
		Args: []state.Text{state.Text(f.intent.To)}, IDs: []string{f.intent.ID, f.intent.To, f.intent.Safety}, Reason: f.intent.Reason,
	}
	err := WithAudit(env, store, &record, func() (err error) {
		f.Result, err = rollback.Finish(ctx, session, w)
		f.kept = session.State().KeptEdits(f.intent)
		for _, ref := range f.kept[had:] {
			record.IDs = append(record.IDs, ref.ID)
		}
		return err
	})
	if err != nil {
		f.kept = f.kept[had:]
		f.printKeptEdits(env)
		return nil, advice.Rollback(f.PRD, f.refusal(err))
	}
	fmt.Fprintf(env.Stderr, "Rolled back to %s: %s written, %s deleted\n", f.Result.To, view.Plural(f.Result.Written, "file"), view.Plural(f.Result.Deleted, "file"))
	f.printKeptEdits(env)
	return f, nil
}

// printKeptEdits names the checkpoints of edited files, and the commands that restore them.
func (f *FinishedRollback) printKeptEdits(env *cli.Environment) {
	for _, ref := range f.kept {
		fmt.Fprintf(env.Stderr, "The files edited since then are in checkpoint %s, with all others as they were; to restore them: %s\n",
			ref.ID, env.Command(f.restoreCommand(ref)))
	}
}

func (f *FinishedRollback) restoreCommand(ref *state.CheckpointRef) string {
	return "checkpoint rollback " + f.PRD + " " + ref.ID + " --files-only"
}

// KeptIDs returns the ids of the checkpoints of edited files.
func (f *FinishedRollback) KeptIDs() []string {
	if f == nil {
		return nil
	}
	ids := make([]string, len(f.kept))
	for i, ref := range f.kept {
		ids[i] = ref.ID
	}
	return ids
}

// Matches reports whether the finished rollback is the one that is planned.
func (f *FinishedRollback) Matches(plan *rollback.Plan) bool {
	return f != nil && f.Result.To == plan.Target.ID && f.Result.Scope == plan.Scope
}

// KeptEditsError reports that a session is not set aside, because only one of its
// checkpoints holds the files that were edited while its rollback was not finished.
type KeptEditsError struct {
	PRD, kept string
	err       error // why the rollback could not be finished, nil if it was finished
}

func (e *KeptEditsError) Error() string {
	message := fmt.Sprintf("%s stays as it is: what was edited before its rollback was finished is only in checkpoint %s", e.PRD, e.kept)
	if e.err != nil {
		message += ": " + e.err.Error()
	}
	return message
}

func (e *KeptEditsError) Unwrap() error { return e.err }

// refusal adds to the error of a rollback that failed that edits had been kept before.
func (f *FinishedRollback) refusal(err error) error {
	if len(f.kept) == 0 {
		return err
	}
	return &KeptEditsError{PRD: f.PRD, kept: f.kept[len(f.kept)-1].ID, err: err}
}

// RefuseToLeave returns an error for commands that set the session aside if edits were
// kept in a checkpoint, because no other command can use its checkpoints afterwards. It
// refuses only once, so that the user can restore the edits.
func (f *FinishedRollback) RefuseToLeave(env *cli.Environment) error {
	if f == nil || len(f.kept) == 0 {
		return nil
	}
	last := f.kept[len(f.kept)-1]
	return advice.With(&KeptEditsError{PRD: f.PRD, kept: last.ID},
		fmt.Sprintf("`runner %s` restores the edits; to continue without them, run the same command again", f.restoreCommand(last)))
}

// StateAfterFinish returns the state of a session as it will be once a rollback that was
// cut short is finished. Commands decide by that state before they finish anything. If it
// can't be determined, StateAfterFinish returns st: finishing the rollback reports the
// reason.
func StateAfterFinish(ctx context.Context, store *checkpoint.Store, st *state.State) *state.State {
	if st.Rollback == nil {
		return st
	}
	f, err := rollback.PlanFinish(ctx, store, nil, st.PRD)
	if err != nil || f == nil {
		return st
	}
	return f.After
}

// PlannedFinish returns what finishing a rollback would do, for a command that changes
// nothing.
func PlannedFinish(ctx context.Context, env *cli.Environment, store *checkpoint.Store, prd string) (p *info.UnfinishedRollbackReport, err error) {
	err = load.WithWorkspace(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) error {
		f, err := rollback.PlanFinish(ctx, store, w, prd)
		p = info.NewUnfinishedRollbackReport(f)
		return err
	})
	return p, err
}

// AnnounceFinish tells the user of a command that changes nothing about a rollback that was
// cut short. The next command that changes the session finishes that rollback.
func AnnounceFinish(ctx context.Context, env *cli.Environment, store *checkpoint.Store, w *workspace.Workspace, prd string) error {
	first, err := rollback.PlanFinish(ctx, store, w, prd)
	if err != nil || first == nil {
		return err
	}
	var b strings.Builder
	show.UnfinishedRollback(&b, "", first)
	_, err = io.WriteString(env.Stderr, b.String())
	return err
}
