package safety

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// Verified is what Verify found.
type Verified struct {
	Contents int                 // how many contents were read
	Missing  []workspace.Missing // those that are lost or damaged
	Refs     []LostRef           // references that git lacks
	HashOK   bool                // the recomputed hash is the recorded one
}

// LostRef is a reference in git that is gone, or names another commit. Without it, git
// removes the commit sooner or later.
type LostRef struct{ Ref, Commit string }

// OK reports whether the whole checkpoint can be restored.
func (v *Verified) OK() bool { return len(v.Missing)+len(v.Refs) == 0 && v.HashOK }

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
		if err := v.checkGit(ctx, w, c); err != nil {
			return nil, fmt.Errorf("verify %s: %w", c.ID, err)
		}
		v.Contents = len(l.Entries)
		lost, err := c.Files.view(w).Contents().Lost(ctx, l.Entries, true)
		if err != nil {
			return nil, fmt.Errorf("verify %s: %w", c.ID, err)
		}
		v.Missing = append(v.Missing, lost...)
	}
	if c.Keys != nil {
		v.Contents += len(c.Keys.Values)
	}
	if err := v.verifyDatabases(ctx, s, c.Databases); err != nil {
		return nil, fmt.Errorf("verify %s: %w", c.ID, err)
	}
	v.HashOK = hashOf(l, c.Keys, c.Databases) == c.Hash
	return v, nil
}

// checkGit checks the references and the commits of a checkpoint.
func (v *Verified) checkGit(ctx context.Context, w *workspace.Workspace, c *Checkpoint) error {
	wanted := map[string]string{}
	if c.Files.Ref != "" {
		wanted[c.Files.Ref] = c.Files.Commit
	}
	if g := c.Files.Git; g != nil {
		wanted[g.Ref] = g.Commit
		lost, err := lostIndex(ctx, w.Repository(), g)
		if err != nil {
			return err
		}
		v.Missing = append(v.Missing, lost...)
	}
	has := map[string]string{}
	if repo := w.Repository(); repo != nil && len(wanted) > 0 {
		var err error
		if has, err = repo.Refs(ctx, refsRoot+c.ID); err != nil {
			return err
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(wanted)) {
		if has[ref] != wanted[ref] {
			v.Refs = append(v.Refs, LostRef{ref, wanted[ref]})
		}
	}
	return nil
}

// lostIndex reports it if git no longer has the commit of the index.
func lostIndex(ctx context.Context, repo *git.Repository, g *Git) ([]workspace.Missing, error) {
	if repo == nil {
		return nil, nil // indexChanges reports it
	}
	there, err := repo.CommitExists(ctx, g.Index)
	if err != nil || there {
		return nil, err
	}
	return []workspace.Missing{{Path: "git's index", Reason: "git no longer has the commit " + g.Index}}, nil
}
