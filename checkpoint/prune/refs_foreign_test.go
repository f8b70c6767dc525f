package prune_test

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/store"
)

// TestForeignRefs: a copy of a state directory must list the git references of the
// original as foreign, and must keep those that its own session needs. RemoveForeignRefs
// must remove only the other references of the given id.
func TestForeignRefs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := checkpointtest.NewGitProject(t, map[string]string{"user.txt": "first"})
	needed := p.Session.State().Capture.Ref
	dir := path.Dir(needed)
	original := dir[len(dir)-disk.RefsIDSize:]
	unneeded := dir + "/99"
	const gone = "00000000" // sorts before every other id
	ofGone := strings.TrimSuffix(dir, original) + gone + "/98"
	p.Git("update-ref", unneeded, needed)
	p.Git("update-ref", ofGone, needed)
	refs := func() []string {
		all, err := p.Workspace.Repository().Refs(ctx, "refs/runner")
		checkpointtest.Must(t, err)
		var names []string
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	same := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -want +got\n%s", what, diff)
		}
	}

	// The state directory that made the references owns them.
	found, err := prune.FindForeignRefs(ctx, p.Open(), p.Workspace)
	checkpointtest.Must(t, err)
	same("in the original", found, []prune.ForeignRefs{{ID: gone, Refs: []string{ofGone}}})
	var locked *checkpoint.LockedError
	if _, err := prune.RemoveForeignRefs(ctx, p.Open(), p.Workspace, gone); !errors.As(err, &locked) {
		t.Errorf("removed while a session was locked: %v", err)
	}

	// In a copy of the directory, the original's id does not count.
	memory := p.FS.(*store.Memory).Crash()
	s := checkpointtest.On(t, memory, p.Dir).Open()
	checkpointtest.Must(t, memory.Remove(s.Layout().RefsIDPath("PRD-009")))
	found, err = prune.FindForeignRefs(ctx, s, p.Workspace)
	checkpointtest.Must(t, err)
	ofOriginal := prune.ForeignRefs{ID: original, Refs: []string{needed, unneeded}, Kept: []string{needed}}
	same("in the copy", found, []prune.ForeignRefs{{ID: gone, Refs: []string{ofGone}}, ofOriginal})

	// Without a git repository there are no foreign references.
	plain := checkpointtest.NewProject(t, memory)
	for _, w := range []struct {
		name  string
		found func() ([]prune.ForeignRefs, error)
	}{
		{"no workspace", func() ([]prune.ForeignRefs, error) { return prune.FindForeignRefs(ctx, s, nil) }},
		{"no repository", func() ([]prune.ForeignRefs, error) { return prune.FindForeignRefs(ctx, s, plain.Workspace(s)) }},
	} {
		found, err := w.found()
		checkpointtest.Must(t, err)
		same(w.name, found, []prune.ForeignRefs{})
	}

	for _, step := range []struct {
		id   string
		done prune.ForeignRefs
		left []string
	}{
		{"ffffffff", prune.ForeignRefs{}, []string{ofGone, needed, unneeded}},
		{gone, prune.ForeignRefs{ID: gone, Refs: []string{ofGone}}, []string{needed, unneeded}},
		{gone, prune.ForeignRefs{}, []string{needed, unneeded}},
		{original, ofOriginal, []string{needed}},
	} {
		done, err := prune.RemoveForeignRefs(ctx, s, p.Workspace, step.id)
		checkpointtest.Must(t, err)
		same("removed of "+step.id, done, step.done)
		same("remaining references after removing "+step.id, refs(), step.left)
	}
}
