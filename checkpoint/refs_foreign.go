package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"prdrunner/checkpoint/workspace"
)

// ForeignRefs are the references in git of one state directory that is not this
// one: another one of the same repository, or one that is gone, as the one that
// was there before a copy took its place. No state directory knows which.
type ForeignRefs struct {
	ID   string   // of the state directory, as it stands in their names
	Refs []string // sorted
	Kept []string // of these, the ones that a session here needs, and has no reference of its own for yet
}

// ForeignRefs returns the references of other state directories, by their ids.
// It takes no lock.
func (s *Store) ForeignRefs(ctx context.Context, w *workspace.Workspace) ([]ForeignRefs, error) {
	if w == nil || w.Repository() == nil {
		return nil, nil
	}
	all, err := w.Repository().Refs(ctx, strings.TrimSuffix(captureRefsRoot, "/"))
	if err != nil {
		return nil, fmt.Errorf("look for captures in git: %w", err)
	}
	inv, err := s.references(ctx, gone{})
	if err != nil {
		return nil, &NotCollectedError{err}
	}
	byID, own := map[string]*ForeignRefs{}, map[string]bool{}
	for ref := range all {
		mine, id, err := s.madeRef(ref)
		switch {
		case err != nil:
			return nil, err
		case mine:
			own[refKey(ref)] = true
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
			if key := refKey(ref); inv.refs[key] && !own[key] {
				of.Kept = append(of.Kept, ref)
			}
		}
		foreign = append(foreign, *of)
	}
	slices.SortFunc(foreign, func(a, b ForeignRefs) int { return strings.Compare(a.ID, b.ID) })
	return foreign, nil
}

// RemoveForeignRefs removes the references of a state directory that is gone,
// but for those that a session here needs. That it is gone is for the caller to
// know: if it is not, its captures can't be gone back to any more. It returns what
// there was. Nobody else may work in this one meanwhile: *LockedError.
func (s *Store) RemoveForeignRefs(ctx context.Context, w *workspace.Workspace, id string) (done ForeignRefs, err error) {
	if err := s.layout.MakeRoot(); err != nil {
		return done, err
	}
	only, err := s.fs.TryLock(s.layout.StoreLockPath(), false)
	if err != nil {
		return done, s.lockedBy(err)
	}
	defer func() { err = errors.Join(err, only.Unlock()) }()
	if err := s.layout.CheckLayout(""); err != nil {
		return done, err
	}
	foreign, err := s.ForeignRefs(ctx, w)
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

// madeRef returns the id of the state directory that made a reference, "" where
// its name has none, and reports whether that is this one.
func (s *Store) madeRef(ref string) (mine bool, id string, err error) {
	_, id, ok := cutRefsID(path.Dir(ref))
	if !ok {
		return false, "", nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(ref, captureRefsRoot), "/")
	own, err := s.refsID(name)
	return own == id, id, err
}
