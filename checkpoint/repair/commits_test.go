package repair_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
)

// TestRebuildCommits removes the reference or the commit that keeps the files of a
// checkpoint in git, or marks the checkpoint as damaged. A rebuild must repair the
// checkpoint.
func TestRebuildCommits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, tt := range map[string]struct {
		damage func(p *checkpointtest.GitProject, id string)
		was    string           // part of the only problem before; "": nothing is rebuilt
		git    validate.Finding // afterwards
		object bool             // the file is an object afterwards
	}{
		"nothing":       {func(*checkpointtest.GitProject, string) {}, "", validate.FoundOK, false},
		"the reference": {func(p *checkpointtest.GitProject, _ string) { deleteRefs(p) }, "no reference keeps commit", validate.FoundOK, false},
		"the commit": {
			func(p *checkpointtest.GitProject, _ string) {
				deleteRefs(p)
				p.Git("gc", "--quiet", "--prune=now") // the commit of the user keeps the file
			},
			"is not in git", validate.FoundNone, true,
		},
		"a mark": {
			func(p *checkpointtest.GitProject, id string) {
				checkpointtest.Must(p.T, validate.MarkDamaged(ctx, p.Session, id, "flipped"))
			},
			"it is marked as damaged", validate.FoundOK, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := checkpointtest.NewGitProject(t, map[string]string{"a": "first"})
			p.Git("add", "a")
			p.Git("-c", "user.name=ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "-m", "one")
			made, err := p.Session.Create(ctx, p.Workspace, "")
			checkpointtest.Must(t, err)
			tt.damage(p, made.ID)
			rebuilt, err := repair.RebuildCheckpoints(ctx, p.Session, p.Workspace, []string{made.ID})
			checkpointtest.Must(t, err)
			switch {
			case tt.was == "":
				if len(rebuilt) > 0 {
					t.Errorf("rebuilt %+v", rebuilt)
				}
			case len(rebuilt) != 1 || !rebuilt[0].Whole() || len(rebuilt[0].Was) != 1 || !strings.Contains(string(rebuilt[0].Was[0]), tt.was):
				t.Errorf("rebuilt %+v, want %q", rebuilt, tt.was)
			}
			v, err := validate.Run(ctx, p.Session.Store(), p.Workspace, validate.Options{Refs: []string{made.ID}})
			checkpointtest.Must(t, err)
			if c := v.Sessions[0].Checkpoints[0]; c.Git != tt.git || c.Mendable() {
				t.Errorf("afterwards: %+v", c)
			}
			if there, err := p.Session.Store().Objects().Has(checkpointtest.DigestText("first")); err != nil || there != tt.object {
				t.Errorf("the object exists: %t, %v", there, err)
			}
		})
	}
}

// TestRebuildFromBlob removes an object. A rebuild must take its bytes from the git blob
// of another capture.
func TestRebuildFromBlob(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.NewGitProject(t, map[string]string{"a": "first"})
	w, err := p.Session.Store().OpenWorkspace(p.Root, nil, workspace.GitOff)
	checkpointtest.Must(t, err)
	_, err = p.Session.Capture(ctx, w, []string{"a"})
	checkpointtest.Must(t, err)
	id := checkpointtest.Mark(t, p.Session, state.TriggerManual)
	checkpointtest.Must(t, w.Close())
	object, _, err := p.Session.Store().Objects().Path(checkpointtest.DigestText("first"))
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, p.FS.Remove(object))
	p.Put(map[string]string{"a": "second"})
	rebuilt, err := repair.RebuildCheckpoints(ctx, p.Session, p.Workspace, nil)
	checkpointtest.Must(t, err)
	if len(rebuilt) != 1 || rebuilt[0].ID != id || !rebuilt[0].Whole() || len(rebuilt[0].Files) != 1 || rebuilt[0].Files[0] != "a" {
		t.Errorf("rebuilt %+v", rebuilt)
	}
}

// deleteRefs deletes the references that keep captures.
func deleteRefs(p *checkpointtest.GitProject) {
	p.T.Helper()
	c := exec.Command("git", "for-each-ref", "--format=%(refname)", "refs/runner")
	c.Dir = p.Root
	out, err := c.Output()
	checkpointtest.Must(p.T, err)
	for _, ref := range strings.Fields(string(out)) {
		p.Git("update-ref", "-d", ref)
	}
}
