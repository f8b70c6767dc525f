package load

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/runner/process"
)

// OpenWorkspace opens the files of the workspace, and git if the workspace is in a git
// work tree. It opens git even if the configuration switches git off for new captures,
// because earlier captures may be in git. In that case it is no error if git is missing.
func OpenWorkspace(ctx context.Context, env *cli.Environment, cfg *config.Config, store *checkpoint.Store) (*workspace.Workspace, error) {
	mode := workspace.GitMode(cfg.Checkpoint.Git.Mode)
	git, err := git.Open(ctx, process.NewCommander(env.ChildEnvironment()), env.Workdir)
	if err != nil && (mode != workspace.GitOff || ctx.Err() != nil) {
		return nil, fmt.Errorf("look for a git work tree: %w", err)
	}
	return store.OpenWorkspace(env.Workdir, git, mode)
}

// gitHead reads the branch and commit of a work tree. It implements survey.Git.
type gitHead struct{ git *git.Repository }

// Head implements survey.Git.
func (h gitHead) Head(ctx context.Context) (*state.Git, error) {
	branch, commit, err := h.git.Head(ctx)
	if err != nil {
		return nil, err
	}
	return &state.Git{Branch: state.Text(branch), Commit: commit}, nil
}

// Deleted implements survey.Git.
func (h gitHead) Deleted(ctx context.Context, was state.Git) (bool, error) {
	has, err := h.git.HasBranch(ctx, string(was.Branch))
	if has || err != nil {
		return false, err
	}
	return h.git.CommitExists(ctx, was.Commit)
}

// WithWorkspace opens the files of the workspace, calls do with them, and closes them.
func WithWorkspace(ctx context.Context, env *cli.Environment, store *checkpoint.Store, do func(*config.Config, *workspace.Workspace) error) error {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	w, err := OpenWorkspace(ctx, env, cfg, store)
	if err != nil {
		return err
	}
	return errors.Join(do(cfg, w), w.Close())
}
