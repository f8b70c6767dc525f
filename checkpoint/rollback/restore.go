package rollback

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
)

// listPresent lists the files in the workspace that the rollback may overwrite or delete, because
// they must be in the checkpoint that undoes it. It sets r.patterns to the patterns that
// list them. It lists by the present patterns and by those of the target. It adds the
// target's files that are out of scope now, for example because git ignores them by now.
// If the target was captured with git and captures no longer use git, it adds the files
// that git shows.
func (r *Plan) listPresent(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now *state.State, target *workspace.Listing) (*workspace.Listing, error) {
	patterns, err := s.CapturePatterns(ctx, w, now)
	if err != nil {
		return nil, err
	}
	r.patterns = slices.Clip(patterns)
	for _, pattern := range target.Patterns {
		if !slices.Contains(r.patterns, pattern) {
			r.patterns = append(r.patterns, pattern)
		}
	}
	found, err := w.Now(ctx, r.patterns)
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	unlisted, err := w.Unlisted(ctx, found, target.Entries)
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	if r.state.Capture != nil && r.state.Capture.Commit != "" && w.Git() == nil {
		shown, err := w.ShownByGit(ctx, found)
		if err != nil {
			return nil, fmt.Errorf("look at the workspace: %w", err)
		}
		unlisted = append(unlisted, shown...)
	}
	if len(unlisted) == 0 {
		return found, nil
	}
	for _, path := range unlisted {
		if pattern := tree.EscapeGlob(path); !slices.Contains(r.patterns, pattern) {
			r.patterns = append(r.patterns, pattern)
		}
	}
	if found, err = w.Now(ctx, r.patterns); err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	return found, nil
}

// ChangesIgnored reports whether the rollback changes .gitignore files. If so, it may
// delete fewer files than planned: those that were ignored at the target stay.
func (r *Plan) ChangesIgnored() bool { return slices.ContainsFunc(r.Changes, isIgnoreFile) }

func isIgnoreFile(c workspace.Change) bool { return path.Base(c.Path) == ".gitignore" }

// restoreChanges carries out changes to files that patterns and git list. Files that were
// ignored at the target are in no checkpoint from that time, and must not be deleted. So
// it restores the .gitignore files first, and then asks git which files these rules
// ignore. A directory's rules come before those of its subdirectories, which they may have
// ignored.
func restoreChanges(ctx context.Context, w *workspace.Workspace, patterns []string, changes []workspace.Change, o workspace.RestoreOptions) (workspace.Restored, error) {
	var steps [][]workspace.Change
	rules, rest := ignoreRules(changes)
	if w.Git() == nil || len(rules) == 0 {
		rest = changes
	} else {
		steps = byDepth(rules)
	}
	var all workspace.Restored
	for n, step := range append(steps, rest) {
		var err error
		if n > 0 {
			step, err = exceptUnseen(ctx, w, patterns, step)
		}
		if err == nil && (n > 0 || len(steps) == 0) {
			step, err = exceptIgnored(ctx, w, patterns, step)
		}
		if err != nil {
			return all, err
		}
		done, err := w.Restore(ctx, step, o)
		all.Written += done.Written
		all.Deleted += done.Deleted
		all.Skipped = append(all.Skipped, done.Skipped...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// byDepth groups changes by the number of directories above them, the fewest first.
func byDepth(changes []workspace.Change) [][]workspace.Change {
	depth := func(c workspace.Change) int { return strings.Count(c.Path, "/") }
	slices.SortStableFunc(changes, func(a, b workspace.Change) int { return depth(a) - depth(b) })
	var parts [][]workspace.Change
	for n, c := range changes {
		if n == 0 || depth(changes[n-1]) != depth(c) {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], c)
	}
	return parts
}

// exceptUnseen drops the deletions of files that patterns and git no longer list.
func exceptUnseen(ctx context.Context, w *workspace.Workspace, patterns []string, changes []workspace.Change) ([]workspace.Change, error) {
	deletes := func(c workspace.Change) bool { return c.To == nil }
	if !slices.ContainsFunc(changes, deletes) {
		return changes, nil
	}
	now, err := w.Now(ctx, patterns)
	if err != nil {
		return nil, fmt.Errorf("look for what was ignored: %w", err)
	}
	seen := map[string]bool{}
	for _, e := range now.Entries {
		seen[e.Path] = true
	}
	return slices.DeleteFunc(changes, func(c workspace.Change) bool { return deletes(c) && !seen[c.Path] }), nil
}

// exceptIgnored drops the deletions of ignored files, where captures are commits on the
// branch. A capture that was made while a file was not ignored made git track it, so that
// git's index does not say that it is ignored. Files that patterns name were in scope
// nevertheless, and are deleted.
func exceptIgnored(ctx context.Context, w *workspace.Workspace, patterns []string, changes []workspace.Change) ([]workspace.Change, error) {
	if !w.CommitsToBranch() {
		return changes, nil
	}
	var deleted []string
	for _, c := range changes {
		if c.To == nil {
			deleted = append(deleted, c.Path)
		}
	}
	ignored, err := w.Git().IgnoredByRules(ctx, deleted)
	if err != nil || len(ignored) == 0 {
		return changes, err
	}
	named, err := w.InScope(ctx, patterns, false)
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	return slices.DeleteFunc(changes, func(c workspace.Change) bool {
		return c.To == nil && ignored[c.Path] && !named(*c.From)
	}), nil
}

// ignoreRules splits changes into those of .gitignore files and the rest. A .gitignore
// file below a path that changes itself, such as a file that becomes a directory, belongs
// to the rest.
func ignoreRules(changes []workspace.Change) (rules, rest []workspace.Change) {
	changed := map[string]bool{}
	for _, c := range changes {
		changed[c.Path] = true
	}
	for _, c := range changes {
		alone := true
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			alone = alone && !changed[dir]
		}
		if alone && isIgnoreFile(c) {
			rules = append(rules, c)
		} else {
			rest = append(rest, c)
		}
	}
	return rules, rest
}
