package rollback

import (
	"context"
	"fmt"
	"path"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
)

// changesTo returns the changes that turn the files found into the target files, which are
// those of the state to. now is the present state of the session.
//
// Some files do not change because no checkpoint holds their present or their earlier
// bytes: sensitive files that either listing leaves out, even if git tracks them in the
// other one, files that kept changing, and files that could not be captured. Files in a
// state directory do not change either. A file that the target lacks is deleted only if
// the target's capture would have included it.
func changesTo(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now, to *state.State, found, target *workspace.Listing) ([]workspace.Change, error) {
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
	// A file in the place of one of the target's directories is no deletion in this
	// sense: it must make way.
	deletes := func(c workspace.Change) bool { return c.To == nil && !above[c.Path] }
	if !slices.ContainsFunc(changes, deletes) {
		return changes, nil
	}
	inScope, err := scopeOf(ctx, s, w, to, found, target)
	if err != nil {
		return nil, err
	}
	own, err := filesBeforeImport(s, w, now, to)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(changes, func(c workspace.Change) bool {
		return deletes(c) && (!inScope(*c.From) || own(*c.From))
	}), nil
}

// scopeOf returns a function that reports whether the capture of a state would have
// included an entry of the present files.
func scopeOf(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, to *state.State, found, target *workspace.Listing) (func(workspace.Entry) bool, error) {
	all := func(workspace.Entry) bool { return true }
	inGit := to.Capture != nil && to.Capture.Commit != ""
	if to.Capture == nil || inGit == (w.Git() != nil) && covers(target.Patterns, found.Patterns) {
		return all, nil
	}
	if inGit && w.Repository() == nil { // without a repository, git can't say which files it would have listed
		return all, nil
	}
	in, err := w.InScope(ctx, target.Patterns, inGit)
	if err != nil {
		return nil, fmt.Errorf("look for what the checkpoint would have captured: %w", err)
	}
	return in, nil
}

// covers reports whether patterns contains every pattern in some.
func covers(patterns, some []string) bool {
	return !slices.ContainsFunc(some, func(pattern string) bool { return !slices.Contains(patterns, pattern) })
}

// filesBeforeImport returns a function that reports whether a file belonged to the
// workspace before the session was imported into it. It reports true only if the state
// to go back to is older than the import: that state was captured in another workspace,
// so that the absence of a file from it means nothing.
func filesBeforeImport(s *checkpoint.Store, w *workspace.Workspace, now, to *state.State) (func(workspace.Entry) bool, error) {
	o, err := s.Layout().ReadOrigin(now)
	if err != nil || o == nil || to.Capture == nil || to.Capture.Seq > o.Seq {
		return func(workspace.Entry) bool { return false }, err
	}
	if !o.Looked || !o.Git && w.Git() != nil { // the files before the import are not known, so any may have been there
		return func(workspace.Entry) bool { return true }, nil
	}
	own := make(map[string]bool, len(o.Own))
	for _, path := range o.Own {
		own[string(path)] = true
	}
	return func(e workspace.Entry) bool { return own[e.Path] }, nil
}

// listPresent lists the files in the workspace that the rollback may overwrite or
// delete, because they must be in the checkpoint that undoes it. It sets r.patterns to
// the patterns that list them. It lists by the present patterns and by those of the
// target. It adds the target's files that are out of scope now, for example because git
// ignores them by now. If the target was captured with git and captures no longer use
// git, it adds the files that git shows.
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
