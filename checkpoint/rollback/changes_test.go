package rollback

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// reopen opens the workspace with another git mode.
func (s *gitProject) reopen(mode workspace.GitMode) {
	s.T.Helper()
	checkpointtest.Must(s.T, s.Workspace.Close())
	var g *git.Repository
	var err error
	if mode != workspace.GitOff {
		g, err = git.Open(context.Background(), gittest.Commander{}, s.Root)
		checkpointtest.Must(s.T, err)
	}
	s.Workspace, err = s.Open().OpenWorkspace(s.Root, g, mode)
	checkpointtest.Must(s.T, err)
}

// checkpoint captures the files that match patterns, and returns the id of a checkpoint
// of them.
func (s *gitProject) checkpoint(patterns ...string) string {
	s.T.Helper()
	ctx := context.Background()
	_, err := s.Session.Capture(ctx, s.Workspace, patterns)
	checkpointtest.Must(s.T, err)
	ref, err := s.Session.Create(ctx, s.Workspace, "")
	checkpointtest.Must(s.T, err)
	return ref.ID
}

// TestRollbackDeletesInScope adds files after the target and captures them with other
// patterns or another git mode. A rollback must delete only those added files that the
// capture of the target would have included, and an undo must restore them.
func TestRollbackDeletesInScope(t *testing.T) {
	t.Parallel()
	files := func(paths ...string) map[string]string {
		all := map[string]string{}
		for _, path := range paths {
			all[path] = "new"
		}
		return all
	}
	for name, c := range map[string]struct {
		then, now         workspace.GitMode
		patterns, later   []string
		ignore            string
		deleted, remained []string
	}{
		"outside git, more patterns later": {
			then: workspace.GitOff, now: workspace.GitOff, patterns: []string{"src-*"}, later: []string{"**"},
			deleted: []string{"src-new"}, remained: []string{"precious"},
		},
		"in git only later": {
			then: workspace.GitOff, now: workspace.GitRef, patterns: []string{"src-*"}, later: []string{"src-*"},
			deleted: []string{"src-new"}, remained: []string{"precious"},
		},
		"in git, more patterns later": {
			then: workspace.GitRef, now: workspace.GitRef, later: []string{"gen-*"}, ignore: "gen-*\n",
			deleted: []string{"src-new"}, remained: []string{"gen-precious"},
		},
		"in git, then without": {
			then: workspace.GitRef, now: workspace.GitOff, later: []string{"**"},
			deleted: []string{"src-new"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			first := map[string]string{"src-old": "old"}
			if c.ignore != "" {
				first[".gitignore"] = c.ignore
			}
			s := newGitProject(t, first)
			s.reopen(c.then)
			target := s.checkpoint(c.patterns...)
			came := files(append(slices.Clone(c.deleted), c.remained...)...)
			s.Put(came)
			s.reopen(c.now)
			s.checkpoint(c.later...)
			plan, err := PlanTo(ctx, s.Open(), s.Workspace, "PRD-009", Options{To: target})
			checkpointtest.Must(t, err)
			var deletes []string
			for _, change := range plan.Changes {
				deletes = append(deletes, change.Path)
			}
			checkpointtest.Same(t, "the plan", deletes, c.deleted)
			done, err := Run(ctx, s.Session, s.Workspace, Options{To: target})
			checkpointtest.Must(t, err)
			for _, path := range c.deleted {
				s.Holds("rolled back", map[string]string{path: ""})
			}
			s.Holds("rolled back", files(c.remained...))
			_, err = Run(ctx, s.Session, s.Workspace, Options{To: done.Safety})
			checkpointtest.Must(t, err)
			s.Holds("undone", came)
		})
	}
}

// TestRollbackMakesRoom: a rollback must delete a file that is in the place of a
// directory to restore, even if the target's capture would not have included the file.
func TestRollbackMakesRoom(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newGitProject(t, nil)
	s.reopen(workspace.GitOff)
	checkpointtest.Must(t, os.Mkdir(filepath.Join(s.Root, "src"), 0o700))
	s.Put(map[string]string{"src/a": "a"})
	target := s.checkpoint("src/*")
	checkpointtest.Must(t, os.RemoveAll(filepath.Join(s.Root, "src")))
	s.Put(map[string]string{"src": "a file"})
	s.checkpoint("**")
	_, err := Run(ctx, s.Session, s.Workspace, Options{To: target})
	checkpointtest.Must(t, err)
	s.Holds("rolled back", map[string]string{"src/a": "a"})
}

