package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// mover moves whole sessions of a PRD: into the archive, into the trash, and an imported
// session to where the current one is. Each move takes effect with the renaming of one
// directory; finish does the rest, at once or, after a crash, under the next lock. The
// caller holds the locks of the PRD.
type mover struct {
	layout      *disk.Layout
	reader      reader.Reader
	prd         string
	now         time.Time
	checkpoints bool // a session has a directory for checkpoints
}

func (s *Store) mover(prd string) *mover {
	return &mover{layout: &s.layout, reader: s.reader, prd: prd, now: s.Now(), checkpoints: s.o.Policy.Enabled}
}

// finish completes an interrupted archive, deletion or import.
func (m *mover) finish() error {
	if err := m.finishArchive(); err != nil {
		return err
	}
	if err := m.finishDelete(); err != nil {
		return err
	}
	_, err := m.finishImport()
	return err
}

// archive archives a session: its directory and its document. A complete session goes into
// the history of its PRD, any other to failed/. It returns the new directory.
//
// The document is moved into the directory first, where it does no harm if Runner crashes
// then. With the renaming of the directory the session stops being the current one. The
// rest is done by place, or after a crash by finishArchive, under the next lock.
func (m *mover) archive() (string, error) {
	if err := m.layout.FinishMove(m.prd); err != nil {
		return "", err
	}
	if err := m.layout.MakeSessionDirs(m.prd, m.checkpoints); err != nil {
		return "", err
	}
	if err := m.takeDocument(); err != nil {
		return "", fmt.Errorf("archive %s: %w", m.prd, err)
	}
	if err := m.layout.Move(m.prd, m.layout.PRDDir(m.prd), m.layout.ArchivingPath(m.prd)); err != nil {
		return "", err
	}
	return m.moveToArchive()
}

