package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/tree"
)

// commitStillValid reports whether the commit of the last capture is valid. A commit on
// the branch is valid as long as HEAD names it and a ref keeps it. Without the ref it
// must be made again.
func (c *capture) commitStillValid(ctx context.Context) bool {
	if !c.w.CommitsToBranch() {
		return true
	}
	_, head, err := c.w.Git().Head(ctx)
	return err == nil && head == c.o.Last.Commit && (head == "" || c.o.Last.Branch && c.o.Last.Ref != "")
}

// commitTries bounds the attempts to commit. Git may prune a blob after it said that it
// has the blob and before the commit refers to it.
const commitTries = 3

// commit keeps the files that git knows in a commit that is on no branch, except for those
// that are too large. The other files become objects.
func (c *capture) commit(ctx context.Context, ref string) (commit string, err error) {
	for range commitTries {
		commit, err = c.tryCommit(ctx, ref)
		var exit *git.ExitError
		again := errors.Is(err, git.ErrPruned) || errors.As(err, &exit) && exit.Code > 0
		if !again || ctx.Err() != nil {
			break
		}
	}
	return commit, err
}

func (c *capture) tryCommit(ctx context.Context, ref string) (commit string, err error) {
	repo := c.w.Git()
	_, head, err := repo.Head(ctx)
	if err != nil {
		return "", err
	}
	has, err := c.askForBlobs(ctx)
	if err != nil {
		return "", err
	}
	inCommit := func(f *surveyed) bool {
		return f.inGit && (has[f.blob] || f.entry.Size <= maxGitBlob)
	}
	if err := c.keepObjects(ctx, func(f *surveyed) bool { return !inCommit(f) }); err != nil {
		return "", err
	}
	reachable, err := c.reachable(ctx)
	if err != nil {
		return "", err
	}
	out, err := c.beginCommit(ctx, git.CommitOptions{Ref: ref, Message: c.o.Message, Parent: head, Reachable: reachable, When: c.o.When})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	dirs := c.w.tree.Cursor()
	defer dirs.Close()
	for i := range c.survey.files {
		f := &c.survey.files[i]
		if !inCommit(f) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if err := c.addOrDelete(ctx, out, dirs, f, has[f.blob]); err != nil {
			return "", err
		}
	}
	return out.Commit(ctx)
}

// reachable returns the commit of the last capture, if its reference exists.
func (c *capture) reachable(ctx context.Context) ([]string, error) {
	last := c.o.Last
	if last == nil || last.Ref == "" {
		return nil, nil
	}
	refs, err := c.w.Git().Refs(ctx, last.Ref)
	if err != nil || refs[last.Ref] != last.Commit {
		return nil, err
	}
	return []string{last.Commit}, nil
}

// askForBlobs asks git which of the files' blobs it has.
func (c *capture) askForBlobs(ctx context.Context) (map[string]bool, error) {
	var blobs []string
	for _, f := range c.survey.files {
		if f.inGit && f.blob != "" {
			blobs = append(blobs, f.blob)
		}
	}
	return c.w.Git().HasBlobs(ctx, blobs)
}

// addOrDelete adds a file to the commit. If the file changes or vanishes meanwhile,
// addOrDelete removes it from the commit again.
func (c *capture) addOrDelete(ctx context.Context, out *git.Writer, dirs *tree.Cursor, f *surveyed, has bool) error {
	err := retryUnstable(ctx, func() error { return c.addToCommit(ctx, out, dirs, f, has) })
	if err := c.handleKeepError(f, err); err != nil {
		return err
	}
	if f.state != present {
		return out.Delete(f.entry.Path)
	}
	f.entry.Blob = f.blob
	return nil
}

// addToCommit adds a file to the commit. If git does not have the bytes, it reads and
// hashes them in one pass.
func (c *capture) addToCommit(ctx context.Context, out *git.Writer, dirs *tree.Cursor, f *surveyed, has bool) error {
	path := f.entry.Path
	if has {
		return out.AddBlob(path, f.entry.GitMode(), f.blob)
	}
	if f.isLink() {
		return out.AddFile(path, ModeSymlink, f.entry.Size, strings.NewReader(f.target))
	}
	all := func(int64) bool { return true }
	return c.w.files.readTo(ctx, dirs.Place(path), &f.found, all, func(r io.Reader, from *origin) (string, error) {
		sha := sha256.New()
		err := out.AddFile(path, f.entry.GitMode(), from.size, io.TeeReader(c.w.files.refusal.guardReader(r), sha))
		switch {
		case errors.Is(err, errRefused): // the scan allowed other bytes
			err = ErrUnstable
		case errors.Is(err, git.ErrLength):
			err = fmt.Errorf("read %s for git: %w", path, ErrUnstable)
		}
		return objects.DigestOf(sha.Sum(nil)), err
	})
}

// GitMode returns the mode that the file or link has in a git tree.
func (e Entry) GitMode() uint32 {
	switch {
	case e.Mode == ModeSymlink:
		return ModeSymlink
	case e.Mode&0o100 != 0:
		return 0o100755
	}
	return 0o100644
}

// commitAll commits to the user's branch, through the user's filters. A file whose bytes
// the commit has unchanged is kept by the commit; other files become objects.
func (c *capture) commitAll(ctx context.Context) (commit string, err error) {
	repo := c.w.Git()
	exclude := git.Exclusions{
		Paths:     slices.Concat(c.survey.excluded, c.survey.unstable, c.survey.unreadable, c.survey.hidden, c.survey.states),
		Untracked: func(path string) bool { return slices.ContainsFunc(strings.Split(path, "/"), tree.IsUnfinished) },
	}
	if commit, err = repo.CommitAll(ctx, c.o.Message, exclude); err != nil {
		return "", err
	}
	files, err := repo.Files(ctx)
	if err != nil {
		return "", err
	}
	stored := map[string]string{}
	for _, f := range files {
		if f.Tracked {
			stored[f.Path] = f.Blob
		}
	}
	isStored := func(f *surveyed) bool { return f.blob != "" && stored[f.entry.Path] == f.blob }
	if err := c.keepObjects(ctx, func(f *surveyed) bool { return !isStored(f) }); err != nil {
		return "", err
	}
	for i := range c.survey.files {
		if f := &c.survey.files[i]; isStored(f) {
			f.entry.Blob = f.blob
		}
	}
	return commit, nil
}
