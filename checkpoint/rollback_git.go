package checkpoint

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// GitReset is what becomes of the branch where captures are commits on it.
type GitReset struct {
	Branch  string
	From    string // commits
	To      string
	Absent  bool // To is not in this repository: if forced, the files come back, and HEAD stays
	Discard []git.LogEntry
	Pushed  []string
}

// BranchError says that a rollback would reset another branch than the one that
// is checked out: the checkpoint that undoes it, and what is compared with the
// target, would be of the wrong one.
type BranchError struct {
	On     string // what is checked out, "" for no branch
	Of     string // what the checkpoint is of, "" for no branch
	Commit string // that it is
}

func (e *BranchError) Error() string {
	return fmt.Sprintf("the checkpoint is a commit on %s, and %s is checked out", orDetached(e.Of), orDetached(e.On))
}

// CommitAbsentError says that the commit to reset the branch to is not in the
// repository, as after an import into another one.
type CommitAbsentError struct{ Commit string }

func (e *CommitAbsentError) Error() string {
	return fmt.Sprintf("the checkpoint is the commit %s, which is not in this git repository: the branch cannot be reset to it", e.Commit)
}

// PushedError says that a rollback would take back commits that others have.
type PushedError struct {
	To      string // the checkpoint
	Commits []string
}

func (e *PushedError) Error() string {
	if len(e.Commits) == 1 {
		return "one of the commits to discard was pushed"
	}
	return fmt.Sprintf("%d of the commits to discard were pushed", len(e.Commits))
}

// compareGit finds what becomes of the branch.
func (r *Rollback) compareGit(ctx context.Context, w *workspace.Workspace) error {
	if !w.CommitsToBranch() || r.state.Capture == nil || !r.state.Capture.OnBranch() || r.Target.Git == nil {
		return nil
	}
	git := w.Git()
	g := &GitReset{Branch: string(r.Target.Git.Branch), To: r.state.Capture.Commit}
	var err error
	if g.From, err = git.Tip(ctx, g.Branch); err != nil {
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
	if g.Pushed, err = git.Pushed(ctx, g.To, g.From); err != nil {
		return fmt.Errorf("look for pushed commits: %w", err)
	}
	r.Git = g
	return nil
}

// refusedByGit says why a branch is not reset. Only the one that is checked out
// ever is, forced or not.
func (r *Rollback) refusedByGit(force bool) error {
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

// resetFor says where HEAD is to stand with a state, nil where it is left
// alone, and makes sure that it can.
func (x *Session) resetFor(ctx context.Context, w *workspace.Workspace, intent state.RollbackStarted, to *state.State) (*GitReset, error) {
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
