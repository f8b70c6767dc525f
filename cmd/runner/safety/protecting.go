package safety

import (
	"context"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
)

// ProtectingError says that a checkpoint is not removed, since a workstream may have to be
// rolled back to it.
type ProtectingError struct{ checkpoint.Protecting }

func (e *ProtectingError) Error() string {
	if e.Due {
		return fmt.Sprintf("%s is needed: what %s of %s changed is to be rolled back to it", e.Checkpoint, e.Workstream, e.PRD)
	}
	return fmt.Sprintf("%s is needed: %s of %s may be rolled back to it until its gates have passed", e.Checkpoint, e.Workstream, e.PRD)
}

// refuseProtecting returns a *ProtectingError if one of the named checkpoints is needed.
func refuseProtecting(needed map[string]checkpoint.Protecting, ids []string) error {
	for _, id := range ids {
		if p, ok := needed[id]; ok {
			hint := fmt.Sprintf("`runner build %s --resume` goes on with it; `runner safety delete %s --force` gives the rollback up", p.PRD, id)
			return advice.With(&ProtectingError{p}, hint)
		}
	}
	return nil
}

// giveUp records in their sessions that what workstreams changed is not rolled back.
func (r *removal) giveUp(ctx context.Context, needed map[string]checkpoint.Protecting, ids []string) error {
	for _, id := range ids {
		p, ok := needed[id]
		if !ok {
			continue
		}
		t := &change.Target{Env: r.env, Store: r.store, PRD: p.PRD}
		t.Finish = func(context.Context, *checkpoint.Session) (*change.FinishedRollback, error) { return nil, nil }
		record := checkpoint.AuditRecord{What: "safety delete --force", Args: []state.Text{state.Text(p.Workstream)}, IDs: []string{id}, Reason: state.Text(r.o.Reason)}
		err := t.Change(ctx, &record, func(session *checkpoint.Session) error {
			session.Add(state.ProtectionKept{Workstream: p.Workstream, Checkpoint: id, Reason: "its safety checkpoint was deleted"})
			return session.Publish(ctx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// refuseWaiting refuses to restore a checkpoint of a workstream that waits for its gates:
// they would judge work of which nothing is left.
func (p *place) refuseWaiting(c *safety.Checkpoint, o RestoreOptions) error {
	if o.Force || o.DryRun || o.Manual {
		return nil
	}
	needed, err := p.store.Protecting()
	if err != nil {
		return err
	}
	if waits, ok := needed[c.ID]; ok && !waits.Due {
		return advice.With(&ProtectingError{waits}, fmt.Sprintf("`runner reject %s GATE` and the next build take its changes back; --force restores the checkpoint all the same", waits.PRD))
	}
	return nil
}
