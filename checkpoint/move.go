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

// Runner moves a directory by renaming it. Some file systems refuse that: overlayfs does
// for a directory of a lower layer, such as state that is part of a container image. There
// Runner copies the directory and then removes the original. It makes the copy in
// PRD-009.moving/. The move is decided when move.json exists in that directory: before,
// the original counts, and afterwards the copy. finishMove completes an interrupted move.

const (
	movingCopy = "copy"
	movingNote = "move.json"
)

// moveNote names the source and the destination of a move, as paths relative to the state
// directory.
type moveNote struct {
	FormatVersion string `json:"format_version"`
	From          string `json:"from"`
	To            string `json:"to"`
}

// move moves a file or directory of a PRD within the state directory, durably. After a
// crash it is in one of the two places.
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

// moveByCopy moves a directory by copying it and removing the original.
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

// finishMove completes an interrupted move. If no note was written yet, it removes the
// incomplete copy. The caller holds the lock of the PRD.
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

// carryOut renames the copy to its destination, and removes the original. It skips steps
// that were done before an interruption.
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
	// The removal must be durable: if the note reappeared, Runner would remove a new directory
	// with the original's name.
	if err := s.fs.Remove(filepath.Join(scratch, movingNote)); err != nil {
		return err
	}
	return s.fs.SyncDir(scratch)
}

// readMove returns the note of an interrupted move, nil if none was written.
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

// check returns an error unless both paths belong to the state of the PRD. The destination
// may also be in the trash or in the directory of untrusted state. The check is strict
// because the source is removed.
func (n moveNote) check(prd string) error {
	local := filepath.IsLocal(n.From) && filepath.IsLocal(n.To) && filepath.Clean(n.From) == n.From && filepath.Clean(n.To) == n.To
	first, _, _ := strings.Cut(filepath.ToSlash(n.To), "/")
	if !local || !isStateOf(prd, filepath.ToSlash(n.From)) || !isStateOf(prd, filepath.ToSlash(n.To)) && first != disk.TrashDir && first != disk.UntrustedDir {
		return fmt.Errorf("%q and %q are no directories of %s that one could move", n.From, n.To, prd)
	}
	return nil
}

// movedAway reports whether the current directory of a PRD is the original of an
// interrupted move. Its session is in the copy then, and the next holder of the lock
// removes the directory.
func (s *Store) movedAway(prd string) (bool, error) {
	note, err := s.readMove(prd)
	return err == nil && note != nil && note.From == s.layout.Below(s.layout.PRDDir(prd)), err
}
