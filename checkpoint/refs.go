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

// makeRefsID returns the ID for the session's references. The first time it creates the
// ID, which is durable before the name of a new capture's reference contains it. It
// updates the stored description of the directory, so that the next move or mount is
// recognized from there.
//
// If this state directory is a copy, the session's existing captures get new references
// with the new ID: the original directory removes its own references as soon as it no
// longer needs them.
func (x *Session) makeRefsID(ctx context.Context, git *git.Repository) (string, error) {
	name := disk.EncodeName(x.prd)
	kept, here, err := x.store.layout.ReadRefsOwner(name)
	if err != nil || kept.ID != "" && kept == here {
		return kept.ID, err
	}
	if kept.ID != "" {
		return kept.ID, x.store.layout.WriteRefsOwner(name, here)
	}
	owner, err := x.store.layout.OwnerOfRefs(uuid.NewString()[:disk.RefsIDSize])
	if err != nil {
		return "", err
	}
	if err := git.KeepCommits(ctx, keptCommits(x.State(), owner.ID)); err != nil {
		return "", fmt.Errorf("keep the captures of %s in git: %w", x.prd, err)
	}
	return owner.ID, x.store.layout.WriteRefsOwner(name, owner)
}

// keepRefs creates the missing references of the session's captures again, as MakeRefs
// does. It reports whether git has lost the commit of the last capture.
func (x *Session) keepRefs(ctx context.Context, git *git.Repository) (lost bool, err error) {
	s := x.State()
	if git == nil || s.Capture == nil || s.Capture.Commit == "" || s.Capture.OnBranch() {
		return false, nil
	}
	if err := x.MakeRefs(ctx, git); err != nil {
		return false, err
	}
	exists, err := git.CommitExists(ctx, s.Capture.Commit)
	return !exists, err
}

// MakeRefs creates the references again that keep the session's captures in git and are
// missing, for the commits that git still has.
func (x *Session) MakeRefs(ctx context.Context, git *git.Repository) error {
	s := x.State()
	id, err := x.makeRefsID(ctx, git)
	if err != nil {
		return err
	}
	there, err := git.Refs(ctx, path.Dir(disk.CaptureRef(s, id, 0)))
	if err != nil {
		return err
	}
	gone := keptCommits(s, id)
	maps.DeleteFunc(gone, func(ref, _ string) bool { return there[ref] != "" })
	return git.KeepCommits(ctx, gone)
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
