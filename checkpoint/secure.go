package checkpoint

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/workspace"
)

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
func (x *Session) secureFor(ctx context.Context, w *workspace.Workspace, listing string, to *State) error {
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
