package transfer

import (
	"context"
	"fmt"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// lookForOwn returns the workspace's own files. session holds the paths at which the
// workspace has the same file as the session.
func lookForOwn(ctx context.Context, w *workspace.Workspace, patterns []string, session map[string]bool) (disk.OwnFiles, error) {
	names, err := w.Names(ctx, patterns)
	if err != nil {
		return disk.OwnFiles{}, fmt.Errorf("look at the workspace: %w", err)
	}
	found := disk.OwnFiles{Looked: true, Git: w.Git() != nil, Own: []state.Text{}}
	for _, path := range names {
		if !session[path] {
			found.Own = append(found.Own, state.Text(path))
		}
	}
	return found, nil
}

// writeOrigin writes the origin note into the directory of a session that is being
// imported.
func (i *Import) writeOrigin(dir string, own disk.OwnFiles) error {
	data, err := state.EncodeJSON(disk.Origin{FormatVersion: state.FormatVersion, Session: i.Session, Seq: i.Seq, OwnFiles: own})
	if err != nil {
		return fmt.Errorf("encode where a session comes from: %w", err)
	}
	return store.WriteFile(i.store.FS(), filepath.Join(dir, disk.OriginName), append(data, '\n'))
}
