package change

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/runner/protect"
	"prdrunner/runner/view"
)

// RollbacksDue returns the rollbacks of protected workstreams that the next command which
// changes the session carries out first. It returns none while another process owns the
// session.
func RollbacksDue(snap *checkpoint.Snapshot) []state.Protection {
	if snap.State == nil || snap.Owner != nil {
		return nil
	}
	return snap.State.RollbacksDue()
}

// finishProtected rolls back what protected workstreams changed that did not pass, and
// tells the user.
func finishProtected(ctx context.Context, env *cli.Environment, store *checkpoint.Store, session *checkpoint.Session, w *workspace.Workspace, due []state.Protection) error {
	st := session.State()
	record := checkpoint.AuditRecord{What: "roll back workstreams (finish)", PRD: st.PRD, Session: st.Session}
	for _, p := range due {
		fmt.Fprintf(env.Stderr, "What %s changed is to be rolled back; doing that first\n", p.Workstream)
		record.Args = append(record.Args, state.Text(p.Workstream))
		record.IDs = append(record.IDs, p.Checkpoint)
	}
	err := WithAudit(env, store, &record, func() error {
		err := protect.New(store.Safety(), w, env.Actor()).Finish(ctx, session, due, func(done protect.Finished) {
			what, details := view.DescribeRollback(done.Event)
			fmt.Fprintf(env.Stderr, "%s: %s\n", strings.ToUpper(what[:1])+what[1:], details)
			if done.Warning != "" {
				env.Warn(errors.New(done.Warning))
			}
		})
		return errors.Join(err, session.Publish(ctx))
	})
	return ExplainUnfinished(st.PRD, err)
}

// AnnounceRollbacks tells the user which workstreams the command rolls back before it does
// its own work.
func (t *Target) AnnounceRollbacks() {
	snap, err := t.Store.Load(t.PRD)
	if err != nil || snap.State == nil || snap.Owner != nil {
		return // the command itself reports the error
	}
	for _, p := range t.rollbacks(snap.State) {
		fmt.Fprintf(t.Env.Stderr, "First, what %s changed is rolled back to %s, since it has not passed\n", p.Workstream, p.Checkpoint)
	}
}

// AnnounceRollbacksDue tells the user of a command that changes nothing about the rollbacks
// that the next command which changes the session carries out first.
func AnnounceRollbacksDue(env *cli.Environment, due []state.Protection) {
	for _, p := range due {
		fmt.Fprintf(env.Stderr, "First, what %s changed is rolled back to %s; the files below are those of now\n", p.Workstream, p.Checkpoint)
	}
}

// ExplainUnfinished adds to the error of a rollback of a protected workstream what to type
// next.
func ExplainUnfinished(prd string, err error) error {
	var unfinished *protect.UnfinishedError
	if !errors.As(err, &unfinished) {
		return err
	}
	giveUp := fmt.Sprintf("`runner safety delete %s --force` gives the rollback up, and leaves everything as it is", unfinished.Checkpoint)
	if advice.IsA[*safety.NotFoundError](err) {
		return advice.With(err, giveUp)
	}
	again := fmt.Sprintf("`runner safety restore %s --dry-run` shows what is in the way, and `runner build %s --resume` tries again", unfinished.Checkpoint, prd)
	if len(unfinished.Savepoints) > 0 {
		again = fmt.Sprintf("make sure that the database can be reached, and that variables have the values of the build; `runner build %s --resume` tries again", prd)
	}
	return advice.With(err, again+"; "+giveUp)
}
