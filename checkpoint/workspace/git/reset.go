package git

import (
	"context"
	"fmt"
	"strings"
)

// Reset makes HEAD name a branch ("": none), the branch name a commit, and the index that
// of the commit. It changes no file of the work tree: the caller has restored and verified
// those. CheckReset says what Reset refuses. A second Reset does nothing.
func (g *Repository) Reset(ctx context.Context, branch, commit string) error {
	there, err := g.headIs(ctx, branch, commit)
	if err != nil || there {
		return err
	}
	if err := g.CheckReset(ctx, branch, commit); err != nil {
		return err
	}
	if err := g.attach(ctx, branch, commit); err != nil {
		return fmt.Errorf("make HEAD of git name %q: %w", branch, err)
	}
	if _, err := g.output(ctx, nil, durable("reset", "--quiet", "--mixed", commit, "--")...); err != nil {
		return fmt.Errorf("reset git to %s: %w", commit, err)
	}
	there, err = g.headIs(ctx, branch, commit)
	if err == nil && !there {
		err = fmt.Errorf("reset git to %s on %q: it stands elsewhere", commit, branch)
	}
	if err != nil {
		return err
	}
	return g.syncHead(branch)
}

// CheckReset returns why Reset would refuse, as a *StateError: the branch does not exist or
// is checked out in another work tree, or files outside of the directory, which no capture
// holds, would lose staged or committed changes.
func (g *Repository) CheckReset(ctx context.Context, branch, commit string) error {
	if !g.isName(commit) || strings.HasPrefix(branch, "-") {
		return fmt.Errorf("reset git to %q on %q: not the names of a commit and a branch", commit, branch)
	}
	there, err := g.headIs(ctx, branch, commit)
	if err != nil || there {
		return err
	}
	current, head, err := g.Head(ctx)
	if err != nil {
		return err
	}
	if current != branch && branch != "" {
		if err := g.checkBranch(ctx, branch); err != nil {
			return err
		}
	}
	return g.checkOutside(ctx, head, commit)
}

// headIs reports whether HEAD names the branch and the commit, and the index below the
// directory is that of the commit.
func (g *Repository) headIs(ctx context.Context, branch, commit string) (bool, error) {
	atBranch, atCommit, err := g.Head(ctx)
	if err != nil || atBranch != branch || atCommit != commit {
		return false, err
	}
	_, err = g.output(ctx, nil, "diff-index", "--cached", "--quiet", commit, "--", ".")
	if exitCode(err) == 1 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("compare git's index with %s: %w", commit, err)
	}
	return true, nil
}

// checkBranch refuses a branch that HEAD can't name.
func (g *Repository) checkBranch(ctx context.Context, branch string) error {
	ref := headsRoot + branch
	out, err := g.output(ctx, nil, "for-each-ref", "--format=%(refname)%00%(worktreepath)", ref)
	if err != nil {
		return fmt.Errorf("look for the branch %q of git: %w", branch, err)
	}
	name, tree, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\x00")
	switch {
	case name != ref:
		return &StateError{
			Detail: fmt.Sprintf("there is no branch %q any more", branch),
			Remedy: "make it again: git branch " + branch,
		}
	case tree != "":
		return &StateError{
			Detail: fmt.Sprintf("the branch %q is checked out in %s", branch, tree),
			Remedy: "check out another branch there",
		}
	}
	return nil
}

// checkOutside refuses a reset that would discard changes outside of the directory.
func (g *Repository) checkOutside(ctx context.Context, head, commit string) error {
	if g.prefix == "" {
		return nil
	}
	ask := func(args ...string) ([]string, error) {
		c := g.command(append(args, g.outside()...)...)
		c.Env = append(c.Env, "GIT_LITERAL_PATHSPECS=0")
		out, err := g.capture(ctx, nil, c)
		if err != nil {
			return nil, fmt.Errorf("look at what lies outside of %s: %w", g.prefix, err)
		}
		return records(out), nil
	}
	edited, err := ask("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty")
	if err != nil {
		return err
	}
	if len(edited) > 0 {
		return &StateError{
			Detail: fmt.Sprintf("there are uncommitted changes outside of %s, in %q for one", g.prefix, edited[0][3:]),
			Remedy: "git stash or commit them on another branch first, or set git.mode to ref, which leaves branches alone",
		}
	}
	if head == "" {
		return nil
	}
	committed, err := ask("diff-tree", "-r", "-z", "--name-only", "--no-renames", head, commit)
	if err != nil {
		return err
	}
	if len(committed) > 0 {
		return &StateError{
			Detail: fmt.Sprintf("the commits to discard changed files outside of %s, %q for one", g.prefix, committed[0]),
			Remedy: "take those commits to another branch first, or set git.mode to ref, which leaves branches alone",
		}
	}
	return nil
}

// attach makes HEAD name a branch, or detaches it at a commit.
func (g *Repository) attach(ctx context.Context, branch, commit string) error {
	current, _, err := g.Head(ctx)
	if err != nil || current == branch {
		return err
	}
	if branch == "" {
		_, err = g.output(ctx, nil, durable("update-ref", "--no-deref", "-m", "runner: roll back", "HEAD", commit)...)
	} else {
		_, err = g.output(ctx, nil, durable("symbolic-ref", "-m", "runner: roll back", "HEAD", headsRoot+branch)...)
	}
	return err
}