// takeDocument moves the document of a PRD into the PRD's directory, durably.
func (m *mover) takeDocument() error {
	document := m.layout.DocumentPath(m.prd)
	err := m.layout.FS.Rename(document, filepath.Join(m.layout.PRDDir(m.prd), filepath.Base(document)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, dir := range []string{m.layout.PRDDir(m.prd), m.layout.Path} {
		if err := m.layout.FS.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// finishArchive completes an interrupted archive or move.
func (m *mover) finishArchive() error {
	if err := m.layout.FinishMove(m.prd); err != nil {
		return err
	}
	there, err := store.Exists(m.layout.FS, m.layout.ArchivingPath(m.prd))
	if err == nil && there {
		_, err = m.moveToArchive()
	}
	return err
}

// moveToArchive moves a session that is being archived to its final directory. Before
// that it moves the history back to the PRD's directory, and begins the next session if
// one was prepared.
func (m *mover) moveToArchive() (string, error) {
	from := m.layout.ArchivingPath(m.prd)
	if err := m.removeRun(from); err != nil {
		return "", fmt.Errorf("archive %s: remove what killed attempts wrote: %w", m.prd, err)
	}
	if err := m.returnKept(from); err != nil {
		return "", err
	}
	if err := m.beginNext(from); err != nil {
		return "", err
	}
	to, err := m.archivePath(from)
	if err != nil {
		return "", err
	}
	return to, m.layout.Move(m.prd, from, to)
}

// removeRun removes the files of killed attempts from a session that is being archived. They
// may hold values that must not be stored, and nothing reads them in an archive.
func (m *mover) removeRun(from string) error {
	if err := store.RemoveAll(m.layout.FS, filepath.Join(from, disk.RunDir)); err != nil {
		return err
	}
	return m.layout.FS.SyncDir(from)
}

// prepareNext writes the journal of the next session into the directory of the current
// one. It becomes the PRD's journal when the current session is archived, so that after a
// crash one of the two sessions is the current one.
func (m *mover) prepareNext(line []byte) error {
	if err := store.WriteFile(m.layout.FS, filepath.Join(m.layout.PRDDir(m.prd), disk.NextName), line); err != nil {
		return fmt.Errorf("prepare the next session of %s: %w", m.prd, err)
	}
	return nil
}

// beginNext makes the journal that was prepared in a directory, if any, the PRD's journal.
func (m *mover) beginNext(from string) error {
	next := filepath.Join(from, disk.NextName)
	if there, err := store.Exists(m.layout.FS, next); err != nil || !there {
		return err
	}
	return m.layout.Move(m.prd, next, m.layout.JournalPath(m.prd))
}

// returnKept moves the PRD's history and the acts of deleted sessions, which outlive a
// session, from a directory that is being archived or deleted back to the PRD's directory.
func (m *mover) returnKept(from string) error {
	if err := store.MkdirAll(m.layout.FS, m.layout.PRDDir(m.prd)); err != nil {
		return err
	}
	acts := filepath.Join(from, disk.ActsName)
	there, err := store.Exists(m.layout.FS, acts)
	if err == nil && there {
		err = m.layout.Move(m.prd, acts, m.layout.ActsPath(m.prd))
	}
	if err != nil {
		return err
	}
	kept := filepath.Join(from, disk.HistoryDir)
	if there, err := store.Exists(m.layout.FS, kept); err != nil || !there {
		return err
	}
	return m.layout.Move(m.prd, kept, m.layout.HistoryPath(m.prd))
}

// archivePath returns the directory in which an archived session stays. A session that
// can't be read counts as incomplete.
func (m *mover) archivePath(from string) (string, error) {
	path := filepath.Join(from, disk.JournalName)
	f := journal.NewFold()
	_, err := journal.Replay(m.prd, path, store.OpenLog(m.layout.FS, path), f.Apply)
	dir, name := filepath.Join(m.layout.Path, disk.FailedDir), disk.EncodeName(m.prd)+"-"+m.now.Format(disk.StampFormat)
	if err == nil && f.State != nil && f.State.Status == state.StatusComplete && !f.State.Abandoned {
		dir, name = m.layout.HistoryPath(m.prd), disk.EncodeName(f.State.Session)
	}
	if err := store.MkdirAll(m.layout.FS, dir); err != nil {
		return "", err
	}
	return store.FreePath(m.layout.FS, filepath.Join(dir, name))
}

// delete moves the current session into the trash.
func (m *mover) delete() error {
	for _, finish := range []func() error{m.finishArchive, m.finishDelete} {
		if err := finish(); err != nil {
			return err
		}
	}
	if err := store.MkdirAll(m.layout.FS, m.layout.PRDDir(m.prd)); err != nil {
		return err
	}
	if err := m.keepActs(); err != nil {
		return err
	}
	if err := m.takeDocument(); err != nil {
		return err
	}
	if err := m.layout.Move(m.prd, m.layout.PRDDir(m.prd), m.layout.DeletingPath(m.prd)); err != nil {
		return err
	}
	return m.finishDelete()
}

// finishDelete completes an interrupted deletion. It moves the history and the acts of
// deleted sessions back to the PRD's directory, and the rest into the trash.
func (m *mover) finishDelete() error {
	from := m.layout.DeletingPath(m.prd)
	if there, err := store.Exists(m.layout.FS, from); err != nil || !there {
		return err
	}
	if err := m.returnKept(from); err != nil {
		return err
	}
	return m.layout.Discard(m.prd, from)
}

// keepActs records the acts of the current session, which is about to be deleted, in the
// acts file of the PRD.
func (m *mover) keepActs() error {
	current, err := m.reader.Current(m.prd)
	var damaged *state.DamagedError
	switch {
	case errors.Is(err, ErrNoSession):
		return nil
	case errors.As(err, &damaged):
		return keepUnread(m.layout, m.prd, m.layout.PRDDir(m.prd))
	case err != nil:
		return fmt.Errorf("look for what has happened only once in %s: %w", m.prd, err)
	case current.State == nil:
		return nil
	}
	if err := m.layout.AddCaptures(m.prd, current.State.Ledgers); err != nil {
		return err
	}
	return m.layout.AddActs(m.prd, current.State.KnownActs(), nil)
}

// An import writes the whole session into a new directory and renames that directory to
// PRD-009.importing/. With the rename the import takes effect. finishImport does the
// rest, at once or, after a crash, under the next lock.

// finishImport completes an import whose session directory was renamed. It returns the
// directory of the session that it replaced, if any.
func (m *mover) finishImport() (archived string, err error) {
	from := m.layout.ImportingPath(m.prd)
	if there, err := store.Exists(m.layout.FS, from); err != nil || !there {
		return "", err
	}
	whole, err := store.Exists(m.layout.FS, filepath.Join(from, disk.JournalName))
	if err != nil {
		return "", fmt.Errorf("finish the import of %s: %w", m.prd, err)
	}
	if whole {
		if archived, err = m.makeWay(from); err == nil {
			err = m.moveIn(from)
		}
		if err != nil {
			return archived, fmt.Errorf("finish the import of %s: %w", m.prd, err)
		}
	}
	if err = store.RemoveAll(m.layout.FS, from); err == nil {
		err = m.layout.FS.SyncDir(m.layout.Path)
	}
	if err != nil {
		return archived, fmt.Errorf("finish the import of %s: %w", m.prd, err)
	}
	return archived, nil
}

// makeWay archives the current session if the imported session does not continue it.
func (m *mover) makeWay(from string) (archived string, err error) {
	comes, _, err := m.reader.Session(m.prd, from).Lineage()
	if err != nil {
		return "", err
	}
	relation, _, _, err := m.reader.RelationTo(m.prd, comes)
	if err != nil {
		return "", err
	}
	switch relation {
	case journal.RelationNew, journal.RelationEqual, journal.RelationForward:
		return "", nil
	case journal.RelationSame, journal.RelationOlder, journal.RelationDiverged, journal.RelationForeign, journal.RelationDamaged:
	}
	return m.archive()
}

// moveIn moves the files of an imported session into the session's directory. It moves the
// journal last: until then the old session is whole, and from then on the new one is.
func (m *mover) moveIn(from string) error {
	to := m.layout.PRDDir(m.prd)
	if err := m.layout.MakeSessionDirs(m.prd, m.checkpoints); err != nil {
		return err
	}
	for _, sub := range []string{disk.CheckpointsDir, disk.LogsDir} {
		dir := filepath.Join(to, sub)
		if err := store.MkdirAll(m.layout.FS, dir); err != nil {
			return err
		}
		if err := m.moveFiles(filepath.Join(from, sub), dir, func(string) bool { return true }); err != nil {
			return err
		}
	}
	for _, last := range []bool{false, true} {
		if err := m.moveFiles(from, to, func(name string) bool { return (name == disk.JournalName) == last }); err != nil {
			return err
		}
	}
	return nil
}

// moveFiles moves files from one directory to another, durably. After a crash each file is
// in at least one of the two directories.
func (m *mover) moveFiles(from, to string, which func(name string) bool) error {
	entries, err := m.layout.FS.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list %s: %w", from, err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !which(e.Name()) {
			continue
		}
		if err := m.layout.FS.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return fmt.Errorf("move %s: %w", e.Name(), err)
		}
	}
	if err := m.layout.FS.SyncDir(to); err != nil {
		return err
	}
	if err := m.layout.FS.SyncDir(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// KeepUnread records a session that can't be read and is about to be removed: the acts in
// the readable part of its journal, and its directory, since there may have been other
// acts.
func (s *Store) KeepUnread(prd, dir string) error { return keepUnread(&s.layout, prd, dir) }

func keepUnread(l *disk.Layout, prd, dir string) error {
	f, path := journal.NewFold(), filepath.Join(dir, disk.JournalName)
	_, _ = journal.Replay(prd, path, store.OpenLog(l.FS, path), f.Apply) // the caller knows that it is damaged
	var acts []state.Act
	if f.State != nil {
		acts = f.State.KnownActs()
	}
	return l.AddActs(prd, acts, []state.Text{state.Text(l.Within(dir))})
}
