package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// A directory is moved by renaming it. Some file systems can't: overlayfs refuses it
// for one that is of a lower layer, such as an image into which state was baked. There
// it is copied, and removed where it was. The copy is made in PRD-009.moving/, and
// counts from the moment at which move.json is beside it: before, what is being moved
// is where it was, and afterwards where it goes. finishMove does what is left.

const (
	movingCopy = "copy"
	movingNote = "move.json"
)

// moveNote says what is moved, in paths below the state directory.
type moveNote struct {
	FormatVersion string `json:"format_version"`
	From          string `json:"from"`
	To            string `json:"to"`
}

// move gives a file or directory of a PRD another place in the state directory,
// durably: a crash leaves it in one of the two.
func (s *Store) move(prd, from, to string) error {
	err := s.fs.Rename(from, to)
	if errors.Is(err, syscall.EXDEV) {
		err = s.moveByCopy(prd, from, to)
	}
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	for _, dir := range []string{filepath.Dir(to), filepath.Dir(from)} {
		if err := s.fs.SyncDir(dir); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
	}
	return nil
}

// moveByCopy copies a directory, and then removes it.
func (s *Store) moveByCopy(prd, from, to string) error {
	note := moveNote{FormatVersion: state.FormatVersion, From: s.layout.Below(from), To: s.layout.Below(to)}
	if err := note.check(prd); err != nil {
		return err
	}
	data, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("move %s: %w", note.From, err)
	}
	scratch := s.layout.MovingPath(prd)
	err = store.MkdirAll(s.fs, scratch)
	if err == nil {
		err = s.layout.CopyTree(from, filepath.Join(scratch, movingCopy))
	}
	if err == nil {
		err = s.fs.SyncDir(scratch)
	}
	if err == nil {
		err = store.WriteFile(s.fs, filepath.Join(scratch, movingNote), data)
	}
	if err != nil {
		return fmt.Errorf("move %s: %w", note.From, err)
	}
	return s.finishMove(prd)
}

// finishMove completes the move of a directory that a crash cut short, or removes what
// it has copied so far. The caller holds the lock of the PRD.
func (s *Store) finishMove(prd string) error {
	scratch := s.layout.MovingPath(prd)
	if there, err := s.layout.Exists(scratch); err != nil || !there {
		return err
	}
	note, err := s.readMove(prd)
	if err != nil {
		return err
	}
	if note != nil {
		if err := s.carryOut(scratch, *note); err != nil {
			return fmt.Errorf("move %s to %s: %w", note.From, note.To, err)
		}
	}
	if err := s.layout.RemoveAll(scratch); err != nil {
		return fmt.Errorf("remove %s: %w", scratch, err)
	}
	return s.fs.SyncDir(s.layout.Path)
}

// carryOut gives a copy its name, and removes what it is a copy of. What is done
// already is passed over.
func (s *Store) carryOut(scratch string, note moveNote) error {
	copied, to, from := filepath.Join(scratch, movingCopy), filepath.Join(s.layout.Path, note.To), filepath.Join(s.layout.Path, note.From)
	there, err := s.layout.Exists(copied)
	if err == nil && there {
		err = store.MkdirAll(s.fs, filepath.Dir(to))
		if err == nil {
			err = s.fs.Rename(copied, to)
		}
		if err == nil {
			err = s.fs.SyncDir(filepath.Dir(to))
		}
	}
	if err != nil {
		return err
	}
	if err := s.layout.RemoveAll(from); err != nil {
		return err
	}
	if err := s.fs.SyncDir(filepath.Dir(from)); err != nil {
		return err
	}
	// It must not come back: what has the name by then would be removed.
	if err := s.fs.Remove(filepath.Join(scratch, movingNote)); err != nil {
		return err
	}
	return s.fs.SyncDir(scratch)
}

// readMove reads the note of a move that was begun, nil where none counts yet.
func (s *Store) readMove(prd string) (*moveNote, error) {
	path := filepath.Join(s.layout.MovingPath(prd), movingNote)
	data, err := store.ReadFile(s.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // documented above
	}
	if err != nil {
		return nil, err
	}
	var note moveNote
	if err := json.Unmarshal(data, &note); err != nil {
		return nil, &state.DamagedError{Path: path, Detail: "it is no note of a move: " + err.Error(), Remedy: "move that directory away"}
	}
	if !state.Readable(note.FormatVersion) {
		return nil, &state.VersionError{Path: path, Version: "format version " + note.FormatVersion}
	}
	if err := note.check(prd); err != nil {
		return nil, &state.DamagedError{Path: path, Detail: err.Error(), Remedy: "move that directory away"}
	}
	return &note, nil
}

// check refuses what is not within the state of a PRD: what is named is removed.
func (n moveNote) check(prd string) error {
	local := filepath.IsLocal(n.From) && filepath.IsLocal(n.To) && filepath.Clean(n.From) == n.From && filepath.Clean(n.To) == n.To
	first, _, _ := strings.Cut(filepath.ToSlash(n.To), "/")
	if !local || !isStateOf(prd, filepath.ToSlash(n.From)) || !isStateOf(prd, filepath.ToSlash(n.To)) && first != disk.TrashDir && first != disk.UntrustedDir {
		return fmt.Errorf("%q and %q are no directories of %s that one could move", n.From, n.To, prd)
	}
	return nil
}

// movedAway reports whether the current directory of a PRD is what is left of one that
// was moved: its session is elsewhere, and the next holder of the lock removes it.
func (s *Store) movedAway(prd string) (bool, error) {
	note, err := s.readMove(prd)
	return err == nil && note != nil && note.From == s.layout.Below(s.layout.PRDDir(prd)), err
}
