package checkpoint

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// look lists the files as they are, by what is captured now and what the target
// captured, and in addition those of the target that are out of scope now, as
// they are once they are ignored, and what git shows where the target was captured
// with it and captures use it no longer: they too are overwritten or deleted, and so must be in
// the checkpoint that undoes it.
func (r *Rollback) look(ctx context.Context, s *Store, w *workspace.Workspace, now *state.State, target *workspace.Listing) (*workspace.Listing, error) {
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
		if pattern := escapeGlob(path); !slices.Contains(r.patterns, pattern) {
			r.patterns = append(r.patterns, pattern)
		}
	}
	if found, err = w.Now(ctx, r.patterns); err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	return found, nil
}

// ChangesIgnored reports whether what git ignores changes: of the files to be
// deleted, those that were ignored then are left as they are.
func (r *Rollback) ChangesIgnored() bool { return slices.ContainsFunc(r.Changes, isIgnoreFile) }

func isIgnoreFile(c workspace.Change) bool { return path.Base(c.Path) == ".gitignore" }

// restoreChanges carries out changes of what patterns and git show. What was
// ignored at the target is in no checkpoint of that time, and not to be deleted:
// the rules of then are restored first, those of a directory before those below
// it, which they may have ignored, and tell what that is.
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

// byDepth parts changes by how many directories are above them, the fewest
// first.
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

// exceptUnseen leaves alone what would be deleted and patterns and git do not
// show any more.
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

// exceptIgnored leaves files alone that are ignored, where captures are commits
// on the branch: one that was made while they were not has made git track them,
// so that its index does not tell. What patterns name was in scope all the same.
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

// ignoreRules takes out of changes those of .gitignore files, but where a
// directory above them is made of something else.
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
