package rollback

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// restoreFiles restores the files of a state. It verifies and writes the files first.
// Then, if the state's commit is on a branch, it resets HEAD and the index: a reset before
// that would overwrite files that no checkpoint holds. found lists the files that are
// expected in the workspace; if nil, restoreFiles lists them. left says where an
// interrupted restore may have left temporary files or empty directories.
func restoreFiles(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, intent state.RollbackStarted, to *state.State, found *workspace.Listing, left workspace.RestoreOptions) (workspace.Restored, error) {
	if w == nil {
		return workspace.Restored{}, errors.New("the workspace is not known")
	}
	reset, err := resetFor(ctx, x, w, intent, to)
	if err != nil {
		return workspace.Restored{}, fmt.Errorf("reset the branch: %w", err)
	}
	restored, err := restoreListed(ctx, x, w, intent, to, found, left)
	if err != nil || reset == nil {
		return restored, err
	}
	if err := w.Git().Reset(ctx, reset.Branch, reset.To); err != nil {
		return restored, fmt.Errorf("reset the branch: %w", err)
	}
	return restored, nil
}

// restoreListed writes the files of a state, and changes neither HEAD nor the index.
func restoreListed(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, intent state.RollbackStarted, to *state.State, found *workspace.Listing, left workspace.RestoreOptions) (workspace.Restored, error) {
	target, known, err := checkpoint.FilesOf(ctx, w, to)
	if err != nil {
		return workspace.Restored{}, err
	}
	patterns, err := checkpoint.RecordedPatterns(ctx, w, x.State()) // those of the safety checkpoint: the present's and the target's
	if err != nil {
		return workspace.Restored{}, err
	}
	if found == nil {
		if found, err = w.Now(ctx, patterns); err != nil {
			return workspace.Restored{}, fmt.Errorf("look at the workspace: %w", err)
		}
	}
	if !known {
		target = found.With(target.Entries)
	}
	changes, err := changesTo(ctx, x.Store(), w, x.State(), to, found, target)
	if err == nil {
		changes, err = exceptUnrecorded(ctx, x, w, changes)
	}
	if err != nil {
		return workspace.Restored{}, err
	}
	left.ID, left.Force = intent.ID, intent.Force
	return restoreChanges(ctx, w, patterns, changes, left)
}

// exceptUnrecorded drops the changes to files that the last capture left out. No
// checkpoint holds their present bytes, even if they no longer change or no longer look
// sensitive.
func exceptUnrecorded(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, changes []workspace.Change) ([]workspace.Change, error) {
	last := x.State().Capture
	if last == nil || last.LeftOut+last.Unstable+last.Special == 0 {
		return changes, nil
	}
	l, err := w.Load(ctx, last.Listing)
	if err != nil {
		return nil, fmt.Errorf("load what was left out of the last capture: %w", err)
	}
	return slices.DeleteFunc(changes, func(c workspace.Change) bool { return l.Lacks(c.Path) }), nil
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
