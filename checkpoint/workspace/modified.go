package workspace

import (
	"context"
	"strings"

	"prdrunner/checkpoint/workspace/git"
)

// Modified lists the files of git's work tree that differ from HEAD, as the Repository
// does, as far as a capture may name them: files in state directories and temporary files
// are not in the list, and neither are files whose names hold a sensitive value, or
// untracked files that look sensitive. excluded are the files that the last capture excluded. They are
// not in the list either, unless git tracks them. Without git, the list is empty.
func (w *Workspace) Modified(ctx context.Context, excluded []string) ([]git.Modified, error) {
	if w.Git() == nil {
		return nil, nil
	}
	all, err := w.Git().Modified(ctx, w.tree.Skipped())
	if err != nil {
		return nil, err
	}
	isExcluded := make(map[string]bool, len(excluded))
	for _, path := range excluded {
		isExcluded[path] = true
	}
	states := w.tree.StateDirs()
	shown := all[:0]
	for _, m := range all {
		path, isDir := strings.CutSuffix(m.Path, "/")
		if w.tree.Reserved(path) || states.Contain(path) {
			continue
		}
		hidden, err := w.files.refusal.detectIn(path)
		if err != nil {
			return nil, err
		}
		if hidden {
			continue
		}
		if m.Status == git.FileUntracked {
			if isExcluded[path] || w.sensitivity.matchesName(path) || isDir && w.sensitivity.matchesAnyElement(path) {
				continue
			}
		}
		shown = append(shown, m)
	}
	return shown, nil
}
