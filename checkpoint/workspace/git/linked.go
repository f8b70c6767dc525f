package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/store"
)

// addTries is how often git is asked to add a work tree: it fails if another process adds one
// at that moment.
const addTries = 3

// AddLinked makes a linked work tree in a directory that does not exist yet, or is empty. HEAD
// is detached at the commit that is checked out here, the index is a copy of this one, and
// there are no files. It returns the directory in it that corresponds to g's.
func (g *Repository) AddLinked(ctx context.Context, dir string) (string, error) {
	var err error
	for range addTries {
		add := g.command("-c", "worktree.useRelativePaths=false", "worktree", "add", "--quiet", "--detach", "--no-checkout", dir, "HEAD")
		if _, err = g.runCapturing(ctx, nil, add); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("make a linked git work tree: %w", err)
	}
	if err := g.copyIndex(dir); err != nil {
		return "", fmt.Errorf("make a linked git work tree: %w", err)
	}
	return filepath.Join(dir, filepath.FromSlash(g.prefix)), nil
}

// HideLeftOut has git take the files that were left out of a linked work tree, whose directory
// that corresponds to g's is dir, as unchanged. Otherwise `git diff` would show them as deleted.
// What does not exist here either stays deleted.
func (g *Repository) HideLeftOut(ctx context.Context, dir string) error {
	top, here := g.above(dir), g.above(g.dir)
	in := func(args ...string) Command {
		c := g.command(args...)
		c.Dir = top
		return c
	}
	missing, err := g.runCapturing(ctx, nil, in("ls-files", "-z", "--deleted"))
	if err != nil {
		return fmt.Errorf("list what is left out of the work tree: %w", err)
	}
	var leftOut bytes.Buffer
	for name := range bytes.SplitSeq(bytes.TrimSuffix(missing, []byte{0}), []byte{0}) {
		if _, err := os.Lstat(filepath.Join(here, filepath.FromSlash(string(name)))); err == nil && len(name) > 0 {
			leftOut.Write(name)
			leftOut.WriteByte(0)
		}
	}
	if leftOut.Len() == 0 {
		return nil
	}
	if _, err := g.runCapturing(ctx, &leftOut, in("update-index", "-z", "--skip-worktree", "--stdin")); err != nil {
		return fmt.Errorf("hide what is left out of the work tree: %w", err)
	}
	return nil
}

// above returns the top of a work tree, of which dir corresponds to g's directory.
func (g *Repository) above(dir string) string {
	for range strings.Count(g.prefix, "/") {
		dir = filepath.Dir(dir)
	}
	return dir
}

// copyIndex copies the index, and the shared part of a split one, to a linked work tree.
func (g *Repository) copyIndex(dir string) error {
	to, err := gitDirOf(filepath.Join(dir, ".git"))
	if err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(escapeGlob(g.gitDir), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, name := range append(names, filepath.Join(g.gitDir, "index")) {
		data, err := store.ReadFile(g.fs, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(name)), data, 0o600)
		}
		if err != nil {
			return fmt.Errorf("copy the index: %w", err)
		}
	}
	return nil
}

// escapeGlob returns a pattern of path/filepath that matches only the path.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' { // there is no escape character
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// ForgetLinked removes what the repository knows of the linked work trees in a directory and
// below it: their HEAD, index and reflog. Their files stay. It leaves other work trees alone,
// as `git worktree prune` does not, which also forgets those on a disk that is not mounted.
func (g *Repository) ForgetLinked(below string) error {
	all := filepath.Join(g.commonDir, "worktrees")
	entries, err := os.ReadDir(all)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the linked git work trees: %w", err)
	}
	for _, e := range entries {
		admin := filepath.Join(all, e.Name())
		data, err := os.ReadFile(filepath.Join(admin, "gitdir"))
		if err != nil { // another process is making or removing it
			continue
		}
		at := filepath.Dir(strings.TrimSpace(string(data)))
		if rel, err := filepath.Rel(below, at); err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if err := os.RemoveAll(admin); err != nil {
			return fmt.Errorf("forget a linked git work tree: %w", err)
		}
	}
	return nil // an empty directory stays: git may be about to make a work tree in it
}
