package rollback

import (
	"context"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// GitReset describes how a rollback resets the branch, where captures are commits on it.
type GitReset struct {
	Branch  string
	From    string // commit at the tip of Branch
	To      string
	Absent  bool // To is not in this repository; with Force, the files are restored and HEAD stays
	Discard []git.LogEntry
	Pushed  []string
}

// BranchError is returned if a rollback would reset a branch other than the one that is
// checked out. The checkpoint that undoes the rollback, and the comparison with the
// target, would be of the wrong branch.
type BranchError struct {
	On     string // the branch that is checked out, "" if HEAD is detached
	Of     string // the branch of the checkpoint, "" if HEAD was detached
	Commit string // the checkpoint's commit
}

func (e *BranchError) Error() string {
	return fmt.Sprintf("the checkpoint is a commit on %s, and %s is checked out", orDetached(e.Of), orDetached(e.On))
}

// CommitAbsentError is returned if the repository lacks the commit to reset the branch to,
// as after an import into another repository.
type CommitAbsentError struct{ Commit string }

func (e *CommitAbsentError) Error() string {
	return fmt.Sprintf("the checkpoint is the commit %s, which is not in this git repository: the branch cannot be reset to it", e.Commit)
}

// PushedError is returned if a rollback would discard commits that were pushed.
type PushedError struct {
	To      string // ID of the checkpoint to go back to
	Commits []string
}

func (e *PushedError) Error() string {
	if len(e.Commits) == 1 {
		return "one of the commits to discard was pushed"
	}
	return fmt.Sprintf("%d of the commits to discard were pushed", len(e.Commits))
}

// compareGit sets r.Git to the reset of the branch, if the rollback makes one.
func (r *Plan) compareGit(ctx context.Context, w *workspace.Workspace) error {
	if !w.CommitsToBranch() || r.state.Capture == nil || !r.state.Capture.OnBranch() || r.Target.Git == nil {
		return nil
	}
	git := w.Git()
	g := &GitReset{Branch: string(r.Target.Git.Branch), To: r.state.Capture.Commit}
	var err error
	if g.From, err = git.BranchCommit(ctx, g.Branch); err != nil {
		return fmt.Errorf("read where git stands: %w", err)
	}
	there, err := git.CommitExists(ctx, g.To)
	if err != nil {
		return fmt.Errorf("look for the commit to reset the branch to: %w", err)
	}
	if !there {
		g.Absent, r.Git = true, g
		return nil
	}
	if err := git.CheckReset(ctx, g.Branch, g.To); err != nil {
		return fmt.Errorf("reset the branch: %w", err)
	}
	if g.Discard, err = git.Log(ctx, g.To, g.From, 0); err != nil {
		return fmt.Errorf("list the commits to discard: %w", err)
	}
	if g.Pushed, err = git.PushedCommits(ctx, g.To, g.From); err != nil {
		return fmt.Errorf("look for pushed commits: %w", err)
	}
	r.Git = g
	return nil
}

// refusedByGit returns why the branch can't be reset, nil if it can. Only the branch that
// is checked out is ever reset, forced or not.
func (r *Plan) refusedByGit(force bool) error {
	switch {
	case r.Git == nil || r.Git.Absent && force:
		return nil
	case r.Git.Absent:
		return &CommitAbsentError{Commit: r.Git.To}
	case r.Branch != "":
		return &BranchError{On: r.Branch, Of: r.Git.Branch, Commit: r.Git.To}
	case len(r.Git.Pushed) > 0 && !force:
		return &PushedError{To: r.Target.ID, Commits: r.Git.Pushed}
	}
	return nil
}

// resetFor returns the reset of HEAD that restoring a state needs, nil if HEAD stays. It
// returns an error if the reset is not possible.
func resetFor(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, intent state.RollbackStarted, to *state.State) (*GitReset, error) {
	if !w.CommitsToBranch() || to.Capture == nil || !to.Capture.OnBranch() {
		return nil, nil
	}
	reset := &GitReset{To: to.Capture.Commit}
	there, err := w.Git().CommitExists(ctx, reset.To)
	switch {
	case err != nil:
		return nil, err
	case !there && intent.Force:
		return nil, nil
	case !there:
		return nil, &CommitAbsentError{Commit: reset.To}
	}
	if ref := x.State().Checkpoint(intent.To); ref != nil && ref.Git != nil {
		reset.Branch = string(ref.Git.Branch)
	}
	return reset, w.Git().CheckReset(ctx, reset.Branch, reset.To)
}
