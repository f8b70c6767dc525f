package transfer_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/workspace"
)

// placed returns a project with an imported session whose files are not restored yet.
func placed(t *testing.T, archive []byte) *checkpointtest.Project {
	t.Helper()
	q := checkpointtest.NewProject(t, store.NewMemory())
	placeArchive(q, archive, true)
	return q
}

// placeArchive imports an archive up to the moment before its files are restored.
func placeArchive(p *checkpointtest.Project, archive []byte, withFiles bool) {
	p.T.Helper()
	s := p.Open()
	i, err := transfer.OpenImport(p.T.Context(), s, bytes.NewReader(archive), "it.tar", bundle.Limits{})
	checkpointtest.Must(p.T, err)
	var o transfer.PlaceOptions
	if withFiles {
		o.Files, err = i.PlanFiles(p.T.Context(), p.Workspace(s))
		checkpointtest.Must(p.T, err)
	}
	_, err = i.Place(p.T.Context(), checkpointtest.By, o)
	checkpointtest.Must(p.T, errors.Join(err, i.Close()))
}

// finishImport finishes an interrupted import, as the next owner does first.
func finishImport(p *checkpointtest.Project) (*transfer.RestoredFiles, error) {
	p.T.Helper()
	s := p.Open()
	w := p.Workspace(s)
	x := checkpointtest.LockPRD(p.T, s, "PRD-009")
	done, err := transfer.FinishImport(p.T.Context(), x, w)
	checkpointtest.Must(p.T, x.Close())
	return done, err
}

const importingNote = "PRD-009/importing.json"

// damageJournal damages the second line of the journal.
func damageJournal(f *checkpointtest.Fixture) {
	lines := bytes.SplitAfter(f.Read("PRD-009/journal.jsonl"), []byte("\n"))
	lines[1][len(lines[1])/2] ^= 1
	f.Write("PRD-009/journal.jsonl", bytes.Join(lines, nil))
}

// TestRebuiltJournalEndsAnImport rebuilds the journal of a session with an unfinished
// import. The commit that the import restores is lost, so that the rebuild must give up
// the import, say so, and keep the note of the import.
func TestRebuiltJournalEndsAnImport(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	archive := checkpointtest.Exported(p)
	for name, note := range map[string][]byte{"whole": nil, "damaged": []byte("{")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := placed(t, archive)
			if note != nil {
				q.Write(importingNote, note)
			}
			note := q.Read(importingNote)
			damageJournal(q.Fixture)
			r, err := repair.RebuildJournal(t.Context(), q.Open(), "PRD-009", checkpointtest.By)
			checkpointtest.Must(t, err)
			if r.Import == nil || (r.Import.Damage != nil) != (name == "damaged") || r.Import.Damage == nil && r.Import.Archive != "it.tar" {
				t.Errorf("import that the rebuild gave up: %+v", r.Import)
			}
			kept, err := store.ReadFile(q.FS, filepath.Join(r.Kept, disk.ImportingName))
			if checkpointtest.Must(t, err); !bytes.Equal(kept, note) {
				t.Errorf("kept %q, want %q", kept, note)
			}
			if done, err := finishImport(q); err != nil || done != nil {
				t.Errorf("finished %+v, %v", done, err)
			}
		})
	}
}

// TestImportWhoseCommitIsGone restores the note of an unfinished import after a rebuild
// of the journal, as if the rebuild had been killed before removing it. The next owner
// must give up the import and remove the note.
func TestImportWhoseCommitIsGone(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	q := placed(t, checkpointtest.Exported(p))
	note := q.Read(importingNote)
	damageJournal(q.Fixture)
	_, err := repair.RebuildJournal(t.Context(), q.Open(), "PRD-009", checkpointtest.By)
	checkpointtest.Must(t, err)
	q.Write(importingNote, note)
	if done, err := finishImport(q); err != nil || done == nil || !done.GivenUp || done.Written > 0 {
		t.Errorf("finished %+v, %v", done, err)
	}
	if done, err := finishImport(q); err != nil || done != nil {
		t.Errorf("finished again %+v, %v", done, err)
	}
}

// TestDamagedNoteOfAnImport damages the note of an unfinished import. The session must be
// readable, an owner must refuse to change it, and importing the archive again must
// finish the import.
func TestDamagedNoteOfAnImport(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	archive := checkpointtest.Exported(p)
	q := placed(t, archive)
	q.Write(importingNote, []byte(`{"format_version`))
	snap, err := q.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	if snap.Import == nil || snap.Import.Damage == nil || snap.State == nil {
		t.Fatalf("loaded %+v", snap)
	}
	var damaged *state.DamagedError
	if done, err := finishImport(q); !errors.As(err, &damaged) || done.Written > 0 {
		t.Errorf("finished %+v, %v", done, err)
	}
	if string(q.Read(importingNote)) != `{"format_version` {
		t.Error("the damaged note was changed")
	}
	placeArchive(q, archive, true)
	if done, err := finishImport(q); err != nil || done.Written != 3 {
		t.Errorf("finished %+v, %v", done, err)
	}
	if pending, err := q.Open().Layout().InterruptedImport("PRD-009"); err != nil || pending != nil {
		t.Errorf("pending %+v, %v", pending, err)
	}
}

// TestNoteOfAnotherImport: the note of an import that a newer import replaced, or of
// another session, must restore no files.
func TestNoteOfAnotherImport(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	older := checkpointtest.Exported(p)
	p.Continue("more")
	newer := checkpointtest.Exported(p)

	q := placed(t, older)
	placeArchive(q, newer, false) // without files
	if pending, err := q.Open().Layout().InterruptedImport("PRD-009"); err != nil || pending != nil {
		t.Errorf("pending after the newer import: %+v, %v", pending, err)
	}

	q = placed(t, older)
	note := bytes.ReplaceAll(q.Read(importingNote), []byte("session-1"), []byte("session-2"))
	q.Write(importingNote, note)
	if done, err := finishImport(q); err != nil || done.Written > 0 {
		t.Errorf("finished with a note of another session: %+v, %v", done, err)
	}
	if left, err := os.ReadDir(q.Root); err != nil || len(left) > 0 {
		t.Errorf("the workspace holds %v, %v", left, err)
	}
	if done, err := finishImport(q); err != nil || done != nil {
		t.Errorf("finished again %+v, %v", done, err)
	}
}

// TestImportOverwritesNothingSensitive: an import must not overwrite a file that looks
// sensitive, because no checkpoint could restore the overwritten content.
func TestImportOverwritesNothingSensitive(t *testing.T) {
	t.Parallel()
	f := &transfer.ImportFiles{
		Absent: []workspace.Change{{Path: ".env.test", Kind: workspace.Added}, {Path: "b", Kind: workspace.Added}},
		Differ: []workspace.Change{{Path: ".env", Kind: workspace.Modified}, {Path: "a", Kind: workspace.Modified}},
	}
	for overwrite, want := range map[bool][]string{false: {".env.test", "b"}, true: {".env.test", "a", "b"}} {
		var paths []string
		for _, c := range f.Changes(overwrite) {
			paths = append(paths, c.Path)
		}
		if !slices.Equal(paths, want) {
			t.Errorf("overwrite %v changes %q, want %q", overwrite, paths, want)
		}
	}
}
