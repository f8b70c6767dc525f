package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// ErrForward says that a rollback would go forward.
var ErrForward = errors.New("cannot roll forward")

// RollbackOptions say what is taken back.
type RollbackOptions struct {
	To     string              // a reference, as FindCheckpoint takes it
	Scope  state.RollbackScope // "": RollbackAll
	Force  bool                // go past what can't be restored, and past commits that were pushed
	Deep   bool                // a plan reads every byte that is to be restored; a rollback does so in any case, before it changes anything
	Reason string
	By     state.Actor
}

// LeftAlone are the files that a rollback leaves as they are, since no
// checkpoint tells what they should be.
type LeftAlone struct {
	LeftOut  []string // look sensitive, or hold a sensitive value
	Unstable []string // kept changing while they were captured, now or then
	Special  []string // could not be captured, now or then: they may not be read, or are no files
	Sparse   []string // were not checked out then, and differ
}

// Rollback is what a rollback would do, or is doing. It is plain data.
type Rollback struct {
	Target      *state.CheckpointRef
	PassedOver  []string             // checkpoints on the way to it that are damaged, which the reference does not count
	Current     *state.CheckpointRef // nil: none
	Step        int                  // that the session stands at
	Scope       state.RollbackScope
	Undoes      string              // the rollback that this one undoes
	Earlier     *EarlierState       // whose state it takes in place of the target's, nil: the target's
	Discards    []*state.Workstream // completed since, in the order of their steps
	Invalidates []string            // checkpoints
	Uncertain   []string            // once steps that may have happened, and that the target knows nothing of
	FilesOf     *state.Capture      // whose files come back, nil: only recorded artifacts are known
	Changes     []workspace.Change  // of the files
	Missing     []workspace.Missing
	Obstacles   []workspace.Obstacle // what is in the way of Changes, or of files in whose place nothing may be changed
	Losses      []Loss               // what sessions of other PRDs lose
	LeftAlone
	Git    *GitReset
	Branch string  // that git is on now, where the target is of another one
	Finish *Finish // what is finished before, nil: nothing was cut short

	state    *state.State // of the target
	patterns []string     // of both sides, nil where files are not looked at
}

