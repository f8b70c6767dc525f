package checkpoint

import (
	"context"
	"fmt"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/savepoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// Objects returns the object store of the state directory.
func (s *Store) Objects() *objects.Store {
	return objects.New(s.fs, filepath.Join(s.layout.Path, disk.ObjectsDir), objects.Options{Compress: s.o.Policy.Compress})
}

// Safety returns the store of the safety checkpoints in the state directory.
func (s *Store) Safety() *safety.Store {
	saved := &safety.Store{FS: s.fs, Dir: filepath.Join(s.layout.Path, disk.SafetyDir), Now: s.Now, Warn: s.o.Warn}
	if open := s.o.OpenDatabase; open != nil {
		saved.OpenDatabase = func(ctx context.Context, prd, name string) (*savepoint.Database, error) {
			return open(ctx, prd, name, s.Objects())
		}
	}
	return saved
}

// OpenWorkspace opens the directory in which pipelines run, excluding the state directory.
// git is nil outside a work tree.
func (s *Store) OpenWorkspace(dir string, git *git.Repository, mode workspace.GitMode) (*workspace.Workspace, error) {
	w, err := workspace.Open(workspace.Options{
		Dir: dir, Skip: []string{s.layout.Path}, Objects: s.Objects(), FS: s.fs, Cache: filepath.Join(s.layout.Path, disk.CacheName), Git: git, Mode: mode,
		Sensitive: s.o.Sensitive,
	})
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return w, nil
}

// Captures reports whether the files of the workspace are recorded. They are not if
// checkpoints are switched off.
func (s *Store) Captures() bool { return s.o.Policy.Enabled }
