package safety

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/tree"
)

// chooseType returns the type that the options name. If they name none, it returns
// GitStash if git tracks a file in scope, or the index is asked for, and a git_stash can be
// made, else FileBackup.
func (k *copying) chooseType(ctx context.Context) (Type, error) {
	switch k.o.Type {
	case FileBackup:
		return FileBackup, nil
	case StateSnapshot, DatabaseSavepoint:
		return "", fmt.Errorf("a %s holds no files", k.o.Type)
	case GitStash:
		_, err := k.stashable(ctx)
		return GitStash, err
	}
	if k.w.Git() == nil {
		return FileBackup, nil
	}
	tracked, err := k.stashable(ctx)
	var unfit *git.StateError
	switch {
	case errors.As(err, &unfit):
		k.assume("git keeps neither the files nor the index: " + unfit.Detail)
	case err != nil:
		return "", err
	case tracked, k.o.WithIndex:
		return GitStash, nil
	}
	return FileBackup, nil
}

func (k *copying) assume(text string) {
	k.made.Assumptions = append(k.made.Assumptions, state.Text(text))
}

// stashable reports whether git tracks a file in scope. If a git_stash can't be made, it
// returns a *git.StateError.
func (k *copying) stashable(ctx context.Context) (tracked bool, err error) {
	repo := k.w.Repository()
	if repo == nil {
		return false, &git.StateError{Detail: "the workspace is in no git work tree", Remedy: "use --type " + string(FileBackup)}
	}
	_, head, err := repo.Head(ctx)
	if err != nil {
		return false, err
	}
	if head == "" {
		return false, &git.StateError{Detail: "the branch has no commit yet", Remedy: "commit something first, or use --type " + string(FileBackup)}
	}
	files, err := repo.Tracked(ctx)
	if err != nil {
		return false, err
	}
	for _, f := range files {
		if !k.inScope(f.Path) {
			continue
		}
		if f.Blob == "" {
			return false, &git.StateError{
				Detail: fmt.Sprintf("%s has a conflict that nobody has resolved", f.Path),
				Remedy: "resolve it and tell git with git add, or use --type " + string(FileBackup) + ", which copies the file as it is, and not the index",
			}
		}
		tracked = true
	}
	return tracked, nil
}

func (k *copying) inScope(path string) bool { return tree.MatchesAny(k.o.Patterns, path) }

// stash writes the commits of a git_stash. The capture has the bytes of its files in git.
func (k *copying) stash(ctx context.Context, view *workspace.Workspace) error {
	c, repo := k.made.Checkpoint, view.Repository()
	branch, head, err := repo.Head(ctx)
	if err != nil {
		return err
	}
	tracked, committed, err := k.trackedPaths(ctx, repo, head)
	if err != nil {
		return err
	}
	staged, err := repo.Staged(ctx, head)
	if err != nil {
		return err
	}
	stash := git.Stash{
		Ref: refsRoot + c.ID + "/stash", Message: strings.TrimSuffix(fmt.Sprintf("checkpoint:%s:%s", c.ID, c.Reason), ":"),
		When: c.CreatedAt, Head: head,
	}
	for _, change := range staged {
		if k.inScope(change.Index.Path) {
			stash.Index = append(stash.Index, change.Index)
		}
	}
	if intended := k.intended(tracked, committed, staged); len(intended) > 0 {
		k.assume("git add --intent-to-add is not restored: " + joinSome(intended))
	}
	if outside := k.addFiles(&stash, tracked, committed); outside > 0 {
		k.assume(fmt.Sprintf("%s that git ignores, or too large for it: only runner safety restore has their bytes", count(outside, "file")))
	}
	if k.o.Sensitive {
		k.assume("git push --mirror pushes the copy, sensitive files included: it is in git, under refs/runner")
	}
	stashed, err := repo.WriteStash(ctx, stash)
	if err != nil {
		return err
	}
	c.Files.Git = &Git{
		Head: head, Branch: state.Text(branch), Ref: stash.Ref, Stashed: stashed, StagedPaths: len(stash.Index), UntrackedFiles: len(stash.Untracked),
	}
	return nil
}

// addFiles adds the files of the work tree to a stash. It returns the number of files whose
// bytes git does not have. What remains in tracked are files that are gone.
func (k *copying) addFiles(stash *git.Stash, tracked map[string]bool, committed map[string]git.IndexEntry) (outside int) {
	l := k.made.Listing
	for _, e := range l.Entries {
		entry := git.IndexEntry{Path: e.Path, Mode: e.GitMode(), Blob: e.Blob}
		switch {
		case e.Mode&workspace.ModeDir != 0:
		case e.Blob == "":
			outside++
		case committed[e.Path] == entry:
		case tracked[e.Path]:
			stash.WorkTree = append(stash.WorkTree, entry)
		default:
			stash.Untracked = append(stash.Untracked, entry)
		}
		delete(tracked, e.Path)
	}
	for path := range tracked {
		if !l.Lacks(path) && !l.IsSparse(path) {
			stash.WorkTree = append(stash.WorkTree, git.IndexEntry{Path: path})
		}
	}
	return outside
}

// intended returns the files that are only intended to be added: those that the index has,
// and neither HEAD nor what is staged.
func (k *copying) intended(tracked map[string]bool, committed map[string]git.IndexEntry, staged []git.StagedChange) []string {
	known := map[string]bool{}
	for _, change := range staged {
		known[change.Index.Path] = true
	}
	var paths []string
	for path := range tracked {
		if _, has := committed[path]; !has && !known[path] {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// trackedPaths returns the files in scope that git's index or HEAD has, and those of HEAD
// with their entries.
func (k *copying) trackedPaths(ctx context.Context, repo *git.Repository, head string) (tracked map[string]bool, committed map[string]git.IndexEntry, err error) {
	index, err := repo.Tracked(ctx)
	if err != nil {
		return nil, nil, err
	}
	files, err := repo.CommitFiles(ctx, head)
	if err != nil {
		return nil, nil, err
	}
	tracked, committed = map[string]bool{}, map[string]git.IndexEntry{}
	for _, f := range files {
		committed[f.Path] = git.IndexEntry{Path: f.Path, Mode: f.Mode, Blob: f.Blob}
	}
	for _, f := range append(index, files...) {
		if !f.Gitlink && k.inScope(f.Path) {
			tracked[f.Path] = true
		}
	}
	return tracked, committed, nil
}

// indexChanges returns the entries of the index to set, so that it is again as a
// checkpoint has it.
func indexChanges(ctx context.Context, repo *git.Repository, g *Git, patterns []string) ([]git.IndexEntry, error) {
	if repo == nil {
		return nil, &git.StateError{Detail: "the checkpoint is in git, and the workspace is in no git work tree", Remedy: "run the command in the work tree"}
	}
	differ, err := repo.Staged(ctx, g.Index)
	if err != nil {
		return nil, err
	}
	var changes []git.IndexEntry
	for _, d := range differ {
		if tree.MatchesAny(patterns, d.Commit.Path) {
			changes = append(changes, d.Commit)
		}
	}
	return changes, nil
}
