package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/inventory"
	"prdrunner/checkpoint/workspace"
)

// ForeignRefs are the git references of another state directory. It may be one of the same
// repository, or one that no longer exists, for example because a copy replaced it. Runner
// cannot tell which.
type ForeignRefs struct {
	ID   string   // the ID of the state directory in the names of its references
	Refs []string // sorted
	Kept []string // the references in Refs that a session in this state directory needs, and has no own reference for yet
}

// FindForeignRefs returns the references of other state directories, sorted by ID. It
// takes no lock.
func FindForeignRefs(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace) ([]ForeignRefs, error) {
	if w == nil || w.Repository() == nil {
		return nil, nil
	}
	all, err := w.Repository().Refs(ctx, strings.TrimSuffix(disk.CaptureRefsRoot, "/"))
	if err != nil {
		return nil, fmt.Errorf("look for captures in git: %w", err)
	}
	inv, err := inventory.Read(ctx, s, inventory.Removed{})
	if err != nil {
		return nil, &NotCollectedError{err}
	}
	byID, own := map[string]*ForeignRefs{}, map[string]bool{}
	for ref := range all {
		mine, id, err := s.Layout().MadeRef(ref)
		switch {
		case err != nil:
			return nil, err
		case mine:
			own[disk.RefKey(ref)] = true
		case id != "":
			if byID[id] == nil {
				byID[id] = &ForeignRefs{ID: id}
			}
			byID[id].Refs = append(byID[id].Refs, ref)
		}
	}
	var foreign []ForeignRefs
	for _, of := range byID {
		slices.Sort(of.Refs)
		for _, ref := range of.Refs {
			if key := disk.RefKey(ref); inv.Refs[key] && !own[key] {
				of.Kept = append(of.Kept, ref)
			}
		}
		foreign = append(foreign, *of)
	}
	slices.SortFunc(foreign, func(a, b ForeignRefs) int { return strings.Compare(a.ID, b.ID) })
	return foreign, nil
}

// RemoveForeignRefs removes the references of a state directory that no longer exists,
// except those that a session in this one needs. The caller must know that the other
// directory is gone: if it exists, its captures can't be restored any more. It returns the
// references as they were before. If another process works in this state directory, it
// returns a *LockedError.
func RemoveForeignRefs(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, id string) (done ForeignRefs, err error) {
	only, err := s.LockExclusively()
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, only.Unlock()) }()
	foreign, err := FindForeignRefs(ctx, s, w)
	at := slices.IndexFunc(foreign, func(of ForeignRefs) bool { return of.ID == id })
	if err != nil || at < 0 {
		return done, err
	}
	done = foreign[at]
	unneeded := slices.DeleteFunc(slices.Clone(done.Refs), func(ref string) bool { return slices.Contains(done.Kept, ref) })
	if err := w.Repository().DeleteRefs(ctx, unneeded); err != nil {
		return done, fmt.Errorf("remove captures from git: %w", err)
	}
	return done, nil
}
