package protect

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
)

// WorkTree is the files of a workspace before an attempt.
type WorkTree struct {
	files    *workspace.Workspace
	patterns []string
	before   *workspace.Listing
}

// LookAround lists the files of the workspace: in a git work tree those that git does not
// ignore, and everywhere those that match the patterns.
func (k *Keeper) LookAround(ctx context.Context, patterns []string) (*WorkTree, error) {
	t := &WorkTree{files: k.files, patterns: patterns}
	if k.files.Git() == nil {
		t.patterns = []string{"**"}
	}
	var err error
	if t.before, err = t.files.Now(ctx, t.patterns); err != nil {
		return nil, fmt.Errorf("list the files of the work tree: %w", err)
	}
	return t, nil
}

// Changed returns the files that changed since, except for those that match the patterns
// of what was allowed to change, sorted.
func (t *WorkTree) Changed(ctx context.Context, allowed []string) ([]string, error) {
	now, err := t.files.Now(ctx, t.patterns)
	if err != nil {
		return nil, fmt.Errorf("list the files of the work tree: %w", err)
	}
	var paths []string
	for _, c := range t.files.OutsideState(workspace.Diff(t.before, now)) {
		if !tree.MatchesAny(allowed, c.Path) {
			paths = append(paths, c.Path)
		}
	}
	return paths, nil
}
