package checkpoint

import (
	"context"
	"fmt"
	"path"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// changesTo are what leads from the files there are to those of a state. now is
// where the session stands.
//
// Sensitive files that either side leaves out stay as they are, also those that
// git tracks on the other side, and so does what kept changing or could not be
// taken in: no checkpoint holds what it is now, or what it was then. What lies in a
// state directory stays, too. Of what the target lacks only that is deleted which its capture would have had.
func (s *Store) changesTo(ctx context.Context, w *workspace.Workspace, now, to *state.State, found, target *workspace.Listing) ([]workspace.Change, error) {
	changes, err := w.Changes(ctx, found, target)
	if err != nil {
		return nil, fmt.Errorf("look at what was not checked out: %w", err)
	}
	changes = slices.DeleteFunc(w.OutsideState(changes), func(c workspace.Change) bool {
		return found.Lacks(c.Path) || target.Lacks(c.Path)
	})
	above := map[string]bool{}
	for _, c := range changes {
		for dir := path.Dir(c.Path); c.To != nil && dir != "." && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	// What is where the target has a directory with files makes room for it.
	deletes := func(c workspace.Change) bool { return c.To == nil && !above[c.Path] }
	if !slices.ContainsFunc(changes, deletes) {
		return changes, nil
	}
	inScope, err := s.scopeOf(ctx, w, to, found, target)
	if err != nil {
		return nil, err
	}
	own, err := s.ownFiles(w, now, to)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(changes, func(c workspace.Change) bool {
		return deletes(c) && (!inScope(*c.From) || own(*c.From))
	}), nil
}

// scopeOf tells what the capture of a state would take in of what there is now.
func (s *Store) scopeOf(ctx context.Context, w *workspace.Workspace, to *state.State, found, target *workspace.Listing) (func(workspace.Entry) bool, error) {
	all := func(workspace.Entry) bool { return true }
	inGit := to.Capture != nil && to.Capture.Commit != ""
	if to.Capture == nil || inGit == (w.Git() != nil) && covers(target.Patterns, found.Patterns) {
		return all, nil
	}
	if inGit && w.Repository() == nil { // which of these git would have shown cannot be known
		return all, nil
	}
	in, err := w.InScope(ctx, target.Patterns, inGit)
	if err != nil {
		return nil, fmt.Errorf("look for what the checkpoint would have captured: %w", err)
	}
	return in, nil
}

// covers reports whether all of some patterns are among others.
func covers(patterns, some []string) bool {
	return !slices.ContainsFunc(some, func(pattern string) bool { return !slices.Contains(patterns, pattern) })
}

// ownFiles tells which files the workspace had on its own, where a session was
// imported into it after the state to go back to. That this one lacks them says
// nothing, since it is of another workspace.
func (s *Store) ownFiles(w *workspace.Workspace, now, to *state.State) (func(workspace.Entry) bool, error) {
	o, err := s.readOrigin(now)
	if err != nil || o == nil || to.Capture == nil || to.Capture.Seq > o.Seq {
		return func(workspace.Entry) bool { return false }, err
	}
	if !o.Looked || !o.Git && w.Git() != nil { // what there was then is not known
		return func(workspace.Entry) bool { return true }, nil
	}
	own := make(map[string]bool, len(o.Own))
	for _, path := range o.Own {
		own[string(path)] = true
	}
	return func(e workspace.Entry) bool { return own[e.Path] }, nil
}
