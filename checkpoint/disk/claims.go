package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Claim is the newest commit that a derived file names. A derived file is written after
// its commit is durable, so a journal that ends before the claimed commit has lost
// acknowledged events.
type Claim struct {
	Path    string
	Session string
	Seq     uint64
}

// ReadDocument returns the PRD document, nil if there is none.
func (l *Layout) ReadDocument(prd string) (*document.File, error) {
	path := l.DocumentPath(prd)
	data, err := store.ReadFile(l.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := document.Decode(data)
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

// ReadClaims returns the claims of a session's document and manifest. A damaged file
// makes no claim, since Runner rebuilds both from the journal. A file that can't be read
// may make any claim, and is an error. A manifest of a newer version is a *VersionError,
// since rebuilding the manifest would overwrite it.
func (l *Layout) ReadClaims(prd, dir string, d *document.File) ([]Claim, error) {
	var found []Claim
	if d != nil && d.Runner != nil && d.Intact() {
		found = append(found, Claim{l.DocumentPath(prd), d.Runner.Session, d.Runner.Seq})
	}
	path := filepath.Join(dir, ManifestName)
	data, err := store.ReadFile(l.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil { // it may name a commit that the journal has lost
		return nil, fmt.Errorf("read the index of the checkpoints, which is made again where it is missing: %w", err)
	}
	err = CheckSealed(path, data)
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
func claimOf(path string, sealed []byte) (Claim, error) {
	c := Claim{Path: path}
	return c, ReadFields(sealed, map[string]any{"session": &c.Session, "seq": &c.Seq})
}

// CheckpointClaims returns the claims of the checkpoint files whose checkpoints the state
// does not have. Either a killed runner wrote such a file just before it ended, or the
// journal lost its commit. A file that was removed meanwhile makes no claim.
func (l *Layout) CheckpointClaims(dir string, ids []string, known *state.State) ([]Claim, error) {
	files := l.CheckpointsIn(dir)
	var found []Claim
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
