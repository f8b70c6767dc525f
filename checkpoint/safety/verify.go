package safety

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace"
)

// Verified is what Verify found.
type Verified struct {
	Contents int                 // how many contents were read
	Missing  []workspace.Missing // those that are lost or damaged
	HashOK   bool                // the recomputed hash is the recorded one
}

// OK reports whether the whole checkpoint can be restored.
func (v *Verified) OK() bool { return len(v.Missing) == 0 && v.HashOK }

// Verify reads everything that a checkpoint copied, and compares it with the recorded
// hashes. It takes no lock and changes nothing.
func (s *Store) Verify(ctx context.Context, w *workspace.Workspace, c *Checkpoint) (*Verified, error) {
	v := &Verified{}
	var l *workspace.Listing
	var err error
	if c.Files != nil {
		if l, err = w.Load(ctx, c.Files.Listing); err != nil {
			if !objects.IsLost(err) {
				return nil, fmt.Errorf("verify %s: %w", c.ID, err)
			}
			v.Missing = []workspace.Missing{{Path: "the list of its files", Reason: objects.LostMessage(err)}}
			return v, nil
		}
		v.Contents = len(l.Entries)
		if v.Missing, err = c.Files.view(w).Contents().Lost(ctx, l.Entries, true); err != nil {
			return nil, fmt.Errorf("verify %s: %w", c.ID, err)
		}
	}
	if c.Keys != nil {
		v.Contents += len(c.Keys.Values)
	}
	v.HashOK = hashOf(l, c.Keys) == c.Hash
	return v, nil
}
