//go:build unix

package rollback

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// pipe puts a named pipe in the place of what is there.
func (s *gitProject) pipe(name string) {
	s.T.Helper()
	path := filepath.Join(s.Root, name)
	checkpointtest.Must(s.T, os.RemoveAll(path))
	checkpointtest.Must(s.T, os.MkdirAll(filepath.Dir(path), 0o700))
	checkpointtest.Must(s.T, syscall.Mkfifo(path, 0o600))
}

// TestRollbackLeavesSpecial: what a capture could not take in is not touched by
// going back to it, whatever it is by then, nor by going back to a capture that
// has a file there.
func TestRollbackLeavesSpecial(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newGitProject(t, map[string]string{"data": "first", "other": "first"})
	s.Git("add", "data")
	first := s.Target
	s.pipe("data")
	s.Put(map[string]string{"other": "second"})
	second, err := s.Session.Create(ctx, s.Workspace, "")
	checkpointtest.Must(t, err)
	if second.Capture.Special != 1 || second.Capture.Whole(nil) || !second.Capture.Unlimited(nil) {
		t.Fatalf("captured %+v", second.Capture)
	}
	found, err := Inspect(ctx, s.Open(), s.Workspace, "PRD-009", second.ID)
	checkpointtest.Must(t, err)
	if !slices.Equal(found.Special, []string{"data"}) {
		t.Errorf("the checkpoint names %q", found.Special)
	}

	checkpointtest.Must(t, os.Remove(filepath.Join(s.Root, "data")))
	s.Put(map[string]string{"data": "third", "other": "third"})
	plan, err := PlanTo(ctx, s.Open(), s.Workspace, "PRD-009", Options{To: second.ID})
	checkpointtest.Must(t, err)
	if !slices.Equal(plan.Special, []string{"data"}) || len(plan.Changes) != 1 {
		t.Errorf("the plan leaves %q, and has %+v", plan.Special, plan.Changes)
	}
	_, err = Run(ctx, s.Session, s.Workspace, Options{To: second.ID, Scope: state.RollbackFiles})
	checkpointtest.Must(t, err)
	s.Holds("gone back to a pipe", map[string]string{"data": "third", "other": "second"})

	s.pipe("data")
	plan, err = PlanTo(ctx, s.Open(), s.Workspace, "PRD-009", Options{To: first})
	checkpointtest.Must(t, err)
	if len(plan.Obstacles) != 1 || plan.Obstacles[0].Path != "data" {
		t.Errorf("the plan has in the way: %+v", plan.Obstacles)
	}
	var obstructed *workspace.ObstructedError
	if _, err = Run(ctx, s.Session, s.Workspace, Options{To: first, Scope: state.RollbackFiles}); !errors.As(err, &obstructed) {
		t.Errorf("went over a pipe: %v", err)
	}
	done, err := Run(ctx, s.Session, s.Workspace, Options{To: first, Scope: state.RollbackFiles, Force: true})
	checkpointtest.Must(t, err)
	if !slices.Equal(done.Special, []string{"data"}) {
		t.Errorf("left alone: %+v", done.Untouched)
	}
	s.Holds("gone back from a pipe", map[string]string{"other": "first"})
	if info, err := os.Lstat(filepath.Join(s.Root, "data")); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", info, err)
	}
}

// TestRollbackLeavesRepositories: files that lie where another repository was,
// which no capture looks into, are not deleted by going back to that moment.
func TestRollbackLeavesRepositories(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newGitProject(t, map[string]string{"other": "first"})
	checkpointtest.Must(t, os.Mkdir(filepath.Join(s.Root, "lib"), 0o700))
	s.Put(map[string]string{"lib/code": "theirs"})
	s.Git("init", "--quiet", "lib")
	ref, err := s.Session.Create(ctx, s.Workspace, "")
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, os.RemoveAll(filepath.Join(s.Root, "lib", ".git")))
	done, err := Run(ctx, s.Session, s.Workspace, Options{To: ref.ID, Scope: state.RollbackFiles})
	checkpointtest.Must(t, err)
	s.Holds("gone back", map[string]string{"lib/code": "theirs"})
	if !slices.Equal(done.Special, []string{"lib/code"}) {
		t.Errorf("left alone: %+v", done.Untouched)
	}
}

// TestSpecialInCommits: a capture that commits to the branch takes in the rest
// where git could not add what is there.
func TestSpecialInCommits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newGitProject(t, map[string]string{"data": "first", "other": "first"})
	s.Git("-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "--allow-empty", "-m", "m")
	s.Git("add", "data")
	checkpointtest.Must(t, s.Workspace.Close())
	g, err := git.Open(ctx, gittest.Commander{}, s.Root)
	checkpointtest.Must(t, err)
	s.Workspace, err = s.Open().OpenWorkspace(s.Root, g, workspace.GitCommit)
	checkpointtest.Must(t, err)
	s.pipe("data")
	s.Put(map[string]string{"other": "second"})
	ref, err := s.Session.Create(ctx, s.Workspace, "")
	checkpointtest.Must(t, err)
	if ref.Capture.Special != 1 || ref.Capture.Files != 1 {
		t.Errorf("captured %+v", ref.Capture)
	}
}