// PlanRollback says what a rollback would do. It takes no lock and changes
// nothing. Without a workspace it looks at the state only. Where an earlier one
// was cut short it is about where the session stands once that is finished; the
// files are compared as they are.
func (s *Store) PlanRollback(ctx context.Context, w *workspace.Workspace, prd string, o RollbackOptions) (r *Rollback, err error) {
	err = s.Read(prd, func(snap *Snapshot) (amiss bool, err error) {
		r, err = s.planFrom(ctx, w, prd, snap, o)
		return err == nil && len(r.Missing) > 0, err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (s *Store) planFrom(ctx context.Context, w *workspace.Workspace, prd string, snap *Snapshot, o RollbackOptions) (r *Rollback, err error) {
	if snap.State == nil {
		return nil, fmt.Errorf("roll back %s: %w", prd, state.ErrNoCheckpoint)
	}
	now := snap.State
	var finish *Finish
	if now.Rollback != nil {
		if snap.Owner != nil { // who carries it out
			return nil, &LockedError{PRD: prd, Holder: *snap.Owner}
		}
		if finish, err = s.planFinish(ctx, w, now); err != nil {
			return nil, err
		}
		now = finish.After
	}
	if r, err = s.planRollback(ctx, w, now, o); err == nil {
		r.Finish = finish
	}
	return r, err
}

// planRollback validates the target, and compares it with what is there.
func (s *Store) planRollback(ctx context.Context, w *workspace.Workspace, now *state.State, o RollbackOptions) (*Rollback, error) {
	ref, err := now.FindCheckpoint(o.To)
	if err != nil {
		return nil, fmt.Errorf("find checkpoint %q of %s: %w", o.To, now.PRD, err)
	}
	r := &Rollback{Target: ref, PassedOver: now.PassedOver(o.To, ref), Current: now.CurrentCheckpoint(), Step: now.CurrentStep(), Scope: o.Scope}
	if r.Scope == "" {
		r.Scope = state.RollbackAll
	}
	if err := r.allowed(now, o.Force); err != nil {
		return nil, err
	}
	file, err := s.ReadFile(now, ref)
	if err != nil {
		return nil, err
	}
	r.state = file.State
	if w != nil && r.Scope == state.RollbackAll {
		if err := s.vouchedState(ctx, w, r, now); err != nil {
			return nil, err
		}
	}
	r.compareState(now)
	if w == nil || r.Scope == state.RollbackState {
		return r, nil
	}
	if err := s.compareFiles(ctx, w, r, now, o.Deep); err != nil {
		return nil, err
	}
	if r.Losses, err = s.losses(ctx, now.PRD, r.Changes); err != nil {
		return nil, err
	}
	if at := gitOf(ctx, w); at != nil && ref.Git != nil && at.Branch != ref.Git.Branch {
		r.Branch = orDetached(string(at.Branch))
	}
	return r, r.compareGit(ctx, w)
}

// orDetached names a branch for people.
func orDetached(branch string) string {
	if branch == "" {
		return "(detached)"
	}
	return branch
}

// allowed refuses targets that cannot be gone back to.
func (r *Rollback) allowed(now *state.State, force bool) error {
	ref := r.Target
	switch {
	case ref.Damage != nil && !force:
		return &state.DamagedError{
			Path: ref.ID, Detail: string(ref.Damage.Reason),
			Remedy: disk.RebuildRemedy(now.PRD, ref.ID) + now.OthersOfStep(ref), Checkpoint: ref.ID,
		}
	case ref.InvalidatedBy != "":
		return fmt.Errorf("%w: checkpoint %s was discarded by rollback %s", ErrForward, ref.ID, ref.InvalidatedBy)
	}
	for _, past := range now.Rollbacks {
		if past.Safety == ref.ID && past.Error == "" {
			r.Undoes = past.ID
		}
	}
	return nil
}

// compareState finds what the state loses.
func (r *Rollback) compareState(now *state.State) {
	if r.Scope == state.RollbackFiles {
		return
	}
	for _, p := range now.Phases {
		for _, w := range p.Workstreams {
			was := r.state.Workstream(w.Name)
			if w.Status == state.Completed && (was == nil || was.Status != state.Completed || was.WorkSeq != w.WorkSeq) {
				r.Discards = append(r.Discards, w)
			}
		}
	}
	slices.SortFunc(r.Discards, func(a, b *state.Workstream) int { return a.Step - b.Step })
	after := now.Clone()
	after.Rollback = &state.RollbackStarted{To: r.Target.ID, ToSeq: r.Target.Seq, ToStep: r.ToStep(), StateSeq: r.stateSeq()}
	after.GoTo(after.NewRollbackRecord(now.UpdatedAt), *after.Rollback, r.state)
	for _, ref := range now.Checkpoints {
		if then := after.Checkpoint(ref.ID); ref.Valid && then != nil && !then.Valid {
			r.Invalidates = append(r.Invalidates, ref.ID)
		}
	}
	for w := range after.Records() {
		if had := now.Workstream(w.Name); w.Status == state.Uncertain && (had == nil || had.Status != state.Uncertain) {
			r.Uncertain = append(r.Uncertain, w.Name)
		}
	}
}

// compareFiles finds what becomes of the files in a rollback.
func (s *Store) compareFiles(ctx context.Context, w *workspace.Workspace, r *Rollback, now *state.State, deep bool) error {
	r.FilesOf = r.state.Capture
	target, known, err := FilesOf(ctx, w, r.state)
	if isLost(err) {
		return &state.DamagedError{
			Path: r.Target.ID, Detail: "the list of its files is lost: " + lostObject(err),
			Remedy: disk.RebuildRemedy(now.PRD, r.Target.ID), Checkpoint: r.Target.ID,
		}
	}
	if err != nil {
		return err
	}
	found, err := r.look(ctx, s, w, now, target)
	if err != nil {
		return err
	}
	if !known { // what else there was is not on record: nothing is deleted
		target = found.With(target.Entries)
	}
	r.LeftOut = found.LeftOut
	r.Unstable = union(found.Unstable, target.Unstable)
	r.Special = union(found.Special, notTakenIn(found, target))
	if r.Changes, err = s.changesTo(ctx, w, now, r.state, found, target); err != nil {
		return err
	}
	if err := r.exceptRefused(ctx, w, now); err != nil {
		return err
	}
	if r.Sparse, err = w.CheckedOut(ctx, found.Entries, target); err != nil {
		return fmt.Errorf("look at what was not checked out: %w", err)
	}
	r.Missing, err = w.Lost(ctx, restored(r.Changes), deep)
	if err != nil {
		return fmt.Errorf("verify what is to be restored: %w", err)
	}
	r.Obstacles, err = w.Obstacles(ctx, r.Changes)
	r.Obstacles = append(r.Obstacles, unrecorded(found, target)...)
	return err
}

// lostObject names the object that is lost, where that is what is wrong.
func lostObject(err error) string {
	if lost := (*objects.NotExistError)(nil); errors.As(err, &lost) {
		return lost.Error()
	}
	return err.Error()
}

// unrecorded is what is in the place of files of the target and in no
// checkpoint: nothing would bring it back.
func unrecorded(found, target *workspace.Listing) []workspace.Obstacle {
	var obstacles []workspace.Obstacle
	for _, e := range target.Entries {
		if found.IsSpecial(e.Path) {
			obstacles = append(obstacles, workspace.Obstacle{
				Path: e.Path, Reason: "what is there may not be read, is no file or one of more than 64 GiB, or is another repository, and so is in no checkpoint",
			})
		}
	}
	return obstacles
}

// notTakenIn names what is there now and could not be taken in at the target.
func notTakenIn(found, target *workspace.Listing) []string {
	var paths []string
	for _, e := range found.Entries {
		if target.IsSpecial(e.Path) {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// union returns the strings of two lists, sorted, each once.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// exceptRefused leaves files alone that no checkpoint would have, for what they
// hold: the rollback will not touch them.
func (r *Rollback) exceptRefused(ctx context.Context, w *workspace.Workspace, now *state.State) error {
	var last *workspace.Listing
	if now.Capture != nil {
		last, _ = w.Load(ctx, now.Capture.Listing) // one that is lost is as good as none
	}
	var lost []workspace.Entry
	for _, c := range r.Changes {
		if c.From != nil {
			lost = append(lost, *c.From)
		}
	}
	refused, err := w.Refused(ctx, lost, last, leftOutSince(ctx, w, now))
	if err != nil || len(refused) == 0 {
		return err
	}
	r.LeftOut = union(r.LeftOut, refused)
	r.Changes = slices.DeleteFunc(r.Changes, func(c workspace.Change) bool { return slices.Contains(refused, c.Path) })
	return nil
}

// restored are the entries that changes bring.
func restored(changes []workspace.Change) []workspace.Entry {
	var entries []workspace.Entry
	for _, c := range changes {
		if c.To != nil {
			entries = append(entries, *c.To)
		}
	}
	return entries
}
