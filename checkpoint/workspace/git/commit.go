package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Exclusions say which files CommitAll does not stage.
type Exclusions struct {
	Paths     []string               // except for paths of declared submodules, whose commit is part of this repository
	Untracked func(path string) bool // reports whether to exclude an untracked file; nil: none
}

// CommitAll stages everything below the directory, except for the exclusions and for
// other repositories, and commits it to the current branch, or where HEAD is detached.
// If there is nothing to commit, it returns HEAD's commit, or "" if the branch has no
// commit yet. The author is the user, or Runner if git knows no user. The commit is
// durable when CommitAll returns.
func (g *Repository) CommitAll(ctx context.Context, message string, exclude Exclusions) (commit string, err error) {
	c := branchCommit{g}
	if err := c.checkReady(ctx); err != nil {
		return "", fmt.Errorf("commit with git: %w", err)
	}
	index, err := saveIndex(g)
	if err != nil {
		return "", err
	}
	if err := c.stageAll(ctx, exclude); err != nil {
		return "", fmt.Errorf("stage everything with git: %w", err)
	}
	after := context.WithoutCancel(ctx)
	if err := index.recordStaged(after); err != nil {
		return "", fmt.Errorf("look at what is staged: %w", err)
	}
	err = c.withoutOutsideChanges(ctx, func(env ...string) error { return c.commitStaged(ctx, message, env) })
	if err != nil {
		return "", fmt.Errorf("commit with git: %w", errors.Join(err, index.restore(after)))
	}
	branch, commit, err := g.Head(ctx)
	if err != nil {
		return "", err
	}
	return commit, syncer{g}.syncHead(branch)
}

// branchCommit makes a commit on the user's branch.
type branchCommit struct{ git *Repository }

// durable adds the settings of commands that write objects into the user's history: fsync
// everything, and start no housekeeping in the background.
func durable(args ...string) []string {
	return append([]string{
		"-c", "core.fsync=all", "-c", "core.fsyncMethod=batch", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	}, args...)
}

// checkReady returns an error while git is in the middle of a merge, a rebase or the
// like, which a commit would conclude.
func (c branchCommit) checkReady(ctx context.Context) error {
	doing, err := c.git.InProgress(ctx)
	if err != nil {
		return err
	}
	if doing != "" {
		return &StateError{
			Detail: "a " + doing + " is in progress",
			Remedy: fmt.Sprintf("finish it or give it up: git status tells how to go on, git %s --abort goes back", doing),
		}
	}
	cmd := c.git.command("ls-files", "-z", "--unmerged", "--", ":/")
	cmd.Env = append(cmd.Env, "GIT_LITERAL_PATHSPECS=0") // ":/" is the top level
	unmerged, err := c.git.runCapturing(ctx, nil, cmd)
	if err != nil {
		return err
	}
	if entries := records(unmerged); len(entries) > 0 {
		_, path, _ := strings.Cut(entries[0], "\t")
		return &StateError{
			Detail: fmt.Sprintf("there are conflicts that nobody has resolved, in %q for one", path),
			Remedy: "resolve them and tell git with: git add PATH",
		}
	}
	return nil
}

// stageAll adds everything to the index except for the exclusions. It excludes other
// repositories, too, which would become submodules that the user has not declared.
func (c branchCommit) stageAll(ctx context.Context, exclude Exclusions) error {
	files, err := c.git.Files(ctx)
	if err != nil {
		return err
	}
	specs, sparse, submodules := []string{"."}, false, map[string]bool{}
	for _, f := range files {
		sparse = sparse || f.Sparse
		switch {
		case f.Gitlink && f.Tracked:
			submodules[f.Path] = true
		case f.Gitlink, !f.Tracked && exclude.Untracked != nil && exclude.Untracked(f.Path):
			specs = append(specs, ":(exclude,literal)"+f.Path)
		}
	}
	for _, path := range exclude.Paths {
		if !submodules[path] {
			specs = append(specs, ":(exclude,literal)"+path)
		}
	}
	args := []string{"-c", "advice.addIgnoredFile=true", "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"}
	if sparse { // without the flag, git refuses existing files that the sparse checkout leaves out
		args = append(args, "--sparse")
	}
	cmd := c.git.command(durable(args...)...)
	cmd.Env = append(cmd.Env, "GIT_LITERAL_PATHSPECS=0")
	_, err = c.git.runCapturing(ctx, strings.NewReader(strings.Join(specs, "\x00")), cmd)
	if saysIgnored(err) {
		return nil
	}
	return err
}

// saysIgnored reports whether git only complains that an excluded path is ignored as
// well. Then it has staged everything else.
func saysIgnored(err error) bool {
	var exit *ExitError
	return errors.As(err, &exit) && exit.Code == 1 && strings.Contains(exit.Stderr, "Use -f if you really want to add them")
}

// commitStaged commits the index that env names, if it differs from HEAD.
func (c branchCommit) commitStaged(ctx context.Context, message string, env []string) error {
	run := func(args ...string) error {
		cmd := c.git.command(args...)
		cmd.Env = append(cmd.Env, env...)
		_, err := c.git.runCapturing(ctx, strings.NewReader(message), cmd)
		return err
	}
	commit := func(settings ...string) error {
		settings = append(settings, "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim", "--file=-")
		return run(durable(settings...)...)
	}
	utf8 := []string{"-c", "i18n.commitEncoding=UTF-8"}
	err := commit(append(utf8, "-c", "user.useConfigOnly=true")...)
	var exit *ExitError
	if errors.As(err, &exit) && exit.Code == 128 && strings.Contains(exit.Stderr, "auto-detection is disabled") {
		err = commit(append(utf8, "-c", "user.name=Runner", "-c", "user.email=runner@localhost")...)
	}
	if exitCode(err) == 1 {
		if run("diff", "--cached", "--quiet") == nil {
			return nil
		}
	}
	return err
}

// InProgress returns the operation that git has begun and not finished: rebase, am,
// merge, cherry-pick, revert, bisect, or "".
func (g *Repository) InProgress(ctx context.Context) (string, error) {
	for _, sign := range []struct{ file, doing string }{
		{"rebase-merge", "rebase"},
		{"rebase-apply/applying", "am"},
		{"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"}, // a rebase may create this file and the next ones, too
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"BISECT_LOG", "bisect"},
	} {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		_, err := g.fs.Lstat(filepath.Join(g.gitDir, filepath.FromSlash(sign.file)))
		switch {
		case err == nil:
			return sign.doing, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("look for what git is doing: %w", err)
		}
	}
	return "", nil
}

// Status describes the work tree in short lines for the user.
func (g *Repository) Status(ctx context.Context) (string, error) {
	out, err := g.output(ctx, nil, "-c", "color.status=false", "status", "--short", "--branch")
	if err != nil {
		return "", fmt.Errorf("ask git for its status: %w", err)
	}
	return string(out), nil
}
