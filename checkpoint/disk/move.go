package disk

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Runner moves a directory by renaming it. Some file systems refuse that: overlayfs does
// for a directory of a lower layer, such as state that is part of a container image. There
// Runner copies the directory and then removes the original. It makes the copy in
// PRD-009.moving/. The move is decided when move.json exists in that directory: before,
// the original counts, and afterwards the copy. FinishMove completes an interrupted move.

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

// Move moves a file or directory of a PRD within the state directory, durably. After a
// crash it is in one of the two places.
func (l *Layout) Move(prd, from, to string) error {
	err := l.FS.Rename(from, to)
	if errors.Is(err, syscall.EXDEV) {
		err = l.moveByCopy(prd, from, to)
	}
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	for _, dir := range []string{filepath.Dir(to), filepath.Dir(from)} {
		if err := l.FS.SyncDir(dir); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
	}
	return nil
}

// moveByCopy moves a directory by copying it and removing the original.
func (l *Layout) moveByCopy(prd, from, to string) error {
	note := moveNote{FormatVersion: state.FormatVersion, From: l.Below(from), To: l.Below(to)}
	if err := note.check(prd); err != nil {
		return err
	}
	data, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("move %s: %w", note.From, err)
	}
	scratch := l.MovingPath(prd)
	err = store.MkdirAll(l.FS, scratch)
	if err == nil {
		err = store.CopyTree(l.FS, from, filepath.Join(scratch, movingCopy))
	}
	if err == nil {
		err = l.FS.SyncDir(scratch)
	}
	if err == nil {
		err = store.WriteFile(l.FS, filepath.Join(scratch, movingNote), data)
	}
	if err != nil {
		return fmt.Errorf("move %s: %w", note.From, err)
	}
	return l.FinishMove(prd)
}

// FinishMove completes an interrupted move. If no note was written yet, it removes the
// incomplete copy. The caller holds the lock of the PRD.
func (l *Layout) FinishMove(prd string) error {
	scratch := l.MovingPath(prd)
	if there, err := store.Exists(l.FS, scratch); err != nil || !there {
		return err
	}
	note, err := l.readMove(prd)
	if err != nil {
		return err
	}
	if note != nil {
		if err := l.carryOutMove(scratch, *note); err != nil {
			return fmt.Errorf("move %s to %s: %w", note.From, note.To, err)
		}
	}
	if err := store.RemoveAll(l.FS, scratch); err != nil {
		return fmt.Errorf("remove %s: %w", scratch, err)
	}
	return l.FS.SyncDir(l.Path)
}

// carryOutMove renames the copy to its destination, and removes the original. It skips
// steps that were done before an interruption.
func (l *Layout) carryOutMove(scratch string, note moveNote) error {
	copied, to, from := filepath.Join(scratch, movingCopy), filepath.Join(l.Path, note.To), filepath.Join(l.Path, note.From)
	there, err := store.Exists(l.FS, copied)
	if err == nil && there {
		err = store.MkdirAll(l.FS, filepath.Dir(to))
		if err == nil {
			err = l.FS.Rename(copied, to)
		}
		if err == nil {
			err = l.FS.SyncDir(filepath.Dir(to))
		}
	}
	if err != nil {
		return err
	}
	if err := store.RemoveAll(l.FS, from); err != nil {
		return err
	}
	if err := l.FS.SyncDir(filepath.Dir(from)); err != nil {
		return err
	}
	// The removal must be durable: if the note reappeared, Runner would remove a new
	// directory with the original's name.
	if err := l.FS.Remove(filepath.Join(scratch, movingNote)); err != nil {
		return err
	}
	return l.FS.SyncDir(scratch)
}

// readMove returns the note of an interrupted move, nil if none was written.
func (l *Layout) readMove(prd string) (*moveNote, error) {
	path := filepath.Join(l.MovingPath(prd), movingNote)
	data, err := store.ReadFile(l.FS, path)
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
	if !local || !IsStateOf(prd, filepath.ToSlash(n.From)) || !IsStateOf(prd, filepath.ToSlash(n.To)) && first != TrashDir && first != UntrustedDir {
		return fmt.Errorf("%q and %q are no directories of %s that one could move", n.From, n.To, prd)
	}
	return nil
}

// MovedAway reports whether the current directory of a PRD is the original of an
// interrupted move. Its session is in the copy then, and the next holder of the lock
// removes the directory.
func (l *Layout) MovedAway(prd string) (bool, error) {
	note, err := l.readMove(prd)
	return err == nil && note != nil && note.From == l.Below(l.PRDDir(prd)), err
}

// IsStateOf reports whether a path in a state directory belongs to the sessions of a PRD.
// It ignores case, since some file systems do. Objects don't belong to a session's state:
// they are verified against their names. Locks don't either: their notes are bound to
// processes and directories of this machine.
func IsStateOf(prd, path string) bool {
	first, rest, _ := strings.Cut(path, "/")
	if strings.EqualFold(first, FailedDir) {
		name, _, _ := strings.Cut(rest, "/")
		of, _ := cutStamp(name)
		return strings.EqualFold(of, prd)
	}
	for _, ext := range []string{"", ".json", ArchivingExt, ImportingExt, DeletingExt, MovingExt} {
		if strings.EqualFold(first, EncodeName(prd)+ext) {
			return true
		}
	}
	return false
}

// Discard moves a directory into the trash, durably.
func (l *Layout) Discard(prd, dir string) error {
	if err := store.MkdirAll(l.FS, l.TrashPath()); err != nil {
		return err
	}
	return l.Move(prd, dir, filepath.Join(l.TrashPath(), rand.Text()))
}
