package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// pending returns the note about the files to restore, nil if there are none.
func (i *Import) pending(by state.Actor, o PlaceOptions) *disk.PendingImport {
	if o.Files == nil || len(o.Files.changes(o.Overwrite)) == 0 {
		return nil
	}
	return &disk.PendingImport{
		FormatVersion: state.FormatVersion, Session: i.Session, Seq: i.Seq, Archive: state.Text(i.path), Overwrite: o.Overwrite, By: by, Time: i.store.Now(),
	}
}

// FinishImport restores the remaining files of an interrupted import. If there is no such
// import it does nothing and returns nil. It leaves files that only the workspace has, and
// files that differ unless the import was to overwrite them. It gives up an import whose
// commit is no longer in the journal because the journal was started over.
func FinishImport(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace) (*RestoredFiles, error) {
	p, err := x.Store().Layout().InterruptedImport(x.PRD())
	if err != nil || p == nil {
		return nil, err
	}
	done := &RestoredFiles{}
	if x.State() != nil && (p.Damage != nil || x.State().Session == p.Session) {
		if err := finishPending(ctx, x, w, p, done); err != nil {
			return done, fmt.Errorf("finish the import of %s: %w", x.PRD(), err)
		}
	}
	return done, x.Store().Layout().WritePending(x.Store().Layout().PRDDir(x.PRD()), nil)
}

func finishPending(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, p *disk.PendingImport, done *RestoredFiles) error {
	if p.Damage != nil {
		return p.Damage
	}
	files, err := importedFiles(ctx, x, w, p.Seq)
	if errors.Is(err, reader.ErrCommitGone) {
		done.GivenUp = true
		return nil
	}
	if err != nil {
		return err
	}
	return restoreImported(ctx, x, w, files, p.Overwrite, done)
}

// importedFiles compares the workspace with the files at the commit at which the session
// was imported. It does not use the current state, since an interrupted overwrite may have
// captured files after that commit.
func importedFiles(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, seq uint64) (*ImportFiles, error) {
	state := x.State()
	var err error
	if state.Seq != seq {
		state, err = x.Store().Reader().CurrentSession(x.PRD()).StateAfter(seq)
	}
	if err != nil {
		return nil, err
	}
	var lost []string
	if c := state.Capture; c != nil {
		there, err := x.Store().Objects().Has(c.Listing)
		if err != nil {
			return nil, err
		}
		if !there {
			lost = append(lost, c.Listing)
		}
	}
	return planImported(ctx, w, state, lost, objectSource(x.Store()))
}

// changes returns the changes that restoring makes, sorted by path. Files that look
// sensitive are never overwritten, since no checkpoint holds them.
func (f *ImportFiles) changes(overwrite bool) []workspace.Change {
	changes := slices.Clone(f.Absent)
	for _, c := range f.Differ {
		if overwrite && !workspace.Sensitive(c.Path) {
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b workspace.Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}
