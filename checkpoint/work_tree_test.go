package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// noStatus is a git that can't say what differs from HEAD.
type noStatus struct{ gittest.Commander }

func (c noStatus) Run(ctx context.Context, command git.Command) error {
	if slices.Contains(command.Args, "status") {
		return errors.New("no status")
	}
	return c.Commander.Run(ctx, command)
}

// TestWorkTreeThatGitCannotDescribe: if git can't say what differs from HEAD, that is a
// warning, and the checkpoint is made all the same.
func TestWorkTreeThatGitCannotDescribe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	init := exec.Command("git", "init", "-q")
	init.Dir = dir
	checkpointtest.Must(t, init.Run())
	checkpointtest.Must(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a"), 0o644))
	var warned []error
	s, err := checkpoint.OpenStore(filepath.Join(t.TempDir(), ".runner"), checkpoint.Options{Warn: func(err error) { warned = append(warned, err) }})
	checkpointtest.Must(t, err)
	g, err := git.Open(t.Context(), noStatus{}, dir)
	checkpointtest.Must(t, err)
	w, err := s.OpenWorkspace(dir, g, workspace.GitRef)
	checkpointtest.Must(t, err)
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 2)))
	ref, err := x.Create(t.Context(), w, "")
	checkpointtest.Must(t, err)
	f, err := s.ReadCheckpoint("PRD-009", ref.ID)
	checkpointtest.Must(t, err)
	if f.Modified != nil || ref.Capture == nil || len(warned) != 1 {
		t.Errorf("files %v, warnings %v", f.Modified, warned)
	}
	checkpointtest.Must(t, x.Close())
	checkpointtest.Must(t, w.Close())
}
