package reader

import (
	"cmp"
	"context"
	"io/fs"
	"path/filepath"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
)

// Recent returns the states of the sessions of a PRD whose journals were written last, at most n, the newest
// first: the current session and archived ones. It takes no lock. A session that can't be read is left out.
// When ctx ends, Recent returns what it has.
func (r Reader) Recent(ctx context.Context, prd string, n int) []*state.State {
	dirs, err := r.Layout.SessionDirs(prd)
	if err != nil {
		return nil
	}
	type journalFile struct {
		path string
		info fs.FileInfo
	}
	var all []journalFile
	for _, dir := range dirs {
		path := filepath.Join(dir.Dir, disk.JournalName)
		if info, err := r.Layout.FS.Lstat(path); err == nil {
			all = append(all, journalFile{path, info})
		}
	}
	slices.SortStableFunc(all, func(a, b journalFile) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), cmp.Compare(b.path, a.path))
	})
	var states []*state.State
	for _, file := range all[:min(len(all), n)] {
		f := journal.NewFold()
		_, err := r.replay(prd, file.path, func(c state.Commit) error {
			return cmp.Or(ctx.Err(), f.Apply(c))
		})
		switch {
		case ctx.Err() != nil:
			return states
		case err == nil && f.State != nil:
			states = append(states, f.State)
		}
	}
	return states
}
