package rollback

import (
	"context"
	"maps"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/workspace"
)

// TestRollbackOutOfScope changes .gitignore and files after the target. A rollback must
// restore each file of the target, even if git ignores it now, and delete no file that
// git ignored then. An undo must restore all files exactly.
func TestRollbackOutOfScope(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ then, edits, after map[string]string }{
		"ignored now": {
			then:  map[string]string{"notes.txt": "first", "other": "first"},
			edits: map[string]string{"notes.txt": "second", ".gitignore": "notes.txt\n"},
			after: map[string]string{"notes.txt": "first", "other": "first", ".gitignore": ""},
		},
		"ignored then": {
			then:  map[string]string{"local.cfg": "mine", ".gitignore": "local.cfg\n"},
			edits: map[string]string{".gitignore": "nothing\n", "new": "new"},
			after: map[string]string{"local.cfg": "mine", ".gitignore": "local.cfg\n", "new": ""},
		},
		"rules made since": {
			then:  map[string]string{"other": "first"},
			edits: map[string]string{"local.cfg": "mine", ".gitignore": "local.cfg\n"},
			after: map[string]string{"local.cfg": "mine", ".gitignore": ""},
		},
		"rules gone since": {
			then:  map[string]string{"local.cfg": "mine", ".gitignore": "local.cfg\n"},
			edits: map[string]string{".gitignore": "", "local.cfg": "edited"},
			after: map[string]string{"local.cfg": "edited", ".gitignore": "local.cfg\n"},
		},
		"rules in what rules made since ignore": {
			then:  map[string]string{"other": "first"},
			edits: map[string]string{".gitignore": "sub/\n", "sub/.gitignore": "x", "sub/data": "mine", "sub/in/.gitignore": "y"},
			after: map[string]string{".gitignore": "", "sub/.gitignore": "x", "sub/data": "mine", "sub/in/.gitignore": "y"},
		},
	} {
		for _, mode := range []workspace.GitMode{workspace.GitRef, workspace.GitCommit} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				newGitProjectIn(t, mode, c.then).thereAndBack(c.then, c.edits, c.after)
			})
		}
	}
}

// thereAndBack edits files, rolls back to the target, and undoes the rollback.
func (s *gitProject) thereAndBack(then, edits, after map[string]string) {
	t, ctx := s.T, context.Background()
	t.Helper()
	s.Put(edits)
	before := maps.Clone(then)
	maps.Copy(before, edits)
	plan, err := planTo(ctx, s.Session.Store(), s.Workspace, s.Session.State(), Options{To: s.Target})
	checkpointtest.Must(t, err)
	for _, change := range plan.Changes {
		if change.Path == "notes.txt" && change.Kind != workspace.Modified {
			t.Errorf("the plan says that notes.txt is %s", change.Kind)
		}
	}
	done, err := Run(ctx, s.Session, s.Workspace, Options{To: s.Target})
	checkpointtest.Must(t, err)
	s.Holds("rolled back", after)
	_, err = Run(ctx, s.Session, s.Workspace, Options{To: done.Safety})
	checkpointtest.Must(t, err)
	s.Holds("undone", before)
}

// TestRollbackOverRulesThatIgnoreThemselves makes a .gitignore since the target, which a
// capture commits and which then ignores itself. At the target no rule ignored it, so
// that the rollback must delete it. An undo must restore it.
func TestRollbackOverRulesThatIgnoreThemselves(t *testing.T) {
	t.Parallel()
	for _, mode := range []workspace.GitMode{workspace.GitRef, workspace.GitCommit} {
		s := newGitProjectIn(t, mode, map[string]string{"other": "first"})
		s.Put(map[string]string{".gitignore": "local.cfg\n"})
		s.Git("add", ".gitignore")
		_, err := s.Session.Create(t.Context(), s.Workspace, "")
		checkpointtest.Must(t, err)
		s.Put(map[string]string{".gitignore": ".gitignore\n"})
		done, err := Run(t.Context(), s.Session, s.Workspace, Options{To: s.Target})
		checkpointtest.Must(t, err)
		s.Holds(string(mode)+", rolled back", map[string]string{".gitignore": "", "other": "first"})
		_, err = Run(t.Context(), s.Session, s.Workspace, Options{To: done.Safety})
		checkpointtest.Must(t, err)
		s.Holds(string(mode)+", undone", map[string]string{".gitignore": ".gitignore\n", "other": "first"})
	}
}

// TestRollbackOverSensitive rolls back to a capture of a tracked file whose name looks
// sensitive and which git no longer tracks. No checkpoint has the current content, so
// that the rollback must leave the file alone.
func TestRollbackOverSensitive(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newGitProject(t, map[string]string{"a": "first"})
	s.Put(map[string]string{".env": "first"})
	s.Git("add", ".env")
	_, err := s.Session.Capture(ctx, s.Workspace, nil)
	checkpointtest.Must(t, err)
	ref, err := s.Session.Create(ctx, s.Workspace, "")
	checkpointtest.Must(t, err)
	s.Git("rm", "--quiet", "--cached", ".env")
	s.Put(map[string]string{".env": "second", "a": "second"})

	_, err = Run(ctx, s.Session, s.Workspace, Options{To: ref.ID})
	checkpointtest.Must(t, err)
	s.Holds("rolled back", map[string]string{".env": "second", "a": "first"})
}
