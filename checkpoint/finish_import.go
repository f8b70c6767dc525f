package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// ErrUnfinishedImport reports that not all files of an imported session were restored.
var ErrUnfinishedImport = errors.New("an import is not finished")

// An import writes the whole session into a new directory and renames that directory to
// PRD-009.importing/. With the rename the import takes effect. finishImport does the
// rest, at once or, after a crash, under the next lock.

// finishImport completes an import whose session directory was renamed. It returns the
// directory of the session that it replaced, if any.
func (s *Store) finishImport(prd string) (archived string, err error) {
	from := s.layout.ImportingPath(prd)
	if there, err := s.layout.Exists(from); err != nil || !there {
		return "", err
	}
	whole, err := s.layout.Exists(filepath.Join(from, disk.JournalName))
	if err != nil {
		return "", fmt.Errorf("finish the import of %s: %w", prd, err)
	}
	if whole {
		if archived, err = s.makeWay(prd, from); err == nil {
			err = s.moveIn(prd, from)
		}
		if err != nil {
			return archived, fmt.Errorf("finish the import of %s: %w", prd, err)
		}
	}
	if err = s.layout.RemoveAll(from); err == nil {
		err = s.fs.SyncDir(s.layout.Path)
	}
	if err != nil {
		return archived, fmt.Errorf("finish the import of %s: %w", prd, err)
	}
	return archived, nil
}

// makeWay archives the current session if the imported session does not continue it.
func (s *Store) makeWay(prd, from string) (archived string, err error) {
	comes, _, err := s.lineageIn(prd, from)
	if err != nil {
		return "", err
	}
	relation, _, _, err := s.RelationTo(prd, comes)
	if err != nil {
		return "", err
	}
	switch relation {
	case journal.RelationNew, journal.RelationEqual, journal.RelationForward:
		return "", nil
	case journal.RelationSame, journal.RelationOlder, journal.RelationDiverged, journal.RelationForeign, journal.RelationDamaged:
	}
	return s.archive(prd)
}

// moveIn moves the files of an imported session into the session's directory. It moves the
// journal last: until then the old session is whole, and from then on the new one is.
func (s *Store) moveIn(prd, from string) error {
	to := s.layout.PRDDir(prd)
	if err := s.layout.MakeSessionDirs(prd, s.o.Policy.Enabled); err != nil {
		return err
	}
	for _, sub := range []string{disk.CheckpointsDir, disk.LogsDir} {
		dir := filepath.Join(to, sub)
		if err := store.MkdirAll(s.fs, dir); err != nil {
			return err
		}
		if err := s.moveFiles(filepath.Join(from, sub), dir, func(string) bool { return true }); err != nil {
			return err
		}
	}
	for _, last := range []bool{false, true} {
		if err := s.moveFiles(from, to, func(name string) bool { return (name == disk.JournalName) == last }); err != nil {
			return err
		}
	}
	return nil
}

// moveFiles moves files from one directory to another, durably. After a crash each file is
// in at least one of the two directories.
func (s *Store) moveFiles(from, to string, which func(name string) bool) error {
	entries, err := s.fs.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list %s: %w", from, err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !which(e.Name()) {
			continue
		}
		if err := s.fs.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return fmt.Errorf("move %s: %w", e.Name(), err)
		}
	}
	if err := s.fs.SyncDir(to); err != nil {
		return err
	}
	if err := s.fs.SyncDir(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// relation returns how a session that is to be imported relates to the current session of
// the PRD. It also returns that session's state, or the error that makes it unreadable. A
// session of a newer version fails relation, since Runner must not change it.
func (s *Store) RelationTo(prd string, comes *journal.Lineage) (journal.Relation, *state.State, error, error) {
	snap, err := s.Load(prd)
	var damaged *state.DamagedError
	switch {
	case errors.Is(err, ErrNoSession):
		return journal.RelationNew, nil, nil, nil
	case errors.As(err, &damaged):
		return journal.RelationDamaged, nil, damaged, nil
	case err != nil:
		return "", nil, nil, err
	case snap.State == nil:
		return journal.RelationForeign, nil, nil, nil // a document written by hand
	}
	here, state, err := s.lineageIn(prd, s.layout.PRDDir(prd))
	if err == nil && here == nil {
		err = fs.ErrNotExist // the session was archived meanwhile
	}
	if err != nil {
		return "", nil, nil, fmt.Errorf("read the session of %s: %w", prd, err)
	}
	relation := journal.Relate(comes, here)
	if relation == journal.RelationForward && snap.RescuePath != "" {
		relation = journal.RelationDiverged // the rescued commits belong to the session and are not in the archive
	}
	return relation, state, nil, nil
}

// lineageIn reads the lineage and the state of the session in a directory, nil if there is
// none.
func (s *Store) lineageIn(prd, dir string) (*journal.Lineage, *state.State, error) {
	paths, err := s.layout.Journals(dir)
	if err != nil {
		return nil, nil, err
	}
	return journal.ReadLineage(prd, s.fs, paths)
}
