package validate

import (
	"context"
	"iter"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// FirstWhole returns the first checkpoint in refs that has no problems, nil if there is
// none. It does not read the bytes of objects.
func FirstWhole(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, of reader.StoredSession, refs iter.Seq[*state.CheckpointRef]) (*state.CheckpointRef, error) {
	checker := newChecker(s, w, false)
	for ref := range refs {
		found, err := checker.checkCheckpoint(ctx, of, ref)
		if err != nil {
			return nil, err
		}
		if found.Whole() {
			return ref, nil
		}
	}
	return nil, nil
}
