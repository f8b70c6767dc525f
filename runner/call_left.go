package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/runner/plan"
	"prdrunner/runner/survey"
)

// A called pipeline that begins anew leaves the session of an earlier call, and makes its files
// again. A person may have edited them since. The run that people build keeps such edits in a
// checkpoint before anything starts, if that is decided, because only its checkpoints can be
// rolled back to. The called pipeline refuses to overwrite an edit that is not kept.

// refuseLeftEdits returns an error if this run is a called pipeline that begins anew and would
// overwrite edited artifacts of the session that it leaves.
func (l *loop) refuseLeftEdits(ctx context.Context) error {
	left := l.session.State()
	if l.opts.Caller == nil || !l.opts.Fresh || left == nil {
		return nil
	}
	p, err := expandAll(l.pipeline, left)
	if err != nil {
		return fmt.Errorf("find out what the last call has made: %w", err)
	}
	surveyor := l.opts.surveyor(l.files)
	surveyor.SetPipeline(p)
	edits, err := surveyor.Edited(ctx, left)
	if err != nil {
		return fmt.Errorf("compare what the last call has made with the files: %w", err)
	}
	if len(edits) == 0 {
		return nil // most calls end here, without reading what may be thousands of workstreams
	}
	root, err := l.opts.Store.Load(l.opts.Caller.Root)
	if err != nil {
		return fmt.Errorf("read the session of %s: %w", l.opts.Caller.Root, err)
	}
	if root.State == nil || !continuesAfter(root, left.UpdatedAt) {
		return nil
	}
	if l.opts.OnConflict == plan.ConflictRestore || rolledBackSince(root.State, left.UpdatedAt) {
		edits = l.notKept(ctx, root.State, edits)
	}
	if len(edits) > 0 {
		return &ConflictError{Conflicts: edits, Rerun: true}
	}
	return nil
}

// continuesAfter reports whether the present run of a session continues work that ended at a time.
// It does not if the session began without an earlier one and after that time, or if the run did
// the work itself. The run is as old as the lock of its owner: RunningAt moves when other commands
// record events.
func continuesAfter(root *checkpoint.Snapshot, at time.Time) bool {
	began := root.State.RunningAt
	if began != nil && root.Owner != nil {
		began = &root.Owner.Since
	}
	if began != nil && !at.Before(*began) {
		return false
	}
	return root.State.BeganFrom != nil || !at.Before(root.State.CreatedAt)
}

// rolledBackSince reports whether a rollback has taken back state and files after at. The files
// that it has put back are no edits, and checkpoints hold them.
func rolledBackSince(st *state.State, at time.Time) bool {
	return slices.ContainsFunc(st.Rollbacks, func(r state.RollbackRecord) bool {
		return r.Scope == state.RollbackAll && r.Error == "" && r.At.After(at)
	})
}

// notKept returns the edits that no checkpoint of a session holds. A checkpoint whose files can't
// be read holds none.
func (l *loop) notKept(ctx context.Context, st *state.State, edits []plan.Conflict) []plan.Conflict {
	looked := map[string]bool{}
	for _, ref := range slices.Backward(st.Checkpoints) {
		if ref.Capture == nil || looked[ref.Capture.Listing] || len(edits) == 0 {
			continue
		}
		looked[ref.Capture.Listing] = true
		listing, err := l.files.Load(ctx, ref.Capture.Listing)
		if err != nil {
			continue
		}
		edits = slices.DeleteFunc(edits, func(c plan.Conflict) bool {
			return slices.ContainsFunc(listing.Entries, func(e workspace.Entry) bool { return e.Path == string(c.Path) && e.Digest == c.Found })
		})
	}
	return edits
}

// calledEdits returns the paths of files that called pipelines have made, that were edited since,
// and that they may overwrite in this run. A file may also be returned if another workstream
// has changed it.
func (ow *overwriting) calledEdits(planned *plan.Plan) ([]string, error) {
	l := ow.loop
	if l.opts.OnConflict != plan.ConflictRestore || l.opts.Caller != nil {
		return nil, nil
	}
	calls := map[string]bool{}
	for _, phase := range planned.Phases {
		for _, s := range phase.Steps {
			ws := l.pipeline.Workstream(s.Name)
			if s.Kind == plan.WorkstreamStep && ws != nil && ws.CallLevels > 0 && s.Decision != plan.Reuse && s.Decision != plan.Skipped {
				calls[CalledID(l.pipeline.ID, ws)] = true
			}
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	prds, err := l.opts.Store.Reader().PRDs()
	if err != nil {
		return nil, fmt.Errorf("list the sessions of called pipelines: %w", err)
	}
	var edits []string
	for _, prd := range prds {
		if isBelow(prd, calls) {
			paths, err := editedSince(l.ctx, l.opts.Store, l.files, prd)
			if err != nil {
				return nil, err
			}
			edits = append(edits, paths...)
		}
	}
	slices.Sort(edits)
	return slices.Compact(edits), nil
}

// isBelow reports whether a session is that of one of the calls, or of a call within one.
func isBelow(prd string, calls map[string]bool) bool {
	for !calls[prd] {
		i := strings.LastIndexByte(prd, '.')
		if i < 0 {
			return false
		}
		prd = prd[:i]
	}
	return true
}

// editedSince returns the artifacts of the session of a called pipeline whose content is none that
// it or its callers have recorded. A session that can't be read is reported when the pipeline is
// called.
func editedSince(ctx context.Context, store *checkpoint.Store, files *workspace.Workspace, prd string) (edits []string, err error) {
	snap, err := store.Load(prd)
	if err != nil || snap.State == nil {
		return nil, nil //nolint:nilerr // documented above
	}
	byCallers := sync.OnceValue(func() map[string][]string { return madeByCallers(store, snap.State.Caller) })
	made := map[string][]string{}
	for w := range snap.State.Records() {
		for _, a := range w.Artifacts {
			made[string(a.Path)] = append(made[string(a.Path)], a.Digest)
		}
	}
	for path, digests := range made {
		now, err := survey.Describe(ctx, files, path)
		switch {
		case tree.IsAbsent(err), errors.Is(err, workspace.ErrNotRegular):
		case err != nil:
			return nil, fmt.Errorf("look at %s, which %s has made: %w", path, prd, err)
		case !slices.Contains(digests, now.Digest) && !slices.Contains(byCallers()[path], now.Digest):
			edits = append(edits, path)
		}
	}
	return edits, nil
}
