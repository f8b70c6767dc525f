package git

import (
	"context"
	"fmt"
	"strings"
)

// Reset sets HEAD to a branch ("": none), the branch to a commit, and the index to the
// files of the commit. It changes no file of the work tree: the caller has restored and
// verified the files. CheckReset says what Reset refuses. A second Reset does nothing.
func (g *Repository) Reset(ctx context.Context, branch, commit string) error {
	r := reset{g, branch, commit}
	done, err := r.isDone(ctx)
	if err != nil || done {
		return err
	}
	if err := r.checkAllowed(ctx); err != nil {
		return err
	}
	if err := r.attachHead(ctx); err != nil {
		return fmt.Errorf("make HEAD of git name %q: %w", branch, err)
	}
	if _, err := g.output(ctx, nil, durable("reset", "--quiet", "--mixed", commit, "--")...); err != nil {
		return fmt.Errorf("reset git to %s: %w", commit, err)
	}
	done, err = r.isDone(ctx)
	if err == nil && !done {
		err = fmt.Errorf("reset git to %s on %q: it stands elsewhere", commit, branch)
	}
	if err != nil {
		return err
	}
	return syncer{g}.syncHead(branch)
}

// CheckReset returns why Reset would refuse, as a *StateError: the branch does not exist or
// is checked out in another work tree, or files outside of the directory, which no capture
// holds, would lose staged or committed changes.
func (g *Repository) CheckReset(ctx context.Context, branch, commit string) error {
	return (&reset{g, branch, commit}).checkAllowed(ctx)
}

// reset is one call of Reset.
type reset struct {
	git    *Repository
	branch string // "": HEAD is detached
	commit string
}

func (r *reset) checkAllowed(ctx context.Context) error {
	if !r.git.isName(r.commit) || strings.HasPrefix(r.branch, "-") {
		return fmt.Errorf("reset git to %q on %q: not the names of a commit and a branch", r.commit, r.branch)
	}
	done, err := r.isDone(ctx)
	if err != nil || done {
		return err
	}
	current, head, err := r.git.Head(ctx)
	if err != nil {
		return err
	}
	if current != r.branch && r.branch != "" {
		if err := r.checkBranch(ctx); err != nil {
			return err
		}
	}
	return r.checkOutside(ctx, head)
}

// isDone reports whether HEAD names the branch and the commit, and the index below the
// directory equals the commit.
func (r *reset) isDone(ctx context.Context) (bool, error) {
	branch, commit, err := r.git.Head(ctx)
	if err != nil || branch != r.branch || commit != r.commit {
		return false, err
	}
	_, err = r.git.output(ctx, nil, "diff-index", "--cached", "--quiet", r.commit, "--", ".")
	if exitCode(err) == 1 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("compare git's index with %s: %w", r.commit, err)
	}
	return true, nil
}

// checkBranch refuses a branch that HEAD can't name.
func (r *reset) checkBranch(ctx context.Context) error {
	ref := headsRoot + r.branch
	out, err := r.git.output(ctx, nil, "for-each-ref", "--format=%(refname)%00%(worktreepath)", ref)
	if err != nil {
		return fmt.Errorf("look for the branch %q of git: %w", r.branch, err)
	}
	name, tree, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\x00")
	switch {
	case name != ref:
		return &StateError{
			Detail: fmt.Sprintf("there is no branch %q any more", r.branch),
			Remedy: "make it again: git branch " + r.branch,
		}
	case tree != "":
		return &StateError{
			Detail: fmt.Sprintf("the branch %q is checked out in %s", r.branch, tree),
			Remedy: "check out another branch there",
		}
	}
	return nil
}

// checkOutside refuses a reset that would discard changes outside of the directory.
func (r *reset) checkOutside(ctx context.Context, head string) error {
	if r.git.prefix == "" {
		return nil
	}
	ask := func(args ...string) ([]string, error) {
		c := r.git.command(append(args, r.git.outside()...)...)
		c.Env = append(c.Env, "GIT_LITERAL_PATHSPECS=0")
		out, err := r.git.runCapturing(ctx, nil, c)
		if err != nil {
			return nil, fmt.Errorf("look at what lies outside of %s: %w", r.git.prefix, err)
		}
		return records(out), nil
	}
	edited, err := ask("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty")
	if err != nil {
		return err
	}
	if len(edited) > 0 {
		return &StateError{
			Detail: fmt.Sprintf("there are uncommitted changes outside of %s, in %q for one", r.git.prefix, edited[0][3:]),
			Remedy: "git stash or commit them on another branch first, or set git.mode to ref, which leaves branches alone",
		}
	}
	if head == "" {
		return nil
	}
	committed, err := ask("diff-tree", "-r", "-z", "--name-only", "--no-renames", head, r.commit)
	if err != nil {
		return err
	}
	if len(committed) > 0 {
		return &StateError{
			Detail: fmt.Sprintf("the commits to discard changed files outside of %s, %q for one", r.git.prefix, committed[0]),
			Remedy: "take those commits to another branch first, or set git.mode to ref, which leaves branches alone",
		}
	}
	return nil
}

// attachHead sets HEAD to a branch, or detaches it at a commit.
func (r *reset) attachHead(ctx context.Context) error {
	current, _, err := r.git.Head(ctx)
	if err != nil || current == r.branch {
		return err
	}
	if r.branch == "" {
		_, err = r.git.output(ctx, nil, durable("update-ref", "--no-deref", "-m", "runner: roll back", "HEAD", r.commit)...)
	} else {
		_, err = r.git.output(ctx, nil, durable("symbolic-ref", "-m", "runner: roll back", "HEAD", headsRoot+r.branch)...)
	}
	return err
}
