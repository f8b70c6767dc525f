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

// archive archives a session: its directory and its document. A complete session goes into
// the history of its PRD, any other to failed/. It returns the new directory.
//
// The document is moved into the directory first, where it does no harm if Runner crashes
// then. With the renaming of the directory the session stops being the current one. The
// rest is done by place, or after a crash by finishArchive, under the next lock.
func (s *Store) archive(prd string) (string, error) {
	if err := s.layout.FinishMove(prd); err != nil {
		return "", err
	}
	if err := s.layout.MakeSessionDirs(prd, s.o.Policy.Enabled); err != nil {
		return "", err
	}
	if err := s.takeDocument(prd); err != nil {
		return "", fmt.Errorf("archive %s: %w", prd, err)
	}
	if err := s.layout.Move(prd, s.layout.PRDDir(prd), s.layout.ArchivingPath(prd)); err != nil {
		return "", err
	}
	return s.moveToArchive(prd)
}

// takeDocument moves the document of a PRD into the PRD's directory, durably.
func (s *Store) takeDocument(prd string) error {
	document := s.layout.DocumentPath(prd)
	err := s.fs.Rename(document, filepath.Join(s.layout.PRDDir(prd), filepath.Base(document)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, dir := range []string{s.layout.PRDDir(prd), s.layout.Path} {
		if err := s.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// finishArchive completes an interrupted archive or move.
func (s *Store) finishArchive(prd string) error {
	if err := s.layout.FinishMove(prd); err != nil {
		return err
	}
	there, err := s.layout.Exists(s.layout.ArchivingPath(prd))
	if err == nil && there {
		_, err = s.moveToArchive(prd)
	}
	return err
}

// moveToArchive moves a session that is being archived to its final directory. Before that it
// moves the history back to the PRD's directory, and begins the next session if one was
// prepared.
func (s *Store) moveToArchive(prd string) (string, error) {
	from := s.layout.ArchivingPath(prd)
	if err := s.returnKept(prd, from); err != nil {
		return "", err
	}
	if err := s.beginNext(prd, from); err != nil {
		return "", err
	}
	to, err := s.archivePath(prd, from)
	if err != nil {
		return "", err
	}
	return to, s.layout.Move(prd, from, to)
}

// prepareNext writes the journal of the next session into the directory of the current
// one. It becomes the PRD's journal when the current session is archived, so that after a
// crash one of the two sessions is the current one.
func (s *Store) prepareNext(prd string, line []byte) error {
	if err := store.WriteFile(s.fs, filepath.Join(s.layout.PRDDir(prd), disk.NextName), line); err != nil {
		return fmt.Errorf("prepare the next session of %s: %w", prd, err)
	}
	return nil
}

// beginNext makes the journal that was prepared in a directory, if any, the PRD's journal.
func (s *Store) beginNext(prd, from string) error {
	next := filepath.Join(from, disk.NextName)
	if there, err := s.layout.Exists(next); err != nil || !there {
		return err
	}
	return s.layout.Move(prd, next, s.layout.JournalPath(prd))
}

// Archiving reports whether the archiving of a PRD's session was interrupted. The next
// holder of the lock completes it.
func (s *Store) Archiving(prd string) (bool, error) {
	if err := s.CheckID(prd); err != nil {
		return false, err
	}
	if away, err := s.layout.MovedAway(prd); err != nil || away {
		return away, err
	}
	return s.layout.Exists(s.layout.ArchivingPath(prd))
}

// returnKept moves the PRD's history and the acts of deleted sessions, which outlive a
// session, from a directory that is being archived or deleted back to the PRD's directory.
func (s *Store) returnKept(prd, from string) error {
	if err := store.MkdirAll(s.fs, s.layout.PRDDir(prd)); err != nil {
		return err
	}
	acts := filepath.Join(from, disk.ActsName)
	there, err := s.layout.Exists(acts)
	if err == nil && there {
		err = s.layout.Move(prd, acts, s.layout.ActsPath(prd))
	}
	if err != nil {
		return err
	}
	kept := filepath.Join(from, disk.HistoryDir)
	if there, err := s.layout.Exists(kept); err != nil || !there {
		return err
	}
	return s.layout.Move(prd, kept, s.layout.HistoryPath(prd))
}

// archivePath returns the directory in which an archived session stays. A session that can't
// be read counts as incomplete.
func (s *Store) archivePath(prd, from string) (string, error) {
	path := filepath.Join(from, disk.JournalName)
	f := journal.NewFold()
	_, err := journal.Replay(prd, path, store.OpenLog(s.fs, path), f.Apply)
	dir, name := filepath.Join(s.layout.Path, disk.FailedDir), disk.EncodeName(prd)+"-"+s.Now().Format(disk.StampFormat)
	if err == nil && f.State != nil && f.State.Status == state.StatusComplete && !f.State.Abandoned {
		dir, name = s.layout.HistoryPath(prd), disk.EncodeName(f.State.Session)
	}
	if err := store.MkdirAll(s.fs, dir); err != nil {
		return "", err
	}
	return s.layout.FreePath(filepath.Join(dir, name))
}
