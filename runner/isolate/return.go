package isolate

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/runner/survey"
)

// ChangedError lists files of the workspace that are neither as they were when a work tree was
// made nor as they are to become. Nothing was changed.
type ChangedError struct{ Paths []string }

func (e *ChangedError) Error() string {
	return text.Enumerate(e.Paths) + " changed in the workspace since the work tree was made"
}

// Return puts artifacts into the workspace, and removes those that the attempt deleted. before
// is the result of Tree.Before. Return can be repeated after an interruption. Its bytes come
// from objects, so the work tree is not needed any more.
//
// The id names temporary files, as in workspace.RestoreOptions.
func Return(ctx context.Context, w *workspace.Workspace, id string, artifacts, before []state.Artifact) error {
	changes := changesOf(w, artifacts, before)
	changed, err := changedSince(ctx, w, changes)
	if err != nil {
		return fmt.Errorf("look at the workspace: %w", err)
	}
	if len(changed) > 0 {
		return &ChangedError{Paths: changed}
	}
	if _, err := w.Restore(ctx, changes, workspace.RestoreOptions{ID: id}); err != nil {
		return fmt.Errorf("put the artifacts into the workspace: %w", err)
	}
	return nil
}

// changesOf returns the changes to the workspace. An artifact that the attempt left alone is
// among them, from and to the same content: it must not have changed either.
func changesOf(w *workspace.Workspace, artifacts, before []state.Artifact) []workspace.Change {
	real := func(a state.Artifact) *workspace.Entry {
		e := survey.EntryOf(a)
		e.Path = w.Tree().RealPath(e.Path) // files are not restored through links
		return &e
	}
	was := make(map[string]*workspace.Entry, len(before))
	for _, a := range before {
		e := real(a)
		was[e.Path] = e
	}
	var changes []workspace.Change
	for _, a := range artifacts {
		to := real(a)
		change := workspace.Change{Path: to.Path, From: to, To: to}
		if from := was[to.Path]; from != nil {
			change.From = orAbsent(from)
		}
		delete(was, to.Path)
		changes = append(changes, change)
	}
	for path, from := range was {
		if from = orAbsent(from); from != nil {
			changes = append(changes, workspace.Change{Path: path, From: from})
		}
	}
	slices.SortFunc(changes, func(a, b workspace.Change) int {
		switch {
		case a.Path < b.Path:
			return -1
		case a.Path > b.Path:
			return 1
		}
		return 0
	})
	return changes
}

// orAbsent returns nil for the entry of a file that did not exist.
func orAbsent(e *workspace.Entry) *workspace.Entry {
	if e.Digest == "" {
		return nil
	}
	return e
}

// changedSince returns the paths at which there is neither the file to be replaced nor the one
// to replace it with.
func changedSince(ctx context.Context, w *workspace.Workspace, changes []workspace.Change) ([]string, error) {
	var changed []string
	for _, c := range changes {
		now, err := w.Describe(ctx, c.Path)
		switch {
		case tree.IsAbsent(err):
			if c.From != nil && c.To != nil {
				changed = append(changed, c.Path)
			}
		case err != nil: // Restore says what is in the way
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		case !isEntry(now, c.From) && !isEntry(now, c.To):
			changed = append(changed, c.Path)
		}
	}
	return changed, nil
}

func isEntry(now workspace.Entry, e *workspace.Entry) bool {
	return e != nil && e.Digest == now.Digest && e.Mode == now.Mode
}
