package checkpoint

import (
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/store"
)

// makePRDLayout creates the directories of a session.
func (s *Store) makePRDLayout(prd string) error {
	var dirs []string
	for _, name := range []string{"", disk.LogsDir, disk.RunDir, disk.InboxDir} {
		dirs = append(dirs, filepath.Join(s.layout.PRDDir(prd), name))
	}
	if s.o.Policy.Enabled {
		dirs = append(dirs, filepath.Join(s.layout.PRDDir(prd), disk.CheckpointsDir))
	}
	return store.MkdirAll(s.fs, dirs...)
}
