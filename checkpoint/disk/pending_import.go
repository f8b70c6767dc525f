package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

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

// InterruptedImport returns the interrupted import of a PRD, nil if there is none. It
// takes no lock. If the note is damaged it still tells that there was an import:
// InterruptedImport returns it with Damage set and no error, since the session is not
// affected.
func (l *Layout) InterruptedImport(prd string) (*PendingImport, error) {
	from := l.ImportingPath(prd)
	p, err := l.ReadPending(prd, filepath.Join(from, ImportingName))
	if p != nil || err != nil {
		return p, err
	}
	there, err := store.Exists(l.FS, filepath.Join(from, JournalName))
	if err != nil {
		return nil, fmt.Errorf("look for an import of %s: %w", prd, err)
	}
	if there {
		return &PendingImport{}, nil
	}
	return l.ReadPending(prd, l.PendingPath(prd))
}

// ReadPending reads the note of a pending import, nil if there is none.
func (l *Layout) ReadPending(prd, path string) (*PendingImport, error) {
	data, err := store.ReadFile(l.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for an import of %s: %w", prd, err)
	}
	var newer *state.VersionError
	if err = CheckVersion(path, data); errors.As(err, &newer) {
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

// WritePending writes the note of a pending import into a session's directory, durably. If
// p is nil it removes the note of an earlier import.
func (l *Layout) WritePending(dir string, p *PendingImport) error {
	path := filepath.Join(dir, ImportingName)
	if p == nil {
		if there, err := store.Exists(l.FS, path); err != nil || !there {
			return err
		}
		return store.RemoveDurably(l.FS, path)
	}
	data, err := state.EncodeJSON(p)
	if err != nil {
		return fmt.Errorf("encode what is imported: %w", err)
	}
	return store.WriteFile(l.FS, path, append(data, '\n'))
}
