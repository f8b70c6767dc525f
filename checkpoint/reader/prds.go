package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// CheckID returns a *disk.IDError for a name that is not a PRD id.
func (r Reader) CheckID(prd string) error {
	if !state.MatchesWhole(r.IDPattern, prd) {
		return &disk.IDError{ID: prd, Why: "it must " + state.IDRule(r.IDPattern.String())}
	}
	return disk.CheckID(prd)
}

// IsDocument reports whether an entry of the state directory is the document of a PRD.
func (r Reader) IsDocument(e fs.DirEntry) bool {
	id, ok := strings.CutSuffix(e.Name(), ".json")
	return ok && e.Type().IsRegular() && r.IsID(id)
}

// IsID reports whether the whole of a name is a PRD id.
func (r Reader) IsID(name string) bool { return r.CheckID(name) == nil }

// PRDs returns the sorted IDs of the PRDs that have a journal or a document.
func (r Reader) PRDs() ([]string, error) {
	entries, err := r.Layout.FS.ReadDir(r.Layout.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the state directory: %w", err)
	}
	var ids []string
	for _, e := range entries {
		id := strings.TrimSuffix(e.Name(), ".json")
		is := r.IsDocument(e)
		if !is && e.IsDir() && r.IsID(id) {
			if is, err = store.Exists(r.Layout.FS, r.Layout.JournalPath(id)); err != nil {
				return nil, fmt.Errorf("list the state directory: %w", err)
			}
		}
		if is {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// IsKnown reports whether a PRD has a directory or a document.
func (r Reader) IsKnown(prd string) (bool, error) {
	there, err := store.Exists(r.Layout.FS, r.Layout.PRDDir(prd))
	if there || err != nil {
		return there, err
	}
	return store.Exists(r.Layout.FS, r.Layout.DocumentPath(prd))
}
