package disk

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Manifest lists a session's checkpoints. It is derived from the state and written again
// if it is missing or damaged.
type Manifest struct {
	FormatVersion string                 `json:"format_version"`
	PRD           string                 `json:"prd"`
	Session       string                 `json:"session"`
	Seq           uint64                 `json:"seq"` // the commit that it was derived at
	Topic         string                 `json:"topic"`
	CreatedAt     time.Time              `json:"created_at"` // of the session
	Checkpoints   []*state.CheckpointRef `json:"checkpoints"`
	Current       string                 `json:"current_checkpoint,omitempty"` // where the session stands; "" if that checkpoint was removed
	Latest        string                 `json:"latest,omitempty"`             // the newest of all
	Total         int                    `json:"total"`
	Rollbacks     []state.RollbackRecord `json:"rollback_history"`
}

// NewManifest derives the manifest of a state.
func NewManifest(s *state.State) Manifest {
	m := Manifest{
		FormatVersion: state.FormatVersion,
		PRD:           s.PRD,
		Session:       s.Session,
		Seq:           s.Seq,
		Topic:         s.Title,
		CreatedAt:     s.CreatedAt,
		Checkpoints:   s.Checkpoints,
		Total:         len(s.Checkpoints),
		Rollbacks:     append([]state.RollbackRecord{}, s.Rollbacks...),
	}
	if s.Checkpoint(s.Current) != nil {
		m.Current = s.Current
	}
	if n := len(s.Checkpoints); n > 0 {
		m.Latest = s.Checkpoints[n-1].ID
	}
	return m
}

func (m Manifest) Encode() ([]byte, error) {
	data, err := state.EncodeJSON(m)
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	return state.Seal(data), nil
}

func (l *Layout) ReadManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, ManifestName)
	data, err := store.ReadFile(l.FS, path)
	if err != nil {
		return nil, err
	}
	return DecodeManifest(path, data)
}

// DecodeManifest reads a manifest. A newer version is a *VersionError.
func DecodeManifest(path string, data []byte) (*Manifest, error) {
	if err := CheckSealed(path, data); err != nil {
		return nil, fmt.Errorf("decode the manifest: %w", err)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("decode the manifest: %w", err)
	}
	return &m, nil
}
