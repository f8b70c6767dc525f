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

// savedIndex holds the user's index from before CommitAll staged files.
type savedIndex struct {
	g       *Repository
	content []byte // nil: the index did not exist
	staged  []byte // the entries of the index after CommitAll staged files
}

func (g *Repository) indexFile() string { return filepath.Join(g.gitDir, "index") }

func saveIndex(g *Repository) (*savedIndex, error) {
	content, err := store.ReadFile(g.fs, g.indexFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read git's index: %w", err)
	}
	return &savedIndex{g: g, content: content}, nil
}

// recordStaged records the entries of the index, for restore.
func (s *savedIndex) recordStaged(ctx context.Context) (err error) {
	s.staged, err = listIndex(ctx, s.g)
	return err
}

// restore writes the saved index back, unless another command has staged something since
// recordStaged. It holds the lock that git's commands hold.
func (s *savedIndex) restore(ctx context.Context) error {
	lock := s.g.indexFile() + ".lock"
	f, err := s.g.fs.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("take back what was staged: %w", err)
	}
	_, err = f.Write(s.content)
	now, lookErr := listIndex(ctx, s.g)
	err = errors.Join(err, f.Sync(), f.Close(), lookErr)
	switch {
	case err != nil || !bytes.Equal(now, s.staged):
	case s.content == nil:
		err = s.g.fs.Remove(s.g.indexFile())
	default:
		if err = s.g.fs.Rename(lock, s.g.indexFile()); err == nil {
			return s.g.fs.SyncDir(s.g.gitDir)
		}
	}
	if err = errors.Join(err, s.g.fs.Remove(lock)); err != nil {
		return fmt.Errorf("take back what was staged: %w", err)
	}
	return nil
}

// listIndex lists the whole index.
func listIndex(ctx context.Context, g *Repository) ([]byte, error) {
	c := g.command("ls-files", "-z", "--stage", "--full-name", "--", ":/")
	c.Env = append(c.Env, "GIT_LITERAL_PATHSPECS=0") // ":/" is the top level
	return g.runCapturing(ctx, nil, c)
}

// withoutOutsideChanges calls commit with an environment in which the index has no changes
// that the user has staged outside of the directory. If the user has staged some, the
// environment names a second index without them; the user's index keeps them staged.
func (c branchCommit) withoutOutsideChanges(ctx context.Context, commit func(env ...string) error) (err error) {
	entries, err := c.stagedOutside(ctx)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return commit()
	}
	dir, err := os.MkdirTemp("", "runner-index-")
	if err != nil {
		return fmt.Errorf("make another index for git: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	content, err := store.ReadFile(c.git.fs, c.git.indexFile())
	if err != nil {
		return fmt.Errorf("read git's index: %w", err)
	}
	name := filepath.Join(dir, "index")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		return fmt.Errorf("make another index for git: %w", err)
	}
	env := "GIT_INDEX_FILE=" + name
	cmd := c.git.command("update-index", "-z", "--index-info")
	cmd.Env = append(cmd.Env, env)
	if _, err := c.git.runCapturing(ctx, strings.NewReader(strings.Join(entries, "")), cmd); err != nil {
		return fmt.Errorf("leave out what is staged outside of %s: %w", c.git.prefix, err)
	}
	return commit(env)
}

// stagedOutside returns, for each file that is staged outside of the directory, HEAD's
// entry, as update-index reads it.
func (c branchCommit) stagedOutside(ctx context.Context) ([]string, error) {
	if c.git.prefix == "" {
		return nil, nil
	}
	_, head, err := c.git.Head(ctx)
	if err == nil && head == "" {
		var tree []byte
		tree, err = c.git.output(ctx, strings.NewReader(""), "hash-object", "-t", "tree", "--stdin")
		head = strings.TrimSpace(string(tree))
	}
	if err != nil {
		return nil, err
	}
	cmd := c.git.command(append(diffIndex(head), c.git.outside()...)...)
	cmd.Env = append(cmd.Env, "GIT_LITERAL_PATHSPECS=0")
	out, err := c.git.runCapturing(ctx, nil, cmd)
	var changes []StagedChange
	if err == nil {
		changes, err = parseRawDiff(out, "")
	}
	if err != nil {
		return nil, fmt.Errorf("look at what is staged outside of %s: %w", c.git.prefix, err)
	}
	entries := make([]string, len(changes))
	for i, change := range changes {
		entries[i] = c.git.indexInfo(change.Commit, change.Commit.Path)
	}
	return entries, nil
}

// outside returns the pathspecs of everything outside of the directory.
func (g *Repository) outside() []string {
	return []string{"--", ":(top)", ":(top,exclude,literal)" + strings.TrimSuffix(g.prefix, "/")}
}
