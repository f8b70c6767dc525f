package rollback

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/git"
)

// TestWorkTreeIsRecordedOnce: a checkpoint says which files differ from HEAD, the journal
// says so only when that has changed, and a rollback takes it back.
func TestWorkTreeIsRecordedOnce(t *testing.T) {
	t.Parallel()
	s := newGitProject(t, map[string]string{"a.txt": "a", ".env": "x", "id_rsa": "x", "nested/locks/store.lock": "x", "nested/journal": "x"})
	s.Git("add", "-f", "id_rsa")
	create := func() *state.CheckpointRef {
		t.Helper()
		ref, err := s.Session.Create(t.Context(), s.Workspace, "")
		checkpointtest.Must(t, err)
		return ref
	}
	first, want := create(), []state.ModifiedFile{{Path: "id_rsa", Status: git.FileAdded, Staged: true}, {Path: "a.txt", Status: git.FileUntracked}}
	check := func(when, id string, want []state.ModifiedFile) {
		t.Helper()
		f, err := s.Session.Store().ReadCheckpoint(s.Session.PRD(), id)
		checkpointtest.Must(t, err)
		if diff := cmp.Diff(want, f.Modified); diff != "" || f.Omitted > 0 {
			t.Errorf("%s, %d omitted:\n%s", when, f.Omitted, diff)
		}
	}
	check("first", first.ID, want)
	recorded := s.Session.State().WorkTree
	second := create()
	check("unchanged", second.ID, want)
	if s.Session.State().WorkTree != recorded {
		t.Error("it was recorded again, although it has not changed")
	}
	s.Put(map[string]string{"a.txt": "other"}) // it differs from HEAD as before
	second = create()
	check("captured again", second.ID, want)
	layout := s.Session.Store().Layout()
	journal, err := store.ReadFile(s.FS, filepath.Join(layout.PRDDir(s.Session.PRD()), disk.JournalName))
	checkpointtest.Must(t, err)
	if again := bytes.Count(journal, []byte(`"work_tree_same":true`)); again != 1 || bytes.Count(journal, []byte(`"work_tree":`)) != 2 { // the project's first checkpoint has a list, too
		t.Errorf("recorded as unchanged %d times:\n%s", again, journal)
	}
	recorded = s.Session.State().WorkTree
	s.Put(map[string]string{"b\n\xff": "b"})
	check("changed", create().ID, append(want, state.ModifiedFile{Path: "b\n\xff", Status: git.FileUntracked}))
	_, err = Run(t.Context(), s.Session, s.Workspace, Options{To: second.ID})
	checkpointtest.Must(t, err)
	if diff := cmp.Diff(recorded, s.Session.State().WorkTree); diff != "" {
		t.Errorf("after a rollback:\n%s", diff)
	}
	check("after a rollback", create().ID, want)
}

// TestWorkTreeIsCut: a checkpoint names at most 1,000 files, and those that git tracks
// come first.
func TestWorkTreeIsCut(t *testing.T) {
	t.Parallel()
	files := map[string]string{"z": "x"}
	for i := range state.MostModified + 5 {
		files[fmt.Sprintf("f%04d", i)] = "x"
	}
	s := newGitProject(t, files)
	s.Git("add", "z")
	ref, err := s.Session.Create(t.Context(), s.Workspace, "")
	checkpointtest.Must(t, err)
	f, err := s.Session.Store().ReadCheckpoint(s.Session.PRD(), ref.ID)
	checkpointtest.Must(t, err)
	if n := len(f.Modified); n != state.MostModified || f.Omitted != 6 || f.Modified[0].Path != "z" || f.Modified[n-1].Path != "f0998" {
		t.Errorf("%d files, %d omitted: %v …", n, f.Omitted, f.Modified[:2])
	}
}
