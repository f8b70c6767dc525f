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

// pipe replaces a file by a named pipe.
func (s *gitProject) pipe(name string) {
	s.T.Helper()
	path := filepath.Join(s.Root, name)
	checkpointtest.Must(s.T, os.RemoveAll(path))
	checkpointtest.Must(s.T, os.MkdirAll(filepath.Dir(path), 0o700))
	checkpointtest.Must(s.T, syscall.Mkfifo(path, 0o600))
}

// TestRollbackLeavesSpecial: a rollback to a capture that found a named pipe must leave
// that path alone, whatever file is there now. A rollback to a capture with a file at
// that path must be refused while a pipe is there, and leave the pipe alone if forced.
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
		t.Errorf("the plan leaves %q alone, and changes %+v", plan.Special, plan.Changes)
	}
	_, err = Run(ctx, s.Session, s.Workspace, Options{To: second.ID, Scope: state.RollbackFiles})
	checkpointtest.Must(t, err)
	s.Holds("rolled back to a pipe", map[string]string{"data": "third", "other": "second"})

	s.pipe("data")
	plan, err = PlanTo(ctx, s.Open(), s.Workspace, "PRD-009", Options{To: first})
	checkpointtest.Must(t, err)
	if len(plan.Obstacles) != 1 || plan.Obstacles[0].Path != "data" {
		t.Errorf("obstacles of the plan: %+v", plan.Obstacles)
	}
	var obstructed *workspace.ObstructedError
	if _, err = Run(ctx, s.Session, s.Workspace, Options{To: first, Scope: state.RollbackFiles}); !errors.As(err, &obstructed) {
		t.Errorf("rolled back over a pipe: %v", err)
	}
	done, err := Run(ctx, s.Session, s.Workspace, Options{To: first, Scope: state.RollbackFiles, Force: true})
	checkpointtest.Must(t, err)
	if !slices.Equal(done.Special, []string{"data"}) {
		t.Errorf("left alone: %+v", done.Untouched)
	}
	s.Holds("rolled back from a pipe", map[string]string{"other": "first"})
	if info, err := os.Lstat(filepath.Join(s.Root, "data")); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", info, err)
	}
}

// TestRollbackLeavesRepositories captures a workspace with a nested git repository, which
// no capture includes, and then removes its .git directory. A rollback must not delete
// the files of the nested repository.
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
	s.Holds("rolled back", map[string]string{"lib/code": "theirs"})
	if !slices.Equal(done.Special, []string{"lib/code"}) {
		t.Errorf("left alone: %+v", done.Untouched)
	}
}

// TestSpecialInCommits: a capture that commits to the branch must capture the other files
// if a named pipe, which git can't add, has replaced a tracked file.
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
