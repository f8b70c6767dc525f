package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// backupExt begins the name of the directory in which files of an older version are kept,
// such as backup-1.0.
const backupExt = "backup-"

// Migrated is the result, or the plan, of converting a session to the current format
// version.
type Migrated struct {
	PRD         string
	Session     string
	From        string // oldest version found; the current version if there is nothing to do
	To          string
	Journal     bool     // the journal is started over
	Checkpoints []string // ids of the checkpoints whose files are rewritten
	Kept        []string // names of the backup directory and of the old journal, in the PRD's directory
}

// Needed reports whether the journal or a checkpoint file has an older version.
func (m *Migrated) Needed() bool { return m.Journal || len(m.Checkpoints) > 0 }

// PlanMigrate returns what Migrate would do. It takes no lock and changes nothing.
func PlanMigrate(ctx context.Context, s *checkpoint.Store, prd string) (*Migrated, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("migrate %s: %w", prd, err)
	}
	snap, err := s.Load(prd)
	if err != nil {
		return nil, fmt.Errorf("migrate %s: %w", prd, err)
	}
	if snap.State == nil {
		return nil, fmt.Errorf("migrate %s: %w", prd, checkpoint.ErrNoSession)
	}
	m := &Migrated{PRD: prd, Session: snap.State.Session, From: state.FormatVersion, To: state.FormatVersion}
	m.noteVersion(snap.State.FormatVersion)
	m.Journal = snap.State.FormatVersion != state.FormatVersion
	for _, ref := range snap.State.Checkpoints {
		version, err := checkpointVersion(s, prd, ref.ID)
		if err != nil {
			return nil, fmt.Errorf("migrate %s: %w", prd, err)
		}
		if version != state.FormatVersion && version != "" {
			m.noteVersion(version)
			m.Checkpoints = append(m.Checkpoints, ref.ID)
		}
	}
	return m, nil
}

// noteVersion sets From to the version of a file if that is older. Versions compare as
// text: each has one digit on either side of the dot.
func (m *Migrated) noteVersion(version string) { m.From = min(m.From, version) }

// checkpointVersion returns the version of a checkpoint's file. It returns "" if there is
// no file, or a damaged one, which Migrate does not repair.
func checkpointVersion(s *checkpoint.Store, prd, id string) (string, error) {
	stored, err := s.Layout().CheckpointsIn(s.Layout().PRDDir(prd)).Read(id)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	f, err := stored.Decode()
	var newer *state.VersionError
	switch {
	case errors.As(err, &newer):
		return "", newer
	case err != nil:
		return "", nil // damaged
	}
	return f.FormatVersion, nil
}

// Migrate converts a session to the current format version. It starts the journal over
// with the session's state, and rewrites the checkpoint files. The old files are kept in
// the session's directory. A newer version is a *VersionError, and Migrate changes
// nothing. If it is interrupted it can be repeated. Once it is done, another call does
// nothing.
func Migrate(ctx context.Context, s *checkpoint.Store, prd string, by state.Actor) (*Migrated, error) {
	m, err := PlanMigrate(ctx, s, prd)
	if err != nil || !m.Needed() {
		return m, err
	}
	u, err := s.LockUnopened(ctx, prd)
	if err != nil {
		return nil, err
	}
	if err := migrate(s, u, prd, by, m); err != nil {
		return nil, errors.Join(fmt.Errorf("migrate %s: %w", prd, err), u.Close())
	}
	x, err := u.Open(by)
	if err != nil {
		return nil, errors.Join(err, u.Close())
	}
	return m, x.Close() // writes the document and the index
}

func migrate(s *checkpoint.Store, u *checkpoint.Unopened, prd string, by state.Actor, m *Migrated) error {
	if err := u.FinishInterrupted(); err != nil {
		return err
	}
	if err := keepOld(s, prd, m); err != nil {
		return err
	}
	if m.Journal {
		kept, err := u.StartOver(by, func(st *state.State) { st.FormatVersion = state.FormatVersion })
		if err != nil {
			return err
		}
		m.Kept = append(m.Kept, kept)
	}
	for _, id := range m.Checkpoints {
		if err := migrateCheckpoint(s, prd, id); err != nil {
			return err
		}
	}
	return nil
}

// keepOld gives the files that are about to be replaced a second name, in a backup
// directory.
func keepOld(s *checkpoint.Store, prd string, m *Migrated) error {
	dir := filepath.Join(s.Layout().PRDDir(prd), backupExt+m.From)
	for _, sub := range []string{"", disk.CheckpointsDir} {
		if err := store.MkdirAll(s.FS(), filepath.Join(dir, sub)); err != nil {
			return err
		}
		if err := s.Layout().CheckDir(filepath.Join(dir, sub)); err != nil {
			return err
		}
	}
	m.Kept = append(m.Kept, filepath.Base(dir))
	for _, id := range m.Checkpoints {
		paths, err := s.Layout().CheckpointsIn(s.Layout().PRDDir(prd)).Paths(id)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := keepFile(s, path, filepath.Join(dir, disk.CheckpointsDir, filepath.Base(path))); err != nil {
				return err
			}
		}
	}
	document := s.Layout().DocumentPath(prd)
	if err := keepFile(s, document, filepath.Join(dir, filepath.Base(document))); err != nil {
		return err
	}
	if err := keepFile(s, s.Layout().ManifestPath(prd), filepath.Join(dir, disk.ManifestName)); err != nil {
		return err
	}
	for _, sub := range []string{disk.CheckpointsDir, ""} {
		if err := s.FS().SyncDir(filepath.Join(dir, sub)); err != nil {
			return err
		}
	}
	return nil
}

// keepFile gives a file a second name. It copies the file if hard links don't work. If the
// second name exists it is left: that is the older file.
func keepFile(s *checkpoint.Store, path, to string) error {
	if kept, err := store.Exists(s.Layout().FS, to); err != nil || kept {
		return err
	}
	if there, err := store.Exists(s.Layout().FS, path); err != nil || !there {
		return err
	}
	if err := s.FS().Link(path, to); err == nil {
		return nil
	}
	data, err := store.ReadFile(s.FS(), path)
	if err != nil {
		return err
	}
	return store.WriteFile(s.FS(), to, data)
}

// migrateCheckpoint rewrites a checkpoint's file in the current version. It leaves missing
// and damaged files.
func migrateCheckpoint(s *checkpoint.Store, prd, id string) error {
	files := s.Layout().CheckpointsIn(s.Layout().PRDDir(prd))
	stored, err := files.Read(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := stored.Decode()
	if err != nil {
		return nil //nolint:nilerr // damaged: it stays as it is, for people and for rebuilding
	}
	f.FormatVersion, f.State.FormatVersion = state.FormatVersion, state.FormatVersion
	state, err := disk.EncodeState(f.State)
	if err != nil {
		return err
	}
	parts, err := disk.EncodeCheckpoint(*f, state)
	if err != nil {
		return err
	}
	return files.Replace(stored, parts...)
}
