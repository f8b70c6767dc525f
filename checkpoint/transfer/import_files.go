package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
)

// ImportFiles compares the files of an imported session with those of a workspace.
type ImportFiles struct {
	Known   bool               // false: there is no list of captured files, only the artifacts on record are known
	Absent  []workspace.Change // files that the workspace lacks
	Differ  []workspace.Change // files that the workspace has with other content or another mode
	Blocked []Blocked          // files whose path is obstructed
	Same    int
	LeftOut []string // sensitive files, which were not captured where the session was exported

	patterns []string
	same     map[string]bool // paths of files that are the same
	own      disk.OwnFiles
}

// Blocked is a file that can't be written because another path is in the way.
type Blocked struct {
	Path string
	By   string // the path in the way, perhaps the same path
}

// PlanFiles compares the workspace with the files of the archive's session. It changes
// nothing. Files that only the workspace has are not part of the comparison.
func (i *Import) PlanFiles(ctx context.Context, w *workspace.Workspace) (*ImportFiles, error) {
	f, err := planImported(ctx, w, i.State, i.LostObjects, i.object)
	if err == nil {
		f.own, err = lookForOwn(ctx, w, f.patterns, f.same)
	}
	return f, err
}

// planImported compares the workspace with the files of a state. lost lists the objects
// that are not available.
func planImported(ctx context.Context, w *workspace.Workspace, state *state.State, lost []string, from workspace.ObjectSource) (*ImportFiles, error) {
	f := &ImportFiles{same: map[string]bool{}}
	l := &workspace.Listing{}
	if c := state.Capture; c != nil && !slices.Contains(lost, c.Listing) {
		var err error
		if l, err = workspace.ReadListing(ctx, from, c.Listing); err != nil {
			return nil, fmt.Errorf("read the files of the imported session: %w", err)
		}
		f.Known = true
	}
	f.patterns, f.LeftOut = l.Patterns, checkpoint.LeftOut(l, state)
	entries := checkpoint.FilesSince(l, state).Entries
	found, err := w.Compare(ctx, entries)
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	for n := range entries {
		f.addCompared(&entries[n], found[n])
	}
	return f, nil
}

// addCompared records the result of comparing an entry with the workspace.
func (f *ImportFiles) addCompared(e *workspace.Entry, found workspace.Compared) {
	switch {
	case found.Obstacle != "":
		f.Blocked = append(f.Blocked, Blocked{Path: e.Path, By: found.Obstacle})
	case found.Same(*e):
		f.Same++
		f.same[e.Path] = true
	case found.Now == nil:
		f.Absent = append(f.Absent, workspace.Change{Path: e.Path, Kind: workspace.Added, To: e})
	default:
		f.Differ = append(f.Differ, workspace.Change{Path: e.Path, Kind: workspace.Modified, From: found.Now, To: e})
	}
}

// RestoredFiles is the result of restoring the files of an imported session.
type RestoredFiles struct {
	Written int
	Skipped []workspace.Missing // files whose bytes the archive lacks
	Kept    []string            // files that differ and were not overwritten
	Safety  string              // the checkpoint of the files that were overwritten; "" if none were
	GivenUp bool                // the journal no longer has the commit that lists the files
}

// RestoreImported writes the files that the workspace lacks, after the session was placed,
// and then removes the note of the pending import. Files that differ are left unchanged
// unless overwrite is set; in that case Runner first makes a checkpoint of the files that
// it overwrites. Files that look sensitive are never overwritten, since no checkpoint
// holds them.
func RestoreImported(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, prd string, f *ImportFiles, by state.Actor, overwrite bool) (*RestoredFiles, error) {
	done := &RestoredFiles{}
	if len(f.changes(overwrite)) == 0 {
		done.addKept(f, overwrite)
		return done, nil
	}
	x, err := s.Lock(ctx, prd, by)
	if err != nil {
		return done, err
	}
	err = restoreImported(ctx, x, w, f, overwrite, done)
	if err == nil {
		err = s.Layout().WritePending(s.Layout().PRDDir(prd), nil)
	}
	return done, errors.Join(err, x.Close())
}

func restoreImported(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, f *ImportFiles, overwrite bool, done *RestoredFiles) error {
	done.addKept(f, overwrite)
	changes := f.changes(overwrite)
	switch len(changes) {
	case 0:
		return nil
	case len(f.Absent):
		return done.restore(ctx, w, changes)
	}
	return overwriteFiles(ctx, x, w, f, changes, done)
}

// addKept records the files that differ and are not overwritten.
func (d *RestoredFiles) addKept(f *ImportFiles, overwrite bool) {
	for _, c := range f.Differ {
		if !overwrite || workspace.Sensitive(c.Path) {
			d.Kept = append(d.Kept, c.Path)
		}
	}
}

func (d *RestoredFiles) restore(ctx context.Context, w *workspace.Workspace, changes []workspace.Change) error {
	restored, err := w.Restore(ctx, changes, workspace.RestoreOptions{ID: "import", Force: true})
	d.Written, d.Skipped = restored.Written, restored.Skipped
	return err
}

// overwriteFiles makes a checkpoint of the current files, restores the imported files, and
// captures the result.
func overwriteFiles(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, f *ImportFiles, changes []workspace.Change, done *RestoredFiles) error {
	scope := x.Store().Including(f.patterns)
	patterns := slices.Clone(scope)
	for _, c := range f.Differ {
		patterns = append(patterns, tree.EscapeGlob(c.Path))
	}
	w.Invalidate(workspace.Replaced(changes))
	captured, err := x.CaptureFor(ctx, w, patterns, state.TriggerPreRollback)
	if err == nil {
		err = checkpoint.SecurePaths(ctx, w, captured.Listing, workspace.Replaced(changes))
	}
	if err == nil {
		err = fromCapture(ctx, w, captured.Listing, changes)
	}
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(c workspace.Change) bool {
		lost := c.From != nil && slices.Contains(slices.Concat(captured.LeftOut, captured.Unstable, captured.Special), c.Path)
		if lost { // no checkpoint could restore its current content
			done.Kept = append(done.Kept, c.Path)
		}
		return lost
	})
	safety, made := x.Checkpoint(state.TriggerPreRollback, "the files that an import overwrote", checkpoint.GitOf(ctx, w))
	if !made {
		return fmt.Errorf("overwrite files: %w, so that it could not be undone", checkpoint.ErrSwitchedOff)
	}
	if err := x.Commit(ctx); err != nil {
		return err
	}
	done.Safety = safety
	if err := done.restore(ctx, w, changes); err != nil {
		return err
	}
	if _, err := x.Capture(ctx, w, scope); err != nil {
		return err
	}
	return x.Commit(ctx)
}

// fromCapture sets the old entry of each change to the one that a capture recorded.
func fromCapture(ctx context.Context, w *workspace.Workspace, listing string, changes []workspace.Change) error {
	l, err := w.Load(ctx, listing)
	if err != nil {
		return fmt.Errorf("load the files as they were recorded: %w", err)
	}
	for i := range changes {
		n, captured := slices.BinarySearchFunc(l.Entries, changes[i].Path, func(e workspace.Entry, path string) int {
			return strings.Compare(e.Path, path)
		})
		if changes[i].From != nil && captured {
			changes[i].From = &l.Entries[n]
		}
	}
	return nil
}
