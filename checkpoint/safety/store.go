package safety

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// recordName is the name of a checkpoint's record in its directory. It is written last:
// without it, the directory is what an interrupted Create left.
const recordName = "checkpoint.json"

// restoringName is the name of the note that a restore has begun and not ended.
const restoringName = "restoring.json"

// refsRoot begins the names of the git references of safety checkpoints.
const refsRoot = "refs/runner/safety/"

// Store is the directory of the safety checkpoints in a state directory. It is safe for
// concurrent use by several processes as far as each method says.
type Store struct {
	FS  store.FS
	Dir string // the directory safety
	Now func() time.Time
	// OpenDatabase is needed for checkpoints with databases alone; nil: they can be listed,
	// and nothing else.
	OpenDatabase OpenDatabase
	Warn         func(error) // receives what Tidy leaves to a later call; nil: nobody is told
}

// recordFile is the content of a record's file, sealed with a checksum.
type recordFile struct {
	FormatVersion string `json:"format_version"`
	*Checkpoint
}

// dir returns the directory of a checkpoint.
func (s *Store) dir(id string) string { return filepath.Join(s.Dir, id) }

// RecordPath returns the file of a checkpoint's record.
func (s *Store) RecordPath(id string) string { return filepath.Join(s.dir(id), recordName) }

// write writes the record of a checkpoint, durably.
func (s *Store) write(c *Checkpoint) error {
	object, err := state.EncodeJSON(recordFile{state.FormatVersion, c})
	if err != nil {
		return fmt.Errorf("encode safety checkpoint %s: %w", c.ID, err)
	}
	if err := store.WriteFile(s.FS, s.RecordPath(c.ID), state.Seal(object)); err != nil {
		return fmt.Errorf("write safety checkpoint %s: %w", c.ID, err)
	}
	return nil
}

// Read reads the record of a checkpoint. It takes no lock. A damaged record is a
// *state.DamagedError, and one of a newer version a *state.VersionError.
func (s *Store) Read(id string) (*Checkpoint, error) {
	path := s.RecordPath(id)
	data, err := store.ReadFile(s.FS, path)
	if errors.Is(err, fs.ErrNotExist) || !IsID(id) {
		return nil, &NotFoundError{id}
	}
	if err != nil {
		return nil, fmt.Errorf("read safety checkpoint %s: %w", id, err)
	}
	var newer *state.VersionError
	if err = disk.CheckSealed(path, data); errors.As(err, &newer) {
		return nil, newer
	}
	file := recordFile{Checkpoint: &Checkpoint{}}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err == nil && file.ID != id {
		err = fmt.Errorf("it is the record of %q", file.ID)
	}
	if err != nil {
		return nil, &state.DamagedError{
			Path: path, Detail: err.Error(),
			Remedy: fmt.Sprintf("`runner safety delete %s` gives the checkpoint up", id),
		}
	}
	return file.Checkpoint, nil
}

// Unread is a checkpoint whose record can't be read.
type Unread struct {
	ID  string
	Err error
}

// List returns the checkpoints, oldest first. It takes no lock. A checkpoint whose
// creation was interrupted is not among them.
func (s *Store) List() (all []*Checkpoint, unread []Unread, err error) {
	ids, err := s.ids()
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		c, err := s.Read(id)
		var none *NotFoundError
		switch {
		case errors.As(err, &none):
		case err != nil:
			unread = append(unread, Unread{id, err})
		default:
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b *Checkpoint) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all, unread, nil
}

