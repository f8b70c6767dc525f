package checkpoint

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
)

// KeepOverwritten makes a checkpoint of files that are about to be overwritten although a
// user has edited them, or may have. The caller makes sure that nothing runs meanwhile.
// KeepOverwritten captures the paths with the files that the patterns name. kept holds the
// digest of each path's current content. If a path could not be captured, for example
// because it looks sensitive, no checkpoint is made and id is "". If conflict checkpoints
// are switched off, the checkpoint is one of the kind that is always made. It is durable
// with the next commit, which must come before any file is overwritten.
func (x *Session) KeepOverwritten(ctx context.Context, w *workspace.Workspace, patterns, paths []string) (id string, kept map[string]string, err error) {
	named := make([]string, len(paths))
	for i, path := range paths {
		named[i] = tree.EscapeGlob(path)
	}
	w.Invalidate(paths)
	captured, err := x.CaptureFor(ctx, w, sortedUnion(patterns, named), state.TriggerConflictStart)
	if err == nil {
		err = SecurePaths(ctx, w, captured.Listing, paths)
	}
	if err != nil {
		return "", nil, err
	}
	l, err := w.Load(ctx, captured.Listing)
	if err != nil {
		return "", nil, fmt.Errorf("load what was captured: %w", err)
	}
	kept = make(map[string]string, len(paths))
	for _, e := range l.Entries {
		if slices.Contains(paths, e.Path) {
			kept[e.Path] = e.Digest
		}
	}
	if len(kept) < len(paths) {
		return "", kept, nil
	}
	const reason = "files that were or may have been edited, before they are overwritten"
	id, made := x.Checkpoint(state.TriggerConflictStart, reason, GitOf(ctx, w))
	if !made {
		id, made = x.Checkpoint(state.TriggerPreRollback, reason, GitOf(ctx, w))
	}
	if !made {
		return "", nil, fmt.Errorf("overwrite files: %w, so that it could not be undone", ErrSwitchedOff)
	}
	return id, kept, nil
}

// SecurePaths makes sure that the contents of some paths of a capture can be read,
// before the files are overwritten or removed: contents that were stored once may be
// lost or damaged since. It stores lost contents again from the workspace.
func SecurePaths(ctx context.Context, w *workspace.Workspace, listing string, paths []string) error {
	l, err := w.Load(ctx, listing)
	if err != nil {
		return fmt.Errorf("load the files as they were recorded: %w", err)
	}
	wanted := make(map[string]bool, len(paths))
	for _, path := range paths {
		wanted[path] = true
	}
	var entries []workspace.Entry
	for _, e := range l.Entries {
		if wanted[e.Path] {
			entries = append(entries, e)
		}
	}
	if err := w.Secure(ctx, entries, true); err != nil {
		return fmt.Errorf("make sure that what is overwritten can be brought back: %w", err)
	}
	return nil
}
