package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/workspace"
)

// ImportFiles are the files that an imported session stands at, compared with
// those of a workspace.
type ImportFiles struct {
	Known   bool               // false: nothing was ever captured, only the artifacts on record are known
	Absent  []workspace.Change // that the workspace does not have
	Differ  []workspace.Change // that it has otherwise
	Blocked []Blocked          // that it has no room for
	Same    int
	LeftOut []string // sensitive ones, which were not captured where the session comes from

	patterns []string
}

// Blocked is a file that can't be put in its place.
type Blocked struct {
	Path string
	By   string // what is in the way: a path, perhaps the same one
}

// PlanFiles compares the workspace with the files that the archive brings. It
// changes nothing. What the workspace has besides is none of the archive's
// business.
func (i *Import) PlanFiles(ctx context.Context, w *workspace.Workspace) (*ImportFiles, error) {
	f := &ImportFiles{}
	l := &workspace.Listing{}
	if c := i.State.Capture; c != nil && !slices.Contains(i.LostObjects, c.Listing) {
		var err error
		if l, err = workspace.ReadListing(ctx, i.object, c.Listing); err != nil {
			return nil, fmt.Errorf("read the files of the archive: %w", err)
		}
		f.Known = true
	}
	f.patterns, f.LeftOut = l.Patterns, l.LeftOut
	entries := filesSince(l, i.State).Entries
	found, err := w.Compare(ctx, entries)
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	for n := range entries {
		f.add(&entries[n], found[n])
	}
	return f, nil
}

// add takes in what is at the path of an entry.
func (f *ImportFiles) add(e *workspace.Entry, found workspace.Compared) {
	switch {
	case found.Obstacle != "":
		f.Blocked = append(f.Blocked, Blocked{Path: e.Path, By: found.Obstacle})
	case found.Same(*e):
		f.Same++
	case found.Now == nil:
		f.Absent = append(f.Absent, workspace.Change{Path: e.Path, Kind: workspace.Added, To: e})
	default:
		f.Differ = append(f.Differ, workspace.Change{Path: e.Path, Kind: workspace.Modified, From: found.Now, To: e})
	}
}

// RestoredFiles is what came of restoring an archive's files.
type RestoredFiles struct {
	Written int
	Skipped []workspace.Missing // whose bytes the archive does not have
	Kept    []string            // that differ, and were left as they are
	Safety  string              // the checkpoint of those that were overwritten; "": none were
}

// RestoreImported writes the files that a workspace lacks, after the session
// was placed. Those that differ stay as they are, unless overwrite says
// otherwise: then a checkpoint of the files as they were is made first. A file
// that looks sensitive is never overwritten, since it is in no checkpoint.
func (s *Store) RestoreImported(ctx context.Context, w *workspace.Workspace, prd string, f *ImportFiles, by Actor, overwrite bool) (*RestoredFiles, error) {
	done := &RestoredFiles{}
	changes := slices.Clone(f.Absent)
	for _, c := range f.Differ {
		if !overwrite || workspace.Sensitive(c.Path) {
			done.Kept = append(done.Kept, c.Path)
			continue
		}
		changes = append(changes, c)
	}
	if len(changes) == 0 {
		return done, nil
	}
	slices.SortFunc(changes, func(a, b workspace.Change) int { return compareText(a.Path, b.Path) })
	if len(changes) == len(f.Absent) {
		return done, done.restore(ctx, w, changes)
	}
	x, err := s.Lock(ctx, prd, by)
	if err != nil {
		return done, err
	}
	err = x.overwrite(ctx, w, f, changes, done)
	return done, errors.Join(err, x.Close())
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (d *RestoredFiles) restore(ctx context.Context, w *workspace.Workspace, changes []workspace.Change) error {
	restored, err := w.Restore(ctx, changes, workspace.RestoreOptions{ID: "import", Force: true})
	d.Written, d.Skipped = restored.Written, restored.Skipped
	return err
}

// overwrite makes a checkpoint of the files, then restores, then records them
// as they are.
func (x *Session) overwrite(ctx context.Context, w *workspace.Workspace, f *ImportFiles, changes []workspace.Change, done *RestoredFiles) error {
	patterns := slices.Clone(f.patterns)
	for _, c := range f.Differ {
		patterns = append(patterns, escapeGlob(c.Path))
	}
	captured, err := x.Capture(ctx, w, patterns)
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(c workspace.Change) bool {
		lost := c.From != nil && (slices.Contains(captured.LeftOut, c.Path) || slices.Contains(captured.Unstable, c.Path))
		if lost { // nothing could bring back what it is now
			done.Kept = append(done.Kept, c.Path)
		}
		return lost
	})
	safety, made := x.Checkpoint(TriggerPreRollback, "the files that an import overwrote", gitOf(ctx, w))
	if !made {
		return fmt.Errorf("overwrite files: %w, so that it could not be undone", errSwitchedOff)
	}
	if err := x.commit(ctx); err != nil {
		return err
	}
	done.Safety = safety
	if err := done.restore(ctx, w, changes); err != nil {
		return err
	}
	if _, err := x.Capture(ctx, w, f.patterns); err != nil {
		return err
	}
	return x.commit(ctx)
}
