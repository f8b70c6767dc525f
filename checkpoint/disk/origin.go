package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Origin is a note about an imported session: which commits come from another workspace,
// and which files this workspace had that the session did not. No capture up to Seq tells
// about those files.
type Origin struct {
	FormatVersion string `json:"format_version"`
	Session       string `json:"session"`
	Seq           uint64 `json:"seq"` // last commit when the session was imported
	OwnFiles
}

// OwnFiles are the files that a workspace had when a session was imported and that do not
// belong to the session.
type OwnFiles struct {
	Looked bool         `json:"looked"` // false: the workspace was not searched
	Git    bool         `json:"git"`    // git was searched, too
	Own    []state.Text `json:"own"`
}

// ReadOrigin returns the origin note of a PRD's current session, nil if the session was not
// imported.
func (l *Layout) ReadOrigin(of *state.State) (*Origin, error) {
	path := filepath.Join(l.PRDDir(of.PRD), OriginName)
	data, err := store.ReadFile(l.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // documented above
	}
	if err != nil {
		return nil, fmt.Errorf("look for where the session of %s comes from: %w", of.PRD, err)
	}
	var newer *state.VersionError
	if err = CheckVersion(path, data); errors.As(err, &newer) {
		return nil, newer
	}
	var o Origin
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return nil, &state.DamagedError{Path: path, Detail: err.Error(), Remedy: "import the session again; without that file a rollback deletes what its target lacks, also what was here before the import"}
	}
	if o.Session != of.Session {
		return nil, nil //nolint:nilnil // it is of the session before
	}
	return &o, nil
}
