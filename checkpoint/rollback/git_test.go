package rollback

import (
	"context"
	"fmt"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/workspace"
)

// TestRefused: a plan must say why a rollback is refused. Force must override some of the
// reasons, and not others.
func TestRefused(t *testing.T) {
	t.Parallel()
	missing := workspace.Missing{Path: "a", Reason: "it is lost"}
	obstacle := workspace.Obstacle{Path: "a", Reason: "a pipe is there"}
	for name, c := range map[string]struct {
		plan         Plan
		want, forced error
	}{
		"nothing":        {},
		"missing":        {plan: Plan{Missing: []workspace.Missing{missing}}, want: &workspace.MissingError{Missing: []workspace.Missing{missing}}},
		"obstructed":     {plan: Plan{Obstacles: []workspace.Obstacle{obstacle}}, want: &workspace.ObstructedError{Obstacles: []workspace.Obstacle{obstacle}}},
		"a reset":        {plan: Plan{Git: &GitReset{}}},
		"no such commit": {plan: Plan{Git: &GitReset{Absent: true, To: "c1"}}, want: &CommitAbsentError{Commit: "c1"}},
		"another branch": {
			plan: Plan{Git: &GitReset{Branch: "main", To: "c1"}, Branch: "other"},
			want: &BranchError{On: "other", Of: "main", Commit: "c1"}, forced: &BranchError{On: "other", Of: "main", Commit: "c1"},
		},
		"another branch without a reset": {plan: Plan{Branch: "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.plan.Refused(false); fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", c.want, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if got := c.plan.Refused(true); fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", c.forced, c.forced) {
				t.Errorf("forced: got %v, want %v", got, c.forced)
			}
		})
	}
}

// TestRollbackOfPushedCommits rolls back in a workspace whose captures are commits on the
// branch. The rollback must not discard pushed commits unless forced, and must never
// reset another branch.
func TestRollbackOfPushedCommits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newGitProjectIn(t, workspace.GitCommit, map[string]string{"a": "first"})
	s.Put(map[string]string{"a": "second"})
	s.checkpoint()
	refused := func(when string, force bool, want string) {
		t.Helper()
		plan, err := PlanTo(ctx, s.Open(), s.Workspace, "PRD-009", Options{To: s.Target})
		checkpointtest.Must(t, err)
		if got := fmt.Sprintf("%T", plan.Refused(force)); got != want {
			t.Errorf("%s: the plan: %s, want %s", when, got, want)
		}
		if want == "<nil>" {
			return
		}
		_, err = Run(ctx, s.Session, s.Workspace, Options{To: s.Target, Force: force})
		if got := fmt.Sprintf("%T", err); got != want {
			t.Errorf("%s: %v, want %s", when, err, want)
		}
		s.Holds(when, map[string]string{"a": "second"})
	}
	refused("not pushed", false, "<nil>")
	s.Git("update-ref", "refs/remotes/origin/pushed", "HEAD")
	refused("pushed", false, "*rollback.PushedError")
	refused("pushed, forced", true, "<nil>")
	s.Git("checkout", "--quiet", "-b", "other")
	refused("on another branch", true, "*rollback.BranchError")
	s.Git("checkout", "--quiet", "-")
	_, err := Run(ctx, s.Session, s.Workspace, Options{To: s.Target, Force: true})
	checkpointtest.Must(t, err)
	s.Holds("forced", map[string]string{"a": "first"})
}
