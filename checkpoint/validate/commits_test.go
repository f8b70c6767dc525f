package validate_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
)

// TestCommits removes a reference, a commit or an object that keeps the files of a
// checkpoint in git, one at a time, and checks what a validation finds.
func TestCommits(t *testing.T) {
	t.Parallel()
	type want struct {
		objects, git    validate.Finding
		unkept          bool
		note, problem   string // part of the only note, "" if there is none; part of the problems
		whole, mendable bool
	}
	deleteRef := func(p *checkpointtest.GitProject) {
		for _, ref := range strings.Fields(gitSays(p, "for-each-ref", "--format=%(refname)", "refs/runner")) {
			p.Git("update-ref", "-d", ref)
		}
	}
	for name, tt := range map[string]struct {
		damage func(p *checkpointtest.GitProject)
		want   want
	}{
		"nothing": {
			func(*checkpointtest.GitProject) {},
			want{objects: validate.FoundOK, git: validate.FoundOK, whole: true},
		},
		"the reference": {
			deleteRef,
			want{objects: validate.FoundOK, git: validate.FoundNone, unkept: true, note: "no reference keeps commit", whole: true, mendable: true},
		},
		"the reference, and every file is an object": {
			func(p *checkpointtest.GitProject) {
				checkpointtest.Put(t, p.Session.Store(), "a", "first")
				deleteRef(p)
			},
			want{objects: validate.FoundOK, git: validate.FoundNone, note: "all of them are objects", whole: true},
		},
		"the commit": {
			func(p *checkpointtest.GitProject) {
				deleteRef(p)
				p.Git("gc", "--quiet", "--prune=now") // the commit of the user keeps the file
			},
			want{objects: validate.FoundOK, git: validate.FoundNone, unkept: true, note: "of its files is not in git: git may remove", whole: true, mendable: true},
		},
		"the commit and a file": {
			func(p *checkpointtest.GitProject) {
				packs, err := filepath.Glob(filepath.Join(p.Root, ".git", "objects", "pack", "*"))
				checkpointtest.Must(p.T, err)
				for _, pack := range packs {
					checkpointtest.Must(p.T, os.Remove(pack))
				}
			},
			want{objects: validate.FoundBad, git: validate.FoundBad, problem: "of its files is not in git", mendable: true},
		},
		"the commit of the user": {
			func(p *checkpointtest.GitProject) {
				checkpointtest.DamageLoose(t, p.Root, gitSays(p, "rev-parse", "HEAD"), "deleted")
			},
			want{objects: validate.FoundOK, git: validate.FoundOK, note: "where git stood, is no longer there", whole: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			p := checkpointtest.NewGitProject(t, map[string]string{"a": "first"})
			p.Git("add", "a")
			p.Git("-c", "user.name=ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "-m", "one")
			made, err := p.Session.Create(ctx, p.Workspace, "")
			checkpointtest.Must(t, err)
			tt.damage(p)
			v, err := validate.Run(ctx, p.Session.Store(), p.Workspace, validate.Options{Refs: []string{made.ID}})
			checkpointtest.Must(t, err)
			c := v.Sessions[0].Checkpoints[0]
			got := want{
				objects: c.Objects, git: c.Git, unkept: c.Unkept != "", note: tt.want.note, problem: tt.want.problem,
				whole: c.Whole(), mendable: c.Mendable(),
			}
			if got != tt.want || !onlyOne(c.Notes, tt.want.note) || !strings.Contains(c.Reason(), tt.want.problem) {
				t.Errorf("found %+v\nnotes %q\nproblems %q\nwant %+v", got, c.Notes, c.Problems, tt.want)
			}
		})
	}
}

// TestCommitWithoutAReference: a capture that records no reference needs none to be
// whole, as long as git has its commit.
func TestCommitWithoutAReference(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.NewGitProject(t, map[string]string{"a": "first"})
	p.Git("add", "a")
	p.Git("-c", "user.name=ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "-m", "one")
	_, err := p.Session.Capture(ctx, p.Workspace, nil)
	checkpointtest.Must(t, err)
	captured := state.WorkspaceCaptured{Capture: p.Session.State().Capture.Capture}
	p.Git("update-ref", "-d", captured.Ref)
	captured.Ref = ""
	checkpointtest.Commit(t, p.Session, captured)
	id := checkpointtest.Mark(t, p.Session, state.TriggerManual)
	v, err := validate.Run(ctx, p.Session.Store(), p.Workspace, validate.Options{Refs: []string{id}})
	checkpointtest.Must(t, err)
	if c := v.Sessions[0].Checkpoints[0]; c.Git != validate.FoundOK || c.Mendable() || len(c.Notes) > 0 {
		t.Errorf("found %+v", c)
	}
}

// onlyOne reports whether texts has one text, and that contains part; with the part "" it
// reports whether texts is empty.
func onlyOne(texts []string, part string) bool {
	if part == "" {
		return len(texts) == 0
	}
	return len(texts) == 1 && strings.Contains(texts[0], part)
}

// gitSays returns what a git command prints in the workspace.
func gitSays(p *checkpointtest.GitProject, args ...string) string {
	p.T.Helper()
	c := exec.Command("git", args...)
	c.Dir = p.Root
	out, err := c.Output()
	checkpointtest.Must(p.T, err)
	return strings.TrimSpace(string(out))
}