// TestRollbackBeforeAnImport rolls back in a session that may have been imported. A
// target that was captured before the import does not tell which files the workspace had
// at the import, so that the rollback must not delete these files.
func TestRollbackBeforeAnImport(t *testing.T) {
	t.Parallel()
	looked := func(inGit bool, own ...state.Text) disk.OwnFiles {
		return disk.OwnFiles{Looked: true, Git: inGit, Own: own}
	}
	for name, c := range map[string]struct {
		mode    workspace.GitMode
		session string // of the note about the import; "": there is no note
		since   int    // commits between the target's capture and the import
		own     disk.OwnFiles
		deleted []string
	}{
		"no import":                           {mode: workspace.GitRef, deleted: []string{"mine", "new"}},
		"another session was imported":        {mode: workspace.GitRef, session: "S0", own: looked(true, "mine"), deleted: []string{"mine", "new"}},
		"an import before the target":         {mode: workspace.GitRef, session: "S1", since: -1, own: looked(true, "mine"), deleted: []string{"mine", "new"}},
		"an import at the target":             {mode: workspace.GitRef, session: "S1", own: looked(true, "mine"), deleted: []string{"new"}},
		"an import after the target":          {mode: workspace.GitRef, session: "S1", since: 1, own: looked(true, "mine"), deleted: []string{"new"}},
		"outside git":                         {mode: workspace.GitOff, session: "S1", own: looked(false, "mine"), deleted: []string{"new"}},
		"git was asked at the import only":    {mode: workspace.GitOff, session: "S1", own: looked(true, "mine"), deleted: []string{"new"}},
		"git was not asked at the import":     {mode: workspace.GitRef, session: "S1", own: looked(false, "mine")},
		"the workspace was not searched":      {mode: workspace.GitRef, session: "S1", own: disk.OwnFiles{Git: true}},
		"it was not searched, and git is off": {mode: workspace.GitOff, session: "S1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := newGitProject(t, map[string]string{"old": "old"})
			s.reopen(c.mode)
			target := s.checkpoint("**")
			if c.session != "" {
				seq := int(s.Session.State().Capture.Seq) + c.since
				note, err := json.Marshal(disk.Origin{FormatVersion: state.FormatVersion, Session: c.session, Seq: uint64(seq), OwnFiles: c.own})
				checkpointtest.Must(t, err)
				s.Write("PRD-009/"+disk.OriginName, note)
			}
			s.Put(map[string]string{"mine": "mine", "new": "new", "old": "edited"})
			plan, err := PlanTo(ctx, s.Open(), s.Workspace, "PRD-009", Options{To: target})
			checkpointtest.Must(t, err)
			var changed []string
			for _, change := range plan.Changes {
				changed = append(changed, change.Path)
			}
			checkpointtest.Same(t, "the plan", changed, append(c.deleted, "old"))
			_, err = Run(ctx, s.Session, s.Workspace, Options{To: target})
			checkpointtest.Must(t, err)
			want := map[string]string{"mine": "mine", "new": "new", "old": "old"}
			for _, path := range c.deleted {
				want[path] = ""
			}
			s.Holds("rolled back", want)
		})
	}
}

// TestRollbackOfADamagedImport: a rollback that may delete files must fail if the note of
// the import is unreadable. A rollback that deletes nothing does not need the note.
func TestRollbackOfADamagedImport(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newGitProject(t, map[string]string{"old": "old"})
	s.Write("PRD-009/"+disk.OriginName, []byte("{"))
	s.Put(map[string]string{"old": "edited"})
	_, err := PlanTo(ctx, s.Open(), s.Workspace, "PRD-009", Options{To: s.Target})
	checkpointtest.Must(t, err)
	s.Put(map[string]string{"new": "new"})
	_, err = PlanTo(ctx, s.Open(), s.Workspace, "PRD-009", Options{To: s.Target})
	var damaged *state.DamagedError
	if !errors.As(err, &damaged) || filepath.Base(damaged.Path) != disk.OriginName {
		t.Errorf("got %v", err)
	}
}
