package checkpoint

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

// ErrUnfinishedImport reports that not all files of an imported session were restored.
var ErrUnfinishedImport = errors.New("an import is not finished")

// PendingImport is an import that was started and not finished. Its session is in place,
// or will be after the next lock; its files may not be restored.
type PendingImport struct {
	FormatVersion string      `json:"format_version"`
	Session       string      `json:"session"`
	Seq           uint64      `json:"seq"`       // last commit of the imported session
	Archive       state.Text  `json:"archive"`   // name of the archive; "" if no files are to be restored
	Overwrite     bool        `json:"overwrite"` // replace files that differ
	By            state.Actor `json:"by"`
	Time          time.Time   `json:"time"`

	Damage *state.DamagedError `json:"-"` // why the note can't be read, so that the other fields are empty; nil if it can
}

// PendingImport returns the interrupted import of a PRD, nil if there is none. It takes no
// lock. If the note is damaged it still tells that there was an import: PendingImport
// returns it with Damage set and no error, since the session is not affected.
func (s *Store) PendingImport(prd string) (*PendingImport, error) {
	from := s.layout.ImportingPath(prd)
	p, err := s.readPending(prd, filepath.Join(from, disk.ImportingName))
	if p != nil || err != nil {
		return p, err
	}
	there, err := s.layout.Exists(filepath.Join(from, disk.JournalName))
	if err != nil {
		return nil, fmt.Errorf("look for an import of %s: %w", prd, err)
	}
	if there {
		return &PendingImport{}, nil
	}
	return s.readPending(prd, s.layout.PendingPath(prd))
}

func (s *Store) readPending(prd, path string) (*PendingImport, error) {
	data, err := store.ReadFile(s.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for an import of %s: %w", prd, err)
	}
	var newer *state.VersionError
	if err = disk.CheckVersion(path, data); errors.As(err, &newer) {
		return nil, newer
	}
	var p PendingImport
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return &PendingImport{Damage: &state.DamagedError{
			Path: path, Detail: err.Error(), Remedy: "`runner checkpoint import FILE` again, or, if no files are missing, remove that one",
		}}, nil
	}
	return &p, nil
}

// pending returns the note about the files to restore, nil if there are none.
func (i *Import) pending(by state.Actor, o PlaceOptions) *PendingImport {
	if o.Files == nil || len(o.Files.changes(o.Overwrite)) == 0 {
		return nil
	}
	return &PendingImport{
		FormatVersion: state.FormatVersion, Session: i.Session, Seq: i.Seq, Archive: state.Text(i.path), Overwrite: o.Overwrite, By: by, Time: i.store.now(),
	}
}

// writePending writes the note of a pending import into a session's directory, durably. If
// p is nil it removes the note of an earlier import.
func (s *Store) writePending(dir string, p *PendingImport) error {
	path := filepath.Join(dir, disk.ImportingName)
	if p == nil {
		if there, err := s.layout.Exists(path); err != nil || !there {
			return err
		}
		return s.removeDurably(path)
	}
	data, err := state.EncodeJSON(p)
	if err != nil {
		return fmt.Errorf("encode what is imported: %w", err)
	}
	return store.WriteFile(s.fs, path, append(data, '\n'))
}

// FinishImport restores the remaining files of an interrupted import. If there is no such
// import it does nothing and returns nil. It leaves files that only the workspace has, and
// files that differ unless the import was to overwrite them. It gives up an import whose
// commit is no longer in the journal because the journal was started over.
func (x *Session) FinishImport(ctx context.Context, w *workspace.Workspace) (*RestoredFiles, error) {
	p, err := x.store.PendingImport(x.prd)
	if err != nil || p == nil {
		return nil, err
	}
	done := &RestoredFiles{}
	if x.live != nil && (p.Damage != nil || x.State().Session == p.Session) {
		if err := x.finishPending(ctx, w, p, done); err != nil {
			return done, fmt.Errorf("finish the import of %s: %w", x.prd, err)
		}
	}
	return done, x.store.writePending(x.store.layout.PRDDir(x.prd), nil)
}

func (x *Session) finishPending(ctx context.Context, w *workspace.Workspace, p *PendingImport, done *RestoredFiles) error {
	if p.Damage != nil {
		return p.Damage
	}
	files, err := x.importedFiles(ctx, w, p.Seq)
	if errors.Is(err, ErrCommitGone) {
		done.GivenUp = true
		return nil
	}
	if err != nil {
		return err
	}
	return x.restoreImported(ctx, w, files, p.Overwrite, done)
}

// importedFiles compares the workspace with the files at the commit at which the session
// was imported. It does not use the current state, since an interrupted overwrite may have
// captured files after that commit.
func (x *Session) importedFiles(ctx context.Context, w *workspace.Workspace, seq uint64) (*ImportFiles, error) {
	state := x.State()
	var err error
	if state.Seq != seq {
		state, err = x.store.StateAfter(x.store.layout.PRDDir(x.prd), x.prd, seq)
	}
	if err != nil {
		return nil, err
	}
	var lost []string
	if c := state.Capture; c != nil {
		there, err := x.store.Objects().Has(c.Listing)
		if err != nil {
			return nil, err
		}
		if !there {
			lost = append(lost, c.Listing)
		}
	}
	return planImported(ctx, w, state, lost, objectSource(x.store))
}

// changes returns the changes that restoring makes, sorted by path. Files that look
// sensitive are never overwritten, since no checkpoint holds them.
func (f *ImportFiles) changes(overwrite bool) []workspace.Change {
	changes := slices.Clone(f.Absent)
	for _, c := range f.Differ {
		if overwrite && !workspace.Sensitive(c.Path) {
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b workspace.Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}
