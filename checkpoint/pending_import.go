package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
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

// writePending writes the note of a pending import into a session's directory, durably. If
// p is nil it removes the note of an earlier import.
func (s *Store) writePending(dir string, p *PendingImport) error {
	path := filepath.Join(dir, disk.ImportingName)
	if p == nil {
		if there, err := s.layout.Exists(path); err != nil || !there {
			return err
		}
		return s.layout.RemoveDurably(path)
	}
	data, err := state.EncodeJSON(p)
	if err != nil {
		return fmt.Errorf("encode what is imported: %w", err)
	}
	return store.WriteFile(s.fs, path, append(data, '\n'))
}
