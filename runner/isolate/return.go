package isolate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/runner/survey"
)

// ChangedError lists files of the workspace that somebody has changed since a work tree was
// made: they have neither their content from then nor that of the result.
type ChangedError struct{ Paths []string }

func (e *ChangedError) Error() string {
	return text.Enumerate(e.Paths) + " changed in the workspace since the work tree was made"
}

// Unwrap makes it a *workspace.ChangedError.
func (e *ChangedError) Unwrap() error { return &workspace.ChangedError{Path: e.Paths[0]} }

// KeepReplaced makes objects of the files that a result will replace or delete, so that TakeBack
// can put them back. before is the result of Tree.Before. It returns the paths of files that
// look sensitive, of which Runner keeps no copy.
func KeepReplaced(ctx context.Context, w *workspace.Workspace, before []state.Artifact) (leftOut []string, err error) {
	changes := changesOf(w, nil, before)
	for i := range changes { // all of them are still to be done
		changes[i].To = changes[i].From
	}
	changed, err := changedSince(ctx, w, changes)
	if err != nil || len(changed) > 0 {
		return nil, changedOr(err, changed)
	}
	if len(changes) == 0 {
		return nil, nil
	}
	paths := make([]string, len(changes))
	for i, c := range changes {
		paths[i] = c.Path
	}
	kept, leftOut, err := w.Keep(ctx, paths)
	if err != nil {
		return nil, err
	}
	for i, e := range kept {
		if !isEntry(e, changes[i].From) {
			changed = append(changed, e.Path)
		}
	}
	return leftOut, changedOr(nil, changed)
}

// Return puts artifacts into the workspace, and removes those that the attempt deleted. before
// is the result of Tree.Before. Return can be repeated after an interruption. Its bytes come
// from objects, so the work tree is not needed any more. After an error, some of the artifacts
// may be in the workspace; TakeBack undoes that.
//
// The id names temporary files, as in workspace.RestoreOptions.
func Return(ctx context.Context, w *workspace.Workspace, id string, artifacts, before []state.Artifact) error {
	changes := changesOf(w, artifacts, before)
	changed, err := changedSince(ctx, w, changes)
	if err = changedOr(err, changed); err != nil {
		return err
	}
	if _, err := w.Restore(ctx, changes, workspace.RestoreOptions{ID: id}); err != nil {
		return fmt.Errorf("put the artifacts into the workspace: %w", err)
	}
	return nil
}

// TakeBack puts the files back that an unfinished Return with the same id has replaced: those
// that are as in the result become as they were before it. All others were changed by somebody
// else since, and stay. It removes the temporary files of Return, and can be repeated. It returns
// the files that it could not put back.
func TakeBack(ctx context.Context, w *workspace.Workspace, id string, artifacts, before []state.Artifact) ([]workspace.Missing, error) {
	options := workspace.RestoreOptions{ID: id, Force: true}
	var back []workspace.Change
	var unread []workspace.Missing
	for _, c := range changesOf(w, artifacts, before) {
		options.Earlier = append(options.Earlier, c.Path)
		if c.From == c.To { // the attempt left it alone
			continue
		}
		now, err := w.Describe(ctx, c.Path)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case err == nil && isEntry(now, c.To), tree.IsAbsent(err) && c.To == nil:
			back = append(back, workspace.Change{Path: c.Path, From: c.To, To: c.From})
		case err != nil && !tree.IsAbsent(err):
			unread = append(unread, workspace.Missing{Path: c.Path, Reason: err.Error()})
		}
	}
	done, err := w.Restore(ctx, back, options)
	if err != nil {
		return nil, fmt.Errorf("take back what is in the workspace of a result: %w", err)
	}
	return append(unread, done.Skipped...), nil
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
		return strings.Compare(a.Path, b.Path)
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

// changedOr returns a *ChangedError for changed files, or else err.
func changedOr(err error, changed []string) error {
	switch {
	case err != nil:
		return fmt.Errorf("look at the workspace: %w", err)
	case len(changed) > 0:
		return &ChangedError{Paths: changed}
	}
	return nil
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
