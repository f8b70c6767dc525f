package main

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
)

// lockSession takes a session to change it, and finishes first what an
// earlier rollback left half done. w is nil where files do not matter, which
// they do for an unfinished rollback: then it is opened for that.
func lockSession(ctx context.Context, env *environment, cfg *config, store *checkpoint.Store, prd string, w *workspace.Workspace) (*checkpoint.Session, error) {
	session, err := store.Lock(ctx, prd, env.actor())
	if err != nil {
		return nil, lockHint(prd, err)
	}
	if err := finishRollback(ctx, env, cfg, store, session, w); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return session, nil
}

// settle does what the next owner of a session would do before anything else,
// so that what is decided and planned afterwards is about where it stands then:
// it takes over a rescue copy, sets aside what was never written to its end,
// and finishes a rollback that was cut short, which only the rescue copy may
// know of. A session that is in order, that somebody owns, or that can't be
// read is left alone.
func settle(ctx context.Context, env *environment, cfg *config, store *checkpoint.Store, prd string, w *workspace.Workspace) error {
	snap, err := store.Load(prd)
	if cannotRead := err != nil; cannotRead || snap.Owner != nil || !unsettled(snap) {
		return nil // who reads it next says what is wrong
	}
	session, err := lockSession(ctx, env, cfg, store, prd, w)
	if err != nil {
		return err
	}
	return session.Close()
}

func unsettled(snap *checkpoint.Snapshot) bool {
	return snap.RescuePath != "" || snap.TornBytes > 0 || snap.State != nil && snap.State.Rollback != nil
}

// finishRollback finishes a rollback that was cut short, and says so.
func finishRollback(ctx context.Context, env *environment, cfg *config, store *checkpoint.Store, session *checkpoint.Session, w *workspace.Workspace) error {
	st := session.State()
	if st == nil || st.Rollback == nil {
		return nil
	}
	if w == nil {
		opened, err := openWorkspace(ctx, env, cfg, store)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }()
		w = opened
	}
	prd, to := st.PRD, st.Rollback.To
	fmt.Fprintf(env.stderr, "A rollback of %s to %s was cut short; finishing it first\n", prd, to)
	return store.Audited(checkpoint.AuditRecord{By: env.actor(), What: "checkpoint rollback (finish)", PRD: prd, Args: []checkpoint.Text{checkpoint.Text(to)}}, func() error {
		done, err := session.FinishRollback(ctx, w)
		if err != nil {
			return rollbackHint(prd, err)
		}
		fmt.Fprintf(env.stderr, "Rolled back to %s: %s written, %s deleted\n", done.To, files(done.Written), files(done.Deleted))
		return nil
	})
}

// ask hands a request to the owner of a session, or does it alone where there
// is none, and adds to the audit log how it ended.
func ask(ctx context.Context, env *environment, store *checkpoint.Store, r checkpoint.Request, alone func(*checkpoint.Session) error) error {
	cfg, err := loadConfig(env)
	if err != nil {
		return err
	}
	record := checkpoint.AuditRecord{By: r.By, What: string(r.Verb), PRD: r.PRD}
	for _, arg := range []string{r.Gate, r.Workstream, string(r.Resolution), string(r.Comment)} {
		if arg != "" {
			record.Args = append(record.Args, checkpoint.Text(arg))
		}
	}
	return store.Audited(record, func() error {
		return store.Ask(ctx, r, func(session *checkpoint.Session) error {
			if err := finishRollback(ctx, env, cfg, store, session, nil); err != nil {
				return err
			}
			return alone(session)
		})
	})
}
