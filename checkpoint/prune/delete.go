package prune

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/inventory"
	"prdrunner/checkpoint/state"
)

// DeleteOptions select the checkpoints that a user wants to delete.
type DeleteOptions struct {
	References []string // checkpoint references in a form that FindCheckpoint accepts
	Force      bool     // also delete the newest valid checkpoint
	Reason     string
}

// KeptError reports why a checkpoint can't be deleted.
type KeptError struct {
	ID     string
	Why    string
	Newest bool // DeleteOptions.Force overrides this reason
	Pinned bool
}

func (e *KeptError) Error() string { return fmt.Sprintf("checkpoint %s is kept: %s", e.ID, e.Why) }

// PlanDelete returns what Delete would remove. It takes no lock and changes nothing.
func PlanDelete(ctx context.Context, s *checkpoint.Store, prd string, o DeleteOptions) (p *Pruned, err error) {
	err = s.Read(prd, func(snap *checkpoint.Snapshot) (amiss bool, err error) {
		if snap.State == nil {
			return false, fmt.Errorf("delete checkpoints of %s: %w", prd, state.ErrNoCheckpoint)
		}
		if p, err = planDelete(snap.State, o); err == nil {
			err = measureFreed(ctx, s, p)
		}
		return false, err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Delete removes the checkpoints that the user named, whatever the policy says. It refuses
// pinned checkpoints and those that an unfinished rollback needs. It removes the newest
// valid checkpoint only with Force: the session can still continue from its journal.
// Collect removes the objects afterwards.
func Delete(ctx context.Context, x *checkpoint.Session, o DeleteOptions) (*Pruned, error) {
	if x.State() == nil {
		return nil, fmt.Errorf("delete checkpoints of %s: %w", x.PRD(), checkpoint.ErrNoSession)
	}
	p, err := planDelete(x.State(), o)
	if err != nil {
		return nil, err
	}
	if err := measureFreed(ctx, x.Store(), p); err != nil {
		return nil, err
	}
	reason := "deleted"
	if o.Reason != "" {
		reason += ": " + o.Reason
	}
	return p, carryOut(ctx, x, p, reason)
}

// planDelete plans the deletion. If one of the checkpoints can't be deleted, none is.
func planDelete(s *state.State, o DeleteOptions) (*Pruned, error) {
	chosen := map[string]bool{}
	for _, reference := range o.References {
		ref, err := s.FindCheckpoint(reference)
		if err == nil {
			err = deletable(s, ref, o.Force)
		}
		if err != nil {
			return nil, fmt.Errorf("delete checkpoint %q of %s: %w", reference, s.PRD, err)
		}
		chosen[ref.ID] = true
	}
	p := &Pruned{PRD: s.PRD}
	var kept []*state.CheckpointRef
	for _, ref := range s.Checkpoints {
		if !chosen[ref.ID] {
			kept = append(kept, ref)
			continue
		}
		p.Checkpoints = append(p.Checkpoints, RemovedCheckpoint{CheckpointRef: ref, Why: "asked for"})
	}
	p.Kept = len(kept)
	p.Lost = lostMessages(s, p.Checkpoints, kept)
	return p, nil
}

// deletable returns a *KeptError if a checkpoint must stay.
func deletable(s *state.State, ref *state.CheckpointRef, force bool) error {
	switch {
	case ref.Pinned:
		return &KeptError{ID: ref.ID, Why: "it is pinned", Pinned: true}
	case slices.Contains(s.FinishedWith(), ref.ID):
		return &KeptError{ID: ref.ID, Why: "a rollback that is not finished needs it"}
	case !force && (ref == s.NewestUsable() || ref == s.CurrentCheckpoint()):
		return &KeptError{ID: ref.ID, Why: "it is the newest valid one, or the one that the session stands at", Newest: true}
	}
	return nil
}

// measureFreed computes how many bytes the removal frees. If the size can't be found
// out, for example because a checkpoint is damaged, it adds a warning.
func measureFreed(ctx context.Context, s *checkpoint.Store, p *Pruned) error {
	records, err := inventory.ReadSessions(s, p.PRD, nil)
	if err != nil {
		return err
	}
	held, err := inventory.Measure(ctx, s, p.PRD, records)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		p.Warnings = append(p.Warnings, fmt.Sprintf("the size is not known: %v", err))
		return nil
	}
	ids := make([]string, len(p.Checkpoints))
	for i, c := range p.Checkpoints {
		ids[i] = c.ID
	}
	for i, bytes := range held.Freed(ids) {
		p.Checkpoints[i].Bytes = bytes
		p.Freed += bytes
	}
	return nil
}
