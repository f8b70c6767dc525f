package checkpoint

import (
	"crypto/rand"
	"path/filepath"

	"prdrunner/checkpoint/store"
)

// What is deleted whole is renamed into the trash first: that is the moment at
// which it is gone, and a crash later leaves nothing half there. Collecting
// empties the trash, last of all: the journals in it tell which git references
// go with them.

// discard moves a directory into the trash.
func (s *Store) discard(prd, dir string) error {
	if err := store.MkdirAll(s.fs, s.layout.TrashPath()); err != nil {
		return err
	}
	return s.move(prd, dir, filepath.Join(s.layout.TrashPath(), rand.Text()))
}
