//go:build unix

package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// pipe puts a named pipe in the place of what is there.
func (s *scoped) pipe(name string) {
	s.t.Helper()
	path := filepath.Join(s.ws, name)
	must(s.t, os.RemoveAll(path))
	must(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(s.t, syscall.Mkfifo(path, 0o600))
}

// TestRollbackLeavesSpecial: what a capture could not take in is not touched by
// going back to it, whatever it is by then, nor by going back to a capture that
// has a file there.
func TestRollbackLeavesSpecial(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScoped(t, map[string]string{"data": "first", "other": "first"})
	s.git("add", "data")
	first := s.to
	s.pipe("data")
	s.put(map[string]string{"other": "second"})
	second, err := s.x.Create(ctx, s.w, "")
	must(t, err)
	if second.Capture.Special != 1 || second.Capture.Whole(nil) || !second.Capture.Unlimited(nil) {
		t.Fatalf("captured %+v", second.Capture)
	}
	found, err := Inspect(ctx, s.open(), s.w, "PRD-009", second.ID)
	must(t, err)
	if !slices.Equal(found.Special, []string{"data"}) {
		t.Errorf("the checkpoint names %q", found.Special)
	}

	must(t, os.Remove(filepath.Join(s.ws, "data")))
	s.put(map[string]string{"data": "third", "other": "third"})
	plan, err := PlanRollback(ctx, s.open(), s.w, "PRD-009", RollbackOptions{To: second.ID})
	must(t, err)
	if !slices.Equal(plan.Special, []string{"data"}) || len(plan.Changes) != 1 {
		t.Errorf("the plan leaves %q, and has %+v", plan.Special, plan.Changes)
	}
	_, err = RunRollback(ctx, s.x, s.w, RollbackOptions{To: second.ID, Scope: state.RollbackFiles})
	must(t, err)
	s.holds("gone back to a pipe", map[string]string{"data": "third", "other": "second"})

	s.pipe("data")
	plan, err = PlanRollback(ctx, s.open(), s.w, "PRD-009", RollbackOptions{To: first})
	must(t, err)
	if len(plan.Obstacles) != 1 || plan.Obstacles[0].Path != "data" {
		t.Errorf("the plan has in the way: %+v", plan.Obstacles)
	}
	var obstructed *workspace.ObstructedError
	if _, err = RunRollback(ctx, s.x, s.w, RollbackOptions{To: first, Scope: state.RollbackFiles}); !errors.As(err, &obstructed) {
		t.Errorf("went over a pipe: %v", err)
	}
	done, err := RunRollback(ctx, s.x, s.w, RollbackOptions{To: first, Scope: state.RollbackFiles, Force: true})
	must(t, err)
	if !slices.Equal(done.Special, []string{"data"}) {
		t.Errorf("left alone: %+v", done.LeftAlone)
	}
	s.holds("gone back from a pipe", map[string]string{"other": "first"})
	if info, err := os.Lstat(filepath.Join(s.ws, "data")); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", info, err)
	}
}

// TestRollbackLeavesRepositories: files that lie where another repository was,
// which no capture looks into, are not deleted by going back to that moment.
func TestRollbackLeavesRepositories(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScoped(t, map[string]string{"other": "first"})
	must(t, os.Mkdir(filepath.Join(s.ws, "lib"), 0o700))
	s.put(map[string]string{"lib/code": "theirs"})
	s.git("init", "--quiet", "lib")
	ref, err := s.x.Create(ctx, s.w, "")
	must(t, err)
	must(t, os.RemoveAll(filepath.Join(s.ws, "lib", ".git")))
	done, err := RunRollback(ctx, s.x, s.w, RollbackOptions{To: ref.ID, Scope: state.RollbackFiles})
	must(t, err)
	s.holds("gone back", map[string]string{"lib/code": "theirs"})
	if !slices.Equal(done.Special, []string{"lib/code"}) {
		t.Errorf("left alone: %+v", done.LeftAlone)
	}
}

// TestSpecialInCommits: a capture that commits to the branch takes in the rest
// where git could not add what is there.
func TestSpecialInCommits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScoped(t, map[string]string{"data": "first", "other": "first"})
	s.git("-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "--allow-empty", "-m", "m")
	s.git("add", "data")
	must(t, s.w.Close())
	g, err := git.Open(ctx, commander{}, s.ws)
	must(t, err)
	s.w, err = s.open().OpenWorkspace(s.ws, g, workspace.GitCommit)
	must(t, err)
	s.pipe("data")
	s.put(map[string]string{"other": "second"})
	ref, err := s.x.Create(ctx, s.w, "")
	must(t, err)
	if ref.Capture.Special != 1 || ref.Capture.Files != 1 {
		t.Errorf("captured %+v", ref.Capture)
	}
}
