package rollback

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// ErrForward means that an earlier rollback discarded the target, so that going to it
// would be rolling forward.
var ErrForward = errors.New("cannot roll forward")

// Options select the target and the scope of a rollback.
type Options struct {
	To    string              // a checkpoint reference in a form that FindCheckpoint accepts
	Scope state.RollbackScope // "" means RollbackAll
	// Force skips files that can't be restored or are obstructed, and discards commits that
	// were pushed.
	Force bool
	// Deep has a plan verify every byte to be restored. A rollback does so in any case,
	// before it changes anything.
	Deep   bool
	Reason string
	By     state.Actor
}

// Untouched lists the files that a rollback does not touch, because no checkpoint records
// their contents.
type Untouched struct {
	LeftOut  []string // look sensitive, or hold a sensitive value
	Unstable []string // kept changing during a capture, now or at the target
	Special  []string // could not be captured, now or at the target: unreadable, or no regular file
	Sparse   []string // were not checked out at the target, and differ
}

// Plan is the plan of a rollback: the changes it makes, the work it discards and the
// files it does not touch. It is plain data.
type Plan struct {
	Target      *state.CheckpointRef
	PassedOver  []string             // damaged checkpoints that the reference skipped, see State.PassedOver
	Current     *state.CheckpointRef // the session's current checkpoint; nil if it has none
	Step        int                  // the session's current step
	Scope       state.RollbackScope
	Undoes      string              // ID of the rollback that this one undoes, or ""
	Earlier     *EarlierState       // the state to take instead of the target's; nil: the target's
	Discards    []*state.Workstream // completed workstreams whose work the target lacks, ordered by step
	Invalidates []string            // IDs of checkpoints that become invalid
	Uncertain   []string            // once steps that may have happened and of which the target has no record
	FilesOf     *state.Capture      // the capture to restore; nil: only recorded artifacts are known
	Changes     []workspace.Change  // of files in the workspace
	Missing     []workspace.Missing
	Obstacles   []workspace.Obstacle // paths where a change is impossible or would destroy unrecorded data
	Losses      []Loss               // artifacts that sessions of other PRDs lose
	Untouched
	Git    *GitReset
	Branch string      // the branch that is checked out, if it is not the target's
	Finish *FinishPlan // the interrupted rollback that is finished first; nil if there is none

	state    *state.State // the state that the rollback takes: the target's, or that of Earlier
	patterns []string     // capture patterns of the present and of the target; nil if files are not compared
}

