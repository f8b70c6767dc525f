package safety

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// copiesName is the name of the note that names the databases on servers which are copies.
// It is written before the first of them, so that none is left behind if the creation is
// interrupted or the record is lost. A checkpoint without such copies has no note.
const copiesName = "copies.json"

// copiesNote is the content of the note. Its savepoints are as they were before the copies
// were made.
type copiesNote struct {
	FormatVersion string `json:"format_version"`
	*Databases
}

// CopyError says that a database on a server, which is the copy of another one, could not
// be removed. The directory of its checkpoint stays.
type CopyError struct {
	Name string // of the savepoint block
	Note string // the file that names the copy
	Err  error
}

func (e *CopyError) Error() string {
	return fmt.Sprintf("remove the copy of the database %q from its server: %v", e.Name, e.Err)
}

func (e *CopyError) Unwrap() error { return e.Err }

func (s *Store) copiesPath(id string) string { return filepath.Join(s.dir(id), copiesName) }

// writeCopies writes the note of the copies, if there are any.
func (s *Store) writeCopies(id string, copies *Databases) error {
	if len(copies.Savepoints) == 0 {
		return nil
	}
	data, err := state.EncodeJSON(copiesNote{state.FormatVersion, copies})
	if err != nil {
		return err
	}
	return store.WriteFile(s.FS, s.copiesPath(id), data, []byte("\n"))
}

// readCopies reads the note of the copies. Without a note it returns no savepoints.
func (s *Store) readCopies(id string) (*Databases, error) {
	data, err := store.ReadFile(s.FS, s.copiesPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return &Databases{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for copies of databases: %w", err)
	}
	n := copiesNote{Databases: &Databases{}}
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, &state.DamagedError{
			Path: s.copiesPath(id), Detail: err.Error(),
			Remedy: fmt.Sprintf("drop the databases whose names begin with runner_savepoint_%s from their server, and remove the file", id),
		}
	}
	return n.Databases, nil
}

// dropCopies removes the databases on servers that are copies of a checkpoint. It may be
// repeated.
func (s *Store) dropCopies(ctx context.Context, id string) error {
	copies, err := s.readCopies(id)
	if err != nil {
		return err
	}
	for _, copied := range copies.Savepoints {
		db, err := s.openDatabase(ctx, copies.PRD, copied.Name)
		if err == nil {
			err = db.Delete(ctx, copied)
		}
		if err != nil {
			return &CopyError{Name: copied.Name, Note: s.copiesPath(id), Err: err}
		}
	}
	return nil
}

// abandon removes what a failed creation has left. What it can't remove, Tidy tries again.
func (s *Store) abandon(ctx context.Context, w *workspace.Workspace, id string) error {
	ctx = context.WithoutCancel(ctx)
	if err := s.dropCopies(ctx, id); err != nil {
		return err
	}
	return s.removeRest(ctx, w, id)
}
