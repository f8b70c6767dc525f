package main

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/config"
	"prdrunner/runner/view"
)

// lockSession locks a session to change it, and first finishes an import or a rollback
// that was cut short. w may be nil if the command needs no files; lockSession then opens
// the workspace if it has to finish something.
func lockSession(ctx context.Context, env *environment, cfg *config.Config, store *checkpoint.Store, prd string, w *workspace.Workspace) (*checkpoint.Session, error) {
	session, _, err := lockFinished(ctx, env, cfg, store, prd, w)
	return session, err
}

// lockFinished does the work of lockSession, and also returns the rollback that it
// finished, or nil.
func lockFinished(ctx context.Context, env *environment, cfg *config.Config, store *checkpoint.Store, prd string, w *workspace.Workspace) (*checkpoint.Session, *finished, error) {
	session, err := lockOnly(ctx, env, store, prd)
	if err != nil {
		return nil, nil, err
	}
	done, err := finishEarlier(ctx, env, cfg, store, session, w)
	if err != nil {
		return nil, nil, errors.Join(err, session.Close())
	}
	return session, done, nil
}

// lockOnly locks a session, and finishes nothing.
func lockOnly(ctx context.Context, env *environment, store *checkpoint.Store, prd string) (*checkpoint.Session, error) {
	session, err := store.Lock(ctx, prd, env.actor())
	if err != nil {
		return nil, lockHint(prd, err)
	}
	return session, nil
}

// finishInterrupted does what the next owner of a session would do first, so that decisions and plans
// are about the state after that. It takes over a rescue copy, sets aside the incomplete
// end of the journal, and finishes an import or a rollback that was cut short, of which
// perhaps only the rescue copy tells. unsettled reports whether there is anything to do.
func finishInterrupted(ctx context.Context, env *environment, cfg *config.Config, store *checkpoint.Store, prd string, w *workspace.Workspace) (*finished, error) {
	session, done, err := lockFinished(ctx, env, cfg, store, prd, w)
	if err != nil {
		return nil, err
	}
	return done, session.Close()
}

// readSession reads a session without a lock. If there is no session, the snapshot holds
// only the import of a first session that was cut short, if there is one.
func readSession(store *checkpoint.Store, prd string) (*checkpoint.Snapshot, error) {
	snap, err := store.Load(prd)
	if !errors.Is(err, checkpoint.ErrNoSession) {
		return snap, err
	}
	pending, err := store.PendingImport(prd)
	return &checkpoint.Snapshot{Import: pending}, err
}

// unsettled reports whether finishInterrupted has something to do. It returns false while another
// process owns the session.
func unsettled(snap *checkpoint.Snapshot) bool {
	return snap.Owner == nil && (snap.RescuePath != "" || snap.TornBytes > 0 || snap.Import != nil || rollingBack(snap))
}

// rollingBack reports whether a rollback was begun and is not finished.
func rollingBack(snap *checkpoint.Snapshot) bool {
	return snap.State != nil && snap.State.Rollback != nil
}

// finishEarlier finishes an import and a rollback that were cut short, and tells the user.
// It returns the rollback that it finished, or nil.
func finishEarlier(ctx context.Context, env *environment, cfg *config.Config, store *checkpoint.Store, session *checkpoint.Session, w *workspace.Workspace) (*finished, error) {
	st := session.State()
	if st == nil {
		return nil, nil
	}
	pending, err := store.PendingImport(st.PRD)
	if err != nil || pending == nil && st.Rollback == nil {
		return nil, err
	}
	if w == nil {
		opened, err := guarded(ctx, env, cfg, store, st.PRD)
		if err != nil {
			return nil, err
		}
		defer func() { _ = opened.Close() }()
		w = opened
	}
	if pending != nil {
		if err := finishImport(ctx, env, store, session, w, pending); err != nil {
			return nil, err
		}
	}
	if st = session.State(); st.Rollback == nil {
		return nil, nil
	}
	return finishRollback(ctx, env, store, session, w)
}

// finishImport restores the files that an import had not restored when it was cut short.
func finishImport(ctx context.Context, env *environment, store *checkpoint.Store, session *checkpoint.Session, w *workspace.Workspace, pending *checkpoint.PendingImport) error {
	prd := session.State().PRD
	fmt.Fprintf(env.stderr, "The import of %s from %s was cut short; finishing it first\n", prd, shownArchive(pending))
	record := checkpoint.AuditRecord{
		By: env.actor(), What: "checkpoint import (finish)", PRD: prd, Session: session.State().Session,
		Args: []state.Text{pending.Archive, state.Text(pending.Session)},
	}
	return store.Audited(&record, func() error {
		done, err := session.FinishImport(ctx, w)
		if done != nil && done.Safety != "" {
			record.IDs = []string{done.Safety}
		}
		if err != nil {
			return withHint(err, importAgain(pending)+"; with --state-only it leaves the files as they are")
		}
		if done.GivenUp {
			record.Because("given up: a new journal was started")
			showGivenUp(env.stderr, env, session.State(), pending)
			return nil
		}
		fmt.Fprintf(env.stderr, "Imported: %s written, %s left as they are\n", view.Plural(done.Written, "file"), view.Plural(len(done.Kept)+len(done.Skipped), "file"))
		if done.Safety != "" {
			fmt.Fprintf(env.stderr, "The overwritten files are in checkpoint %s\n", done.Safety)
		}
		return nil
	})
}

// ask hands a request to the owner of a session, and records the outcome in the audit log.
// If the session has no owner, ask locks it, finishes an import or a rollback that was cut
// short, and calls alone with the session and that rollback.
func ask(ctx context.Context, env *environment, store *checkpoint.Store, r checkpoint.Request, alone func(*checkpoint.Session, *finished) error) error {
	cfg, err := loadConfig(env)
	if err != nil {
		return err
	}
	record := checkpoint.AuditRecord{By: r.By, What: string(r.Verb), PRD: r.PRD}
	for _, arg := range []string{r.Gate, r.Workstream, string(r.Resolution)} {
		if arg != "" {
			record.Args = append(record.Args, state.Text(arg))
		}
	}
	record.Reason = r.Comment
	err = store.Audited(&record, func() error {
		err := store.Ask(ctx, r, func(session *checkpoint.Session) error {
			done, err := finishEarlier(ctx, env, cfg, store, session, nil)
			if err != nil {
				return err
			}
			return alone(session, done)
		})
		if snap, unread := store.Load(r.PRD); unread == nil {
			record.Session = snap.State.Session
		}
		if r.Verb == checkpoint.VerbCreate && err == nil {
			if made, missing := newestManual(store, r.PRD); missing == nil {
				record.IDs = []string{made.ID}
			}
		}
		return err
	})
	return lockHint(r.PRD, err)
}

func lockedBy(prd string, h checkpoint.Holder) error {
	return lockHint(prd, &checkpoint.LockedError{PRD: prd, Holder: h})
}

// lockHint adds to the error of a session that another process has locked the command that
// shows the work of that process.
func lockHint(prd string, err error) error {
	var locked *checkpoint.LockedError
	if !errors.As(err, &locked) {
		return err
	}
	if locked.PRD == "" { // the process that holds the lock on the state directory works on another PRD
		return withHint(err, "`runner status` shows what is running in it; when that has ended, run the command again")
	}
	if locked.Stopped {
		return withHint(err, fmt.Sprintf("`kill -CONT %d` lets it go on; then run the command again", locked.Holder.PID))
	}
	return withHint(err, fmt.Sprintf("`runner status %[1]s` shows its state, `runner logs %[1]s -f` its output", prd))
}
