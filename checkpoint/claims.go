package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// claim is the newest commit that a derived file names. A derived file is written after
// its commit is durable, so a journal that ends before the claimed commit has lost
// acknowledged events.
type claim struct {
	path    string
	session string
	seq     uint64
}

// readDocument returns the PRD document, nil if there is none.
func (s *Store) readDocument(prd string) (*state.Document, error) {
	path := s.layout.DocumentPath(prd)
	data, err := store.ReadFile(s.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := state.DecodeDocument(data)
	var version *state.VersionError
	switch {
	case errors.As(err, &version):
		return nil, &state.VersionError{Path: path, Version: version.Version}
	case err != nil:
		return nil, &state.DamagedError{Path: path, Detail: err.Error(), Remedy: "mend it, or remove it"}
	}
	d.ReadFrom(path)
	return &d, nil
}

// readClaims returns the claims of a session's document and manifest. A damaged file makes no
// claim, since Runner rebuilds both from the journal. A file that can't be read may make
// any claim, and is an error. A manifest of a newer version is a *VersionError, since
// rebuilding the manifest would overwrite it.
func (s *Store) readClaims(prd, dir string, d *state.Document) ([]claim, error) {
	var found []claim
	if d != nil && d.Runner != nil && d.Intact() {
		found = append(found, claim{s.layout.DocumentPath(prd), d.Runner.Session, d.Runner.Seq})
	}
	path := filepath.Join(dir, disk.ManifestName)
	data, err := store.ReadFile(s.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil { // it may name a commit that the journal has lost
		return nil, fmt.Errorf("read the index of the checkpoints, which is made again where it is missing: %w", err)
	}
	err = disk.CheckSealed(path, data)
	var newer *state.VersionError
	switch {
	case errors.As(err, &newer):
		return nil, newer
	case err == nil:
		if c, err := claimOf(path, data); err == nil {
			found = append(found, c)
		}
	}
	return found, nil
}

// claimOf returns the claim of a manifest or a checkpoint file.
func claimOf(path string, sealed []byte) (claim, error) {
	c := claim{path: path}
	return c, disk.ReadFields(sealed, map[string]any{"session": &c.session, "seq": &c.seq})
}

// checkpointClaims returns the claims of the checkpoint files whose checkpoints the state
// does not have. Either a killed runner wrote such a file just before it ended, or the
// journal lost its commit. A file that was removed meanwhile makes no claim.
func (s *Store) checkpointClaims(dir string, ids []string, known *state.State) ([]claim, error) {
	files := s.layout.CheckpointsIn(dir)
	var found []claim
	for _, id := range ids {
		if known != nil && known.Checkpoint(id) != nil {
			continue
		}
		stored, err := files.Read(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("check the checkpoints: %w", err)
		}
		if _, err := state.Unseal(stored.JSON); err != nil {
			continue // a damaged file proves nothing
		}
		if c, err := claimOf(stored.Path, stored.JSON); err == nil {
			found = append(found, c)
		}
	}
	return found, nil
}

// verifyClaims returns a *state.DamagedError if a derived file of the session claims a
// commit after the end of its journal.
func verifyClaims(t *journal.Tail, prd, path string, state *state.State, claims []claim) error {
	for _, c := range claims {
		if c.seq > t.Seq && (state == nil || c.session == state.Session) {
			return journal.DamagedLine(prd, path, t.Lines+1, fmt.Sprintf("it ends with commit %d, but %s names commit %d", t.Seq, c.path, c.seq))
		}
	}
	return nil
}
