package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// origin is a note about an imported session: which commits come from another workspace,
// and which files this workspace had that the session did not. No capture up to Seq tells
// about those files.
type origin struct {
	FormatVersion string `json:"format_version"`
	Session       string `json:"session"`
	Seq           uint64 `json:"seq"` // last commit when the session was imported
	ownFiles
}

// ownFiles are the files that a workspace had when a session was imported and that do not
// belong to the session.
type ownFiles struct {
	Looked bool         `json:"looked"` // false: the workspace was not searched
	Git    bool         `json:"git"`    // git was searched, too
	Own    []state.Text `json:"own"`
}

// lookForOwn returns the workspace's own files. session holds the paths at which the
// workspace has the same file as the session.
func lookForOwn(ctx context.Context, w *workspace.Workspace, patterns []string, session map[string]bool) (ownFiles, error) {
	names, err := w.Names(ctx, patterns)
	if err != nil {
		return ownFiles{}, fmt.Errorf("look at the workspace: %w", err)
	}
	found := ownFiles{Looked: true, Git: w.Git() != nil, Own: []state.Text{}}
	for _, path := range names {
		if !session[path] {
			found.Own = append(found.Own, state.Text(path))
		}
	}
	return found, nil
}

// writeOrigin writes the origin note into the directory of a session that is being
// imported.
func (i *Import) writeOrigin(dir string, own ownFiles) error {
	data, err := state.EncodeJSON(origin{FormatVersion: state.FormatVersion, Session: i.Session, Seq: i.Seq, ownFiles: own})
	if err != nil {
		return fmt.Errorf("encode where a session comes from: %w", err)
	}
	return store.WriteFile(i.store.fs, filepath.Join(dir, disk.OriginName), append(data, '\n'))
}

// readOrigin returns the origin note of a session, nil if the session was not imported.
func (s *Store) readOrigin(st *state.State) (*origin, error) {
	path := filepath.Join(s.layout.PRDDir(st.PRD), disk.OriginName)
	data, err := store.ReadFile(s.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // documented above
	}
	if err != nil {
		return nil, fmt.Errorf("look for where the session of %s comes from: %w", st.PRD, err)
	}
	var newer *state.VersionError
	if err = disk.CheckVersion(path, data); errors.As(err, &newer) {
		return nil, newer
	}
	var o origin
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return nil, &state.DamagedError{Path: path, Detail: err.Error(), Remedy: "import the session again; without that file a rollback deletes what its target lacks, also what was here before the import"}
	}
	if o.Session != st.Session {
		return nil, nil //nolint:nilnil // it is of the session before
	}
	return &o, nil
}
