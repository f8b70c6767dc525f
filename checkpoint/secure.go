package checkpoint

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// KeepOverwritten makes a checkpoint of files that are about to be overwritten
// although somebody worked on them, or may have, while nothing runs. It captures
// them with what the patterns name, and says of each which bytes it holds now, by
// path. Where one is not among them, as a file that looks sensitive, no checkpoint is made.
// Where those of conflicts are switched off it is one that always is made. It is
// durable with the next commit, which must come before anything is overwritten.
func (x *Session) KeepOverwritten(ctx context.Context, w *workspace.Workspace, patterns, paths []string) (id string, kept map[string]string, err error) {
	named := make([]string, len(paths))
	for i, path := range paths {
		named[i] = escapeGlob(path)
	}
	w.Distrust(paths)
	captured, err := x.CaptureFor(ctx, w, union(patterns, named), state.TriggerConflictStart)
	if err == nil {
		err = x.secure(ctx, w, captured.Listing, paths)
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
	id, made := x.Checkpoint(state.TriggerConflictStart, reason, gitOf(ctx, w))
	if !made {
		id, made = x.Checkpoint(state.TriggerPreRollback, reason, gitOf(ctx, w))
	}
	if !made {
		return "", nil, fmt.Errorf("overwrite files: %w, so that it could not be undone", ErrSwitchedOff)
	}
	return id, kept, nil
}

// secure makes sure that the bytes of some paths of a capture can be had, before
// they are overwritten or removed: that they were kept once does not mean that
// they can still be read. What is lost is kept again from the workspace.
func (x *Session) secure(ctx context.Context, w *workspace.Workspace, listing string, paths []string) error {
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

// secureFor secures what of a capture is overwritten or removed where the files
// of a state are restored.
func (x *Session) secureFor(ctx context.Context, w *workspace.Workspace, listing string, to *state.State) error {
	found, err := w.Load(ctx, listing)
	if err != nil {
		return fmt.Errorf("load the files as they were recorded: %w", err)
	}
	target, known, err := FilesOf(ctx, w, to)
	if err != nil {
		return err
	}
	if !known {
		target = found.With(target.Entries)
	}
	changes, err := x.store.changesTo(ctx, w, x.State(), to, found, target)
	if err != nil {
		return err
	}
	return x.secure(ctx, w, listing, replaced(changes))
}

// replaced are the paths at which changes leave nothing as it is.
func replaced(changes []workspace.Change) []string {
	var paths []string
	for _, c := range changes {
		if c.From != nil {
			paths = append(paths, c.Path)
		}
	}
	return paths
}
