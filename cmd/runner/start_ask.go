package main

import (
	"context"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/rollback"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

// askUser asks the user what to do with an unfinished session. The flags do not say it.
func (s *starter) askUser(ctx context.Context, snap *checkpoint.Snapshot) (start, error) {
	if s.person == nil {
		return start{}, s.undecided("there is an unfinished session of %s")
	}
	o := s.looking()
	o.Select = s.selection
	plan, planErr := runner.Preview(ctx, o, snap.State)
	if ctx.Err() != nil {
		return start{}, context.Cause(ctx)
	}
	for {
		choice, err := askResume(ctx, s.person, snap.State, plan, s.env.now())
		if err != nil {
			return start{}, err
		}
		switch choice {
		case choiceResume:
			return start{resume: true}, nil
		case choiceFresh:
			return start{fresh: true, noCache: true}, nil
		case choiceDelete:
			return start{done: true}, s.remove(ctx)
		case choiceView:
			if err := s.view(ctx, snap); err != nil {
				return start{}, err
			}
		case choicePlan:
			if planErr != nil {
				return start{}, buildError(s.env, snap.State, s.prd, s.command, planErr)
			}
			if err := view.WritePlan(s.env.stderr.Raw, plan, s.env.color(s.env.stderr)); err != nil {
				return start{}, err
			}
		}
	}
}

// view shows the session, and the contents of its current checkpoint.
func (s *starter) view(ctx context.Context, snap *checkpoint.Snapshot) error {
	if err := show.Status(s.env.stderr, s.env.CommandLine, s.env.now(), statusOfSession(s.env, s.prd, snap)); err != nil {
		return err
	}
	ref := snap.State.CurrentCheckpoint()
	if ref == nil {
		return nil
	}
	found, err := rollback.Inspect(ctx, s.store, s.files, s.prd, ref.ID)
	switch {
	case err != nil:
		return err
	case found.File == nil && found.Unread != nil:
		return found.Unread
	case !found.Check.Whole():
		return writeDamage(ctx, s.env, s.store, s.files, snap.State, ref.ID, found.Check.Reason())
	}
	return show.Checkpoint(s.env.stderr, found)
}

// remove deletes the session after a confirmation, and starts no other one.
func (s *starter) remove(ctx context.Context) error {
	if err := s.finished.refuseToLeave(s.env); err != nil {
		return err
	}
	question := fmt.Sprintf("Delete the session of %s, its checkpoints and logs? This cannot be undone.", s.prd)
	if err := confirm(ctx, s.person, s.yes, question); err != nil {
		return err
	}
	session, _, err := newLastTarget(s.env, s.store, s.prd).lock(ctx)
	if err != nil {
		return err
	}
	record := checkpoint.AuditRecord{What: "delete at the resume prompt", PRD: s.prd}
	if st := session.State(); st != nil {
		record.Session = st.Session
	}
	if err := session.Close(); err != nil {
		return err
	}
	err = audited(s.env, s.store, &record, func() error {
		if err := s.store.DeleteSession(ctx, s.prd, s.env.actor()); err != nil {
			return err
		}
		_, err := prune.Collect(ctx, s.store, s.files)
		if advice.IsA[*prune.NotCollectedError](err) {
			return nil // the next prune collects the objects
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.env.stderr, "Deleted the session of %s\n", s.prd)
	return nil
}
