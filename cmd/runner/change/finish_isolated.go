package change

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/runner/isolate"
)

// finishReturn puts results of isolated workstreams into the workspace whose return was cut
// short, or takes them back if the command leaves the session, and tells the user.
func (t *Target) finishReturn(ctx context.Context, session *checkpoint.Session, w *workspace.Workspace) error {
	st := session.State()
	record := checkpoint.AuditRecord{What: "return results (finish)", PRD: st.PRD, Session: st.Session}
	for _, rec := range st.Returning() {
		fmt.Fprintf(t.Env.Stderr, "The return of the result of %s was cut short; finishing it first\n", rec.Name)
		record.Args = append(record.Args, state.Text(rec.Name))
	}
	err := WithAudit(t.Env, t.Store, &record, func() error {
		err := isolate.Finish(ctx, session, w, t.Leaves, func(f isolate.Finished) { tellFinished(t.Env, f) })
		return errors.Join(err, session.Publish(ctx))
	})
	switch {
	case err == nil:
		return nil
	case t.Leaves:
		return advice.UntakenResult(st.PRD, err)
	}
	return advice.UnfinishedReturn(st.PRD, err)
}

func tellFinished(env *cli.Environment, f isolate.Finished) {
	if f.Why == "" {
		fmt.Fprintln(env.Stderr, f)
		return
	}
	env.Warn(errors.New(f.String()))
}
