package checkpoint

import (
	"crypto/rand"
	"path/filepath"

	"prdrunner/checkpoint/store"
)

// Runner deletes a directory by renaming it into the trash first. The rename makes the
// deletion atomic: a crash leaves no half-deleted directory. Collect empties the trash
// last, because its journals tell which git references to remove.

// discard moves a directory into the trash, durably.
func (s *Store) discard(prd, dir string) error {
	if err := store.MkdirAll(s.fs, s.layout.TrashPath()); err != nil {
		return err
	}
	return s.move(prd, dir, filepath.Join(s.layout.TrashPath(), rand.Text()))
}
