package checkpoint

import (
	"context"
	"fmt"
	"maps"
	"path"

	"github.com/google/uuid"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace/git"
)

// captureRefs are the references in git that keep the commits of captures.
type captureRefs struct {
	layout *disk.Layout
	git    *git.Repository
}

// makeID returns the ID for the session's references. The first time it creates the
// ID, which is durable before the name of a new capture's reference contains it. It
// updates the stored description of the directory, so that the next move or mount is
// recognized from there.
//
// If this state directory is a copy, the session's existing captures get new references
// with the new ID: the original directory removes its own references as soon as it no
// longer needs them.
func (r captureRefs) makeID(ctx context.Context, s *state.State) (string, error) {
	name := disk.EncodeName(s.PRD)
	kept, here, err := r.layout.ReadRefsOwner(name)
	if err != nil || kept.ID != "" && kept == here {
		return kept.ID, err
	}
	if kept.ID != "" {
		return kept.ID, r.layout.WriteRefsOwner(name, here)
	}
	owner, err := r.layout.OwnerOfRefs(uuid.NewString()[:disk.RefsIDSize])
	if err != nil {
		return "", err
	}
	if err := r.git.KeepCommits(ctx, keptCommits(s, owner.ID)); err != nil {
		return "", fmt.Errorf("keep the captures of %s in git: %w", s.PRD, err)
	}
	return owner.ID, r.layout.WriteRefsOwner(name, owner)
}

// restore creates the references of the session's captures again that are missing, for the
// commits that git still has. It reports whether git has lost the commit of the last
// capture.
func (r captureRefs) restore(ctx context.Context, s *state.State) (lost bool, err error) {
	if r.git == nil || s.Capture == nil || s.Capture.Commit == "" || s.Capture.OnBranch() {
		return false, nil
	}
	if err := r.makeMissing(ctx, s); err != nil {
		return false, err
	}
	exists, err := r.git.CommitExists(ctx, s.Capture.Commit)
	return !exists, err
}

func (r captureRefs) makeMissing(ctx context.Context, s *state.State) error {
	id, err := r.makeID(ctx, s)
	if err != nil {
		return err
	}
	there, err := r.git.Refs(ctx, path.Dir(disk.CaptureRef(s, id, 0)))
	if err != nil {
		return err
	}
	gone := keptCommits(s, id)
	maps.DeleteFunc(gone, func(ref, _ string) bool { return there[ref] != "" })
	return r.git.KeepCommits(ctx, gone)
}

// MakeRefs creates the references again that keep the session's captures in git and are
// missing, for the commits that git still has.
func (x *Session) MakeRefs(ctx context.Context, git *git.Repository) error {
	return captureRefs{&x.store.layout, git}.makeMissing(ctx, x.State())
}

// keptCommits returns the commits that a session's captures need, by the name of the
// reference, with the given ID, that keeps each.
func keptCommits(s *state.State, id string) map[string]string {
	commits := map[string]string{}
	add := func(c *state.Capture) {
		if c != nil && c.Ref != "" && c.Commit != "" {
			commits[path.Join(path.Dir(disk.CaptureRef(s, id, c.Seq)), path.Base(c.Ref))] = c.Commit
		}
	}
	add(s.Capture)
	add(s.RunCapture)
	for _, ref := range s.Checkpoints {
		add(ref.Capture)
	}
	return commits
}
