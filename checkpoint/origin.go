package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/store"
)

// originName is the note of where a session was imported. It stays with the
// session as long as that is here.
const originName = "origin.json"

// origin tells which part of a session comes from another workspace: what its
// captures lack, up to that commit, was not there, which says nothing of here.
type origin struct {
	FormatVersion string `json:"format_version"`
	Session       string `json:"session"`
	Seq           uint64 `json:"seq"` // at which it stood when it was imported
}

// writeOrigin puts the note into the directory of an imported session.
func (i *Import) writeOrigin(dir string) error {
	data, err := marshal(origin{FormatVersion: FormatVersion, Session: i.Session, Seq: i.Seq})
	if err != nil {
		return fmt.Errorf("encode where a session comes from: %w", err)
	}
	return store.WriteFile(i.store.fs, filepath.Join(dir, originName), append(data, '\n'))
}

// importedUpTo returns the commit up to which a session was imported, 0 if it
// was not.
func (s *Store) importedUpTo(st *State) (uint64, error) {
	path := filepath.Join(s.prdDir(st.PRD), originName)
	data, err := store.ReadFile(s.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for where the session of %s comes from: %w", st.PRD, err)
	}
	var o origin
	if err := json.Unmarshal(data, &o); err != nil {
		return 0, &DamagedError{Path: path, Detail: err.Error(), Remedy: "remove that file; a rollback deletes then what the target does not know, also where the session was imported since"}
	}
	if !readable(o.FormatVersion) {
		return 0, &VersionError{Path: path, Version: "format version " + o.FormatVersion}
	}
	if o.Session != st.Session {
		return 0, nil
	}
	return o.Seq, nil
}
