package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"prdrunner/checkpoint"
)

// gitProgram reads a work tree through the git program. It implements
// runner.Git.
type gitProgram struct {
	dir     string
	environ []string
}

// Head implements runner.Git: nil outside a work tree, and where there is no
// git program.
func (g gitProgram) Head(ctx context.Context) (*checkpoint.Git, error) {
	inside, err := g.output(ctx, "rev-parse", "--is-inside-work-tree")
	if err != nil || inside != "true" {
		return nil, err
	}
	commit, err := g.output(ctx, "rev-parse", "--quiet", "--verify", "HEAD")
	if err != nil {
		return nil, err
	}
	branch, err := g.output(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return nil, err
	}
	return &checkpoint.Git{Branch: branch, Commit: commit}, nil
}

// output runs git and returns what it printed. That git is not there, or says
// no by its exit code, is an empty answer.
func (g gitProgram) output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = g.dir
	// Reading must not write: no refreshed index, and no prompt for anything.
	cmd.Env = append(g.environ[:len(g.environ):len(g.environ)], "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return strings.TrimSpace(string(out)), nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("run git %s: %w", args[0], ctx.Err())
	case errors.Is(err, exec.ErrNotFound), errors.As(err, &exit) && exit.Exited():
		return "", nil
	}
	return "", fmt.Errorf("run git %s: %w", args[0], err)
}
