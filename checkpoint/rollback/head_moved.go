package rollback

import (
	"context"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// HeadMovedError is returned if HEAD is not where an interrupted rollback left it.
// Resetting the branch would discard the commits made since.
type HeadMovedError struct {
	To     string // ID of the checkpoint to go back to
	Scope  state.RollbackScope
	Branch string // the branch that the rollback left checked out, "" if HEAD was detached
	Commit string
	On     string // the branch that is checked out now, "" if HEAD is detached
	Since  []git.LogEntry
}

func (e *HeadMovedError) Error() string {
	text := fmt.Sprintf("a rollback to %s was cut short, and cannot be finished: ", e.To)
	switch {
	case e.On != e.Branch:
		return text + fmt.Sprintf("it resets %s, and %s is checked out", orDetached(e.Branch), orDetached(e.On))
	case len(e.Since) == 0:
		return text + fmt.Sprintf("%s was reset since, from %s", orDetached(e.Branch), e.Commit)
	}
	text += fmt.Sprintf("it would discard what was committed to %s since:", orDetached(e.Branch))
	for _, c := range e.Since {
		text += fmt.Sprintf("\n  %.10s %s", c.Commit, state.Text(c.Subject))
	}
	return text
}

// headMoved returns nil if HEAD is where an interrupted rollback can have left it: at the
// checkpoint before it, at its target, or at a checkpoint of edits made since. It also
// returns nil if the rollback resets no branch, and if the only later commit is that of an
// interrupted capture.
func headMoved(ctx context.Context, w *workspace.Workspace, now, target *state.State) (*HeadMovedError, error) {
	intent := *now.Rollback
	safety, to := now.Checkpoint(intent.Safety), now.Checkpoint(intent.To)
	if !w.CommitsToBranch() || target.Capture == nil || !target.Capture.OnBranch() || safety == nil || safety.Git == nil || to == nil || to.Git == nil {
		return nil, nil
	}
	git := w.Git()
	if there, err := git.CommitExists(ctx, target.Capture.Commit); err != nil || !there {
		return nil, err // without the commit, nothing is reset
	}
	branch, head, err := git.Head(ctx)
	if err != nil {
		return nil, err
	}
	left := []state.Git{*safety.Git, {Branch: to.Git.Branch, Commit: target.Capture.Commit}}
	for _, ref := range now.KeptEdits(intent) {
		if ref.Git != nil {
			left = append(left, *ref.Git)
		}
	}
	moved := &HeadMovedError{To: intent.To, Scope: intent.Scope, Branch: string(safety.Git.Branch), Commit: safety.Git.Commit, On: branch}
	for _, at := range left {
		if string(at.Branch) != branch {
			continue
		}
		if at.Commit == head {
			return nil, nil
		}
		if err := moved.since(ctx, git, at.Commit, head); err != nil {
			return nil, err
		}
	}
	if len(moved.Since) > 0 && moved.byCapture(now) {
		return nil, nil
	}
	return moved, nil
}

// since records was as the commit that the rollback left, if it leads to head with fewer
// commits than the one recorded before.
func (e *HeadMovedError) since(ctx context.Context, git *git.Repository, was, head string) error {
	if was == "" || head == "" {
		return nil
	}
	back, err := git.Log(ctx, head, was, 1)
	if err != nil || len(back) > 0 {
		return err // was is no ancestor of head
	}
	made, err := git.Log(ctx, was, head, 0)
	if err == nil && (len(e.Since) == 0 || len(made) < len(e.Since)) {
		e.Commit, e.Since = was, made
	}
	return err
}

// byCapture reports whether the only commit since is that of a capture that was
// interrupted before the journal recorded it.
func (e *HeadMovedError) byCapture(now *state.State) bool {
	return len(e.Since) == 1 && e.Since[0].Subject == checkpoint.CaptureSubject(now)
}
