package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
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
func (s *Store) PlanDelete(ctx context.Context, prd string, o DeleteOptions) (p *Pruned, err error) {
	err = s.Read(prd, func(snap *Snapshot) (amiss bool, err error) {
		if snap.State == nil {
			return false, fmt.Errorf("delete checkpoints of %s: %w", prd, state.ErrNoCheckpoint)
		}
		if p, err = planDelete(snap.State, o); err == nil {
			err = s.weigh(ctx, p)
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
func (x *Session) Delete(ctx context.Context, o DeleteOptions) (*Pruned, error) {
	if x.live == nil {
		return nil, fmt.Errorf("delete checkpoints of %s: %w", x.prd, ErrNoSession)
	}
	p, err := planDelete(x.State(), o)
	if err != nil {
		return nil, err
	}
	if err := x.store.weigh(ctx, p); err != nil {
		return nil, err
	}
	reason := "deleted"
	if o.Reason != "" {
		reason += ": " + o.Reason
	}
	return p, x.carryOut(ctx, p, reason)
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
	p.Lost = lost(s, p.Checkpoints, kept)
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

// weigh computes how many bytes the removal frees. If the size can't be found out, for
// example because a checkpoint is damaged, it adds a warning.
func (s *Store) weigh(ctx context.Context, p *Pruned) error {
	records, err := s.recordsOf(p.PRD, nil)
	if err != nil {
		return err
	}
	held, err := s.holds(ctx, p.PRD, records)
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

// DeleteSession deletes the current session of a PRD, even if it is damaged: journal,
// document, logs and checkpoints. Its history stays. The deletion is atomic: the session
// is gone once its directory is renamed. If Runner crashes after that, the next owner
// completes the deletion. Collect removes objects and the trash afterwards.
func (s *Store) DeleteSession(ctx context.Context, prd string, by state.Actor) (err error) {
	if err := s.checkID(prd); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, err)
	}
	known, err := s.isKnown(prd)
	if err == nil && !known {
		err = ErrNoSession
	}
	if err != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, err)
	}
	l, err := s.lockDir(ctx, prd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	if snap, err := s.load(prd); err == nil && snap.State != nil && snap.State.Rollback != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, UnfinishedRollback(snap.State))
	}
	if err := s.endOrphansUnopened(ctx, prd); err != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, err)
	}
	holder := disk.NewHolder(by, s.now())
	if err := disk.WriteNote(s.fs, s.layout.LockPath(prd), &holder); err != nil {
		return err
	}
	if err := s.deleteSession(prd); err != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, err)
	}
	return disk.WriteNote(s.fs, s.layout.LockPath(prd), nil)
}

func (s *Store) deleteSession(prd string) error {
	for _, finish := range []func(string) error{s.finishArchive, s.finishDelete} {
		if err := finish(prd); err != nil {
			return err
		}
	}
	if err := store.MkdirAll(s.fs, s.layout.PRDDir(prd)); err != nil {
		return err
	}
	if err := s.keepActs(prd); err != nil {
		return err
	}
	if err := s.takeDocument(prd); err != nil {
		return err
	}
	if err := s.layout.Move(prd, s.layout.PRDDir(prd), s.layout.DeletingPath(prd)); err != nil {
		return err
	}
	return s.finishDelete(prd)
}

// finishDelete completes an interrupted deletion. It moves the history and the acts of
// deleted sessions back to the PRD's directory, and the rest into the trash.
func (s *Store) finishDelete(prd string) error {
	from := s.layout.DeletingPath(prd)
	if there, err := s.layout.Exists(from); err != nil || !there {
		return err
	}
	if err := s.returnKept(prd, from); err != nil {
		return err
	}
	return s.layout.Discard(prd, from)
}

// Archive archives the whole session and returns its new directory. A complete session
// goes into the history of its PRD. Any other session is abandoned and goes to failed/.
func (x *Session) Archive(ctx context.Context, by state.Actor, reason string) (string, error) {
	switch {
	case x.live == nil:
		return "", fmt.Errorf("archive %s: %w", x.prd, ErrNoSession)
	case x.State().Rollback != nil:
		return "", fmt.Errorf("archive %s: %w", x.prd, UnfinishedRollback(x.State()))
	case x.State().Status == state.StatusComplete:
		return x.retire(ctx, nil)
	}
	return x.Abandon(state.SessionAbandoned{By: by, Reason: state.Text(reason)})
}