// ids returns the names of the directories of checkpoints, sorted.
func (s *Store) ids() ([]string, error) {
	entries, err := s.FS.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the safety checkpoints: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && IsID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Latest is the name of the newest checkpoint that is not the undo of a restore.
const Latest = "latest"

// Find returns the ID of the checkpoint that a name means: an ID, a unique beginning of
// one, or Latest. The record of the checkpoint may be damaged. If it is gone, that is a
// *state.DamagedError.
func (s *Store) Find(name string) (string, error) {
	if name == Latest {
		all, _, err := s.List()
		if err != nil {
			return "", err
		}
		for _, c := range slices.Backward(all) {
			if c.Undoes == "" {
				return c.ID, nil
			}
		}
		return "", &NotFoundError{name}
	}
	all, err := s.ids()
	if err != nil {
		return "", err
	}
	ids := slices.DeleteFunc(slices.Clone(all), func(id string) bool {
		there, err := store.Exists(s.FS, s.RecordPath(id))
		return err == nil && !there || !strings.HasPrefix(id, name)
	})
	switch {
	case len(ids) == 0 && slices.Contains(all, name):
		return "", &state.DamagedError{
			Path: s.RecordPath(name), Detail: "it does not exist, since the checkpoint was never finished or not wholly deleted, or the file was lost",
			Remedy: "`runner safety prune` removes what is left of it",
		}
	case len(ids) == 0 || name == "":
		return "", &NotFoundError{name}
	case len(ids) > 1 && !slices.Contains(ids, name):
		return "", &AmbiguousError{Name: name, IDs: ids}
	}
	return ids[0], nil
}

// Delete removes a checkpoint: its copies on servers, its record, and its references in
// git. If a copy can't be removed, the record stays, and the error is a *CopyError. Its
// objects stay until a collection. After an interruption it can be repeated. The caller
// holds the exclusive lock of the state directory.
func (s *Store) Delete(ctx context.Context, w *workspace.Workspace, id string) error {
	if !IsID(id) {
		return &NotFoundError{id}
	}
	// Only files that git keeps have references, and asking git takes longer than all else.
	c, unread := s.Read(id)
	hasRefs := unread != nil || c.Files != nil && c.Files.InGit
	if err := s.dropCopies(ctx, id); err != nil {
		return fmt.Errorf("delete safety checkpoint %s: %w", id, err)
	}
	// The record goes first, so that no record names references that are gone.
	if err := store.RemoveDurably(s.FS, s.RecordPath(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete safety checkpoint %s: %w", id, err)
	}
	if !hasRefs {
		return s.removeDir(id)
	}
	return s.removeRest(ctx, w, id)
}

// removeRest removes what a checkpoint without a record has left.
func (s *Store) removeRest(ctx context.Context, w *workspace.Workspace, id string) error {
	if repo := w.Repository(); repo != nil {
		refs, err := repo.Refs(ctx, refsRoot+id)
		if err != nil {
			return err
		}
		names := make([]string, 0, len(refs))
		for ref := range refs {
			names = append(names, ref)
		}
		if err := repo.DeleteRefs(ctx, names); err != nil {
			return err
		}
	}
	return s.removeDir(id)
}

func (s *Store) removeDir(id string) error {
	if err := store.RemoveAll(s.FS, s.dir(id)); err != nil {
		return fmt.Errorf("delete safety checkpoint %s: %w", id, err)
	}
	return nil
}

// Tidied is what Tidy removed, or would remove.
type Tidied struct {
	Unfinished []string // IDs of checkpoints without a record: never finished, not wholly deleted, or the record was lost
	Leftovers  int      // temporary files of interrupted writers
	Bytes      int64    // of all of these
}

// Tidy removes what interrupted calls of Create, Restore and Delete left. If a server with
// the copy of a database can't be reached, Tidy leaves the directory that names the copy,
// and tells Warn. With dryRun it removes nothing. The caller holds the exclusive lock of
// the state directory.
func (s *Store) Tidy(ctx context.Context, w *workspace.Workspace, dryRun bool) (t Tidied, err error) {
	ids, err := s.ids()
	if err != nil {
		return t, err
	}
	for _, id := range ids {
		there, err := store.Exists(s.FS, s.RecordPath(id))
		if err == nil && there {
			err = s.removeTemps(id, &t, dryRun)
		} else if err == nil {
			err = s.removeUnfinished(ctx, w, id, &t, dryRun)
		}
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// removeUnfinished removes a checkpoint without a record. If w is nil it removes nothing,
// since references could be left in git.
func (s *Store) removeUnfinished(ctx context.Context, w *workspace.Workspace, id string, t *Tidied, dryRun bool) error {
	if w == nil {
		return nil
	}
	size, err := store.TreeSize(s.FS, s.dir(id))
	if err != nil {
		return fmt.Errorf("look for unfinished safety checkpoints: %w", err)
	}
	if !dryRun {
		if err := s.dropCopies(ctx, id); err != nil {
			if s.Warn != nil && ctx.Err() == nil {
				s.Warn(fmt.Errorf("what is left of the safety checkpoint %s stays, and `runner safety prune` tries again: %w", id, err))
			}
			return ctx.Err()
		}
		if err := s.removeRest(ctx, w, id); err != nil {
			return err
		}
	}
	t.Unfinished = append(t.Unfinished, id)
	t.Bytes += size
	return nil
}

// removeTemps removes the temporary files in the directory of a checkpoint.
func (s *Store) removeTemps(id string, t *Tidied, dryRun bool) error {
	entries, err := s.FS.ReadDir(s.dir(id))
	if err != nil {
		return fmt.Errorf("look for what was cut short: %w", err)
	}
	for _, e := range entries {
		if !store.IsTemp(e.Name()) {
			continue
		}
		size, err := store.EntrySize(s.FS, s.dir(id), e)
		if err == nil && !dryRun {
			err = s.FS.Remove(filepath.Join(s.dir(id), e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what was cut short: %w", err)
		}
		t.Leftovers++
		t.Bytes += size
	}
	return nil
}