// PlanTo returns what a rollback would do. It takes no lock and changes nothing. If
// w is nil, it compares the state only. If an earlier rollback was interrupted, the plan
// starts from the state after that one is finished, but compares the present files.
func PlanTo(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, prd string, o Options) (r *Plan, err error) {
	err = s.Read(prd, func(snap *checkpoint.Snapshot) (amiss bool, err error) {
		r, err = planFrom(ctx, s, w, prd, snap, o)
		return err == nil && len(r.Missing) > 0, err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func planFrom(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, prd string, snap *checkpoint.Snapshot, o Options) (r *Plan, err error) {
	if snap.State == nil {
		return nil, fmt.Errorf("roll back %s: %w", prd, state.ErrNoCheckpoint)
	}
	now := snap.State
	var finish *FinishPlan
	if now.Rollback != nil {
		if snap.Owner != nil { // the owner is carrying the rollback out
			return nil, &checkpoint.LockedError{PRD: prd, Holder: *snap.Owner}
		}
		if finish, err = planFinish(ctx, s, w, now); err != nil {
			return nil, err
		}
		now = finish.After
	}
	if r, err = planTo(ctx, s, w, now, o); err == nil {
		r.Finish = finish
	}
	return r, err
}

// planTo validates the target, and compares it with the session and the workspace.
func planTo(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now *state.State, o Options) (*Plan, error) {
	ref, err := now.FindCheckpoint(o.To)
	if err != nil {
		return nil, fmt.Errorf("find checkpoint %q of %s: %w", o.To, now.PRD, err)
	}
	r := &Plan{Target: ref, PassedOver: now.PassedOver(o.To, ref), Current: now.CurrentCheckpoint(), Step: now.CurrentStep(), Scope: o.Scope}
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
		if err := useProvedState(ctx, s, w, r, now); err != nil {
			return nil, err
		}
	}
	r.compareState(now)
	if w == nil || r.Scope == state.RollbackState {
		return r, nil
	}
	if err := compareFiles(ctx, s, w, r, now, o.Deep); err != nil {
		return nil, err
	}
	if r.Losses, err = losses(ctx, s, now.PRD, r.Changes); err != nil {
		return nil, err
	}
	if at := checkpoint.GitOf(ctx, w); at != nil && ref.Git != nil && at.Branch != ref.Git.Branch {
		r.Branch = orDetached(string(at.Branch))
	}
	return r, r.compareGit(ctx, w)
}

// orDetached returns a branch's name for messages to users.
func orDetached(branch string) string {
	if branch == "" {
		return "(detached)"
	}
	return branch
}

// allowed refuses a damaged target, unless forced, and a target that a rollback discarded.
// It sets r.Undoes.
func (r *Plan) allowed(now *state.State, force bool) error {
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

// compareState finds the workstreams, checkpoints and once steps that the state loses.
func (r *Plan) compareState(now *state.State) {
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
	const planned = "planned" // a checkpoint is valid as long as no rollback is named that discarded it
	after.Rollback = &state.RollbackStarted{ID: planned, To: r.Target.ID, ToSeq: r.Target.Seq, ToStep: r.ToStep(), StateSeq: r.stateSeq()}
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

// compareFiles finds the changes that the rollback makes to files, and the files that it
// can't restore or does not touch.
func compareFiles(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, r *Plan, now *state.State, deep bool) error {
	r.FilesOf = r.state.Capture
	target, known, err := checkpoint.FilesOf(ctx, w, r.state)
	if objects.IsLost(err) {
		return &state.DamagedError{
			Path: r.Target.ID, Detail: "the list of its files is lost: " + objects.LostMessage(err),
			Remedy: disk.RebuildRemedy(now.PRD, r.Target.ID), Checkpoint: r.Target.ID,
		}
	}
	if err != nil {
		return err
	}
	found, err := r.listPresent(ctx, s, w, now, target)
	if err != nil {
		return err
	}
	if !known { // only recorded artifacts are known, so nothing is deleted
		target = found.With(target.Entries)
	}
	r.LeftOut = found.LeftOut
	r.Unstable = sortedUnion(found.Unstable, target.Unstable)
	r.Special = sortedUnion(found.Special, notTakenIn(found, target))
	if r.Changes, err = changesTo(ctx, s, w, now, r.state, found, target); err != nil {
		return err
	}
	if err := r.exceptRefused(ctx, w, now); err != nil {
		return err
	}
	if r.Sparse, err = w.CheckedOut(ctx, found.Entries, target); err != nil {
		return fmt.Errorf("look at what was not checked out: %w", err)
	}
	r.Missing, err = w.Contents().Lost(ctx, restored(r.Changes), deep)
	if err != nil {
		return fmt.Errorf("verify what is to be restored: %w", err)
	}
	r.Obstacles, err = w.Obstacles(ctx, r.Changes)
	r.Obstacles = append(r.Obstacles, unrecorded(found, target)...)
	return err
}

// unrecorded returns an obstacle for each path of the target at which the workspace has
// something that no checkpoint holds: overwriting it could not be undone.
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

// notTakenIn returns the present files that could not be captured when the target was
// made.
func notTakenIn(found, target *workspace.Listing) []string {
	var paths []string
	for _, e := range found.Entries {
		if target.IsSpecial(e.Path) {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// sortedUnion returns the sorted union of two lists.
func sortedUnion(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// exceptRefused drops the changes to files that a capture would refuse because of their
// contents. No checkpoint would hold them, so the rollback does not touch them.
func (r *Plan) exceptRefused(ctx context.Context, w *workspace.Workspace, now *state.State) error {
	var last *workspace.Listing
	if now.Capture != nil {
		last, _ = w.Load(ctx, now.Capture.Listing) // without it, every file is searched
	}
	var lost []workspace.Entry
	for _, c := range r.Changes {
		if c.From != nil {
			lost = append(lost, *c.From)
		}
	}
	refused, err := w.Refused(ctx, lost, last, checkpoint.LeftOutSince(ctx, w, now))
	if err != nil || len(refused) == 0 {
		return err
	}
	r.LeftOut = sortedUnion(r.LeftOut, refused)
	r.Changes = slices.DeleteFunc(r.Changes, func(c workspace.Change) bool { return slices.Contains(refused, c.Path) })
	return nil
}

// restored returns the entries that changes write.
func restored(changes []workspace.Change) []workspace.Entry {
	var entries []workspace.Entry
	for _, c := range changes {
		if c.To != nil {
			entries = append(entries, *c.To)
		}
	}
	return entries
}
