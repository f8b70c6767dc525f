package rollback

import (
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/workspace"
)

// gitProject is a [checkpointtest.GitProject] with methods that several tests of
// rollbacks need.
type gitProject struct{ *checkpointtest.GitProject }

func newGitProject(t *testing.T, files map[string]string) *gitProject {
	t.Helper()
	return newGitProjectIn(t, workspace.GitRef, files)
}

func newGitProjectIn(t *testing.T, mode workspace.GitMode, files map[string]string) *gitProject {
	t.Helper()
	return &gitProject{checkpointtest.NewGitProjectIn(t, mode, files)}
}
