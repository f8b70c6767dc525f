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

// ErrUnfinishedImport says that the files of an imported session were not all
// restored.
var ErrUnfinishedImport = errors.New("an import is not finished")

// PendingImport is an import that was begun and not finished: its session is in
// place, or will be with the next lock, and its files may not be.
type PendingImport struct {
	FormatVersion string      `json:"format_version"`
	Session       string      `json:"session"`
	Seq           uint64      `json:"seq"`       // at which the imported session stands
	Archive       state.Text  `json:"archive"`   // as it was named; "": no files are to be restored
	Overwrite     bool        `json:"overwrite"` // files that differ are to be replaced
	By            state.Actor `json:"by"`
	Time          time.Time   `json:"time"`

	Damage *state.DamagedError `json:"-"` // why its note can't be read, so that nothing else is known; nil: it can
}

// PendingImport returns the import of a PRD that was cut short, nil if none
// was. It takes no lock. A note that is damaged says no more than that there was
// one: the session is none the worse for it.
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

// pending is the intent to restore files, nil where there are none to restore.
func (i *Import) pending(by state.Actor, o PlaceOptions) *PendingImport {
	if o.Files == nil || len(o.Files.changes(o.Overwrite)) == 0 {
		return nil
	}
	return &PendingImport{
		FormatVersion: state.FormatVersion, Session: i.Session, Seq: i.Seq, Archive: state.Text(i.path), Overwrite: o.Overwrite, By: by, Time: i.store.now(),
	}
}

// writePending puts the intent into a session's directory, durably; nil removes
// that of an earlier import.
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

// FinishImport restores the files that an import was cut short in restoring.
// Without one it does nothing and returns nil. What the workspace has besides,
// and what differs unless it was to be overwritten, stays. An import whose commit
// the journal does not have any more, since it was begun anew, is given up.
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
	if errors.Is(err, errCommitGone) {
		done.GivenUp = true
		return nil
	}
	if err != nil {
		return err
	}
	return x.restoreImported(ctx, w, files, p.Overwrite, done)
}

// importedFiles compares the workspace with the files at the commit at which
// the session was imported. What was overwritten may have been recorded since.
func (x *Session) importedFiles(ctx context.Context, w *workspace.Workspace, seq uint64) (*ImportFiles, error) {
	state := x.State()
	var err error
	if state.Seq != seq {
		state, err = x.store.stateAfter(x.prd, seq)
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

// changes are those that restoring makes: a file that looks sensitive is never
// overwritten, since it is in no checkpoint.
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
