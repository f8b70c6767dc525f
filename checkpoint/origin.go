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

// origin tells which part of a session comes from another workspace, and what
// this one had besides: no capture up to that commit says anything of it.
type origin struct {
	FormatVersion string `json:"format_version"`
	Session       string `json:"session"`
	Seq           uint64 `json:"seq"` // at which it stood when it was imported
	ownFiles
}

// ownFiles are the files that a workspace had when a session was imported, and
// that are none of the session's.
type ownFiles struct {
	Looked bool         `json:"looked"` // false: nobody looked for them
	Git    bool         `json:"git"`    // it was looked in git, too
	Own    []state.Text `json:"own"`
}

// lookForOwn finds them. session are the paths at which the workspace has what
// the session has.
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

// writeOrigin puts the note into the directory of a session that is imported.
func (i *Import) writeOrigin(dir string, own ownFiles) error {
	data, err := state.EncodeJSON(origin{FormatVersion: state.FormatVersion, Session: i.Session, Seq: i.Seq, ownFiles: own})
	if err != nil {
		return fmt.Errorf("encode where a session comes from: %w", err)
	}
	return store.WriteFile(i.store.fs, filepath.Join(dir, disk.OriginName), append(data, '\n'))
}

// readOrigin returns where a session was imported from, nil if it was not.
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
