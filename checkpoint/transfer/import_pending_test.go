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

// placed is a project whose session was imported, and none of whose files were
// restored yet.
func placed(t *testing.T, archive []byte) *checkpointtest.Project {
	t.Helper()
	q := checkpointtest.NewProject(t, store.NewMemory())
	placeArchive(q, archive, true)
	return q
}

// place imports an archive up to the moment at which its files are next.
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

// finishImport does what the next owner does first.
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

// damageJournal makes a journal one that can't be read past its first line.
func damageJournal(f *checkpointtest.Fixture) {
	lines := bytes.SplitAfter(f.Read("PRD-009/journal.jsonl"), []byte("\n"))
	lines[1][len(lines[1])/2] ^= 1
	f.Write("PRD-009/journal.jsonl", bytes.Join(lines, nil))
}

// TestRebuiltJournalEndsAnImport: its commit is gone, so that nobody can finish
// it, and that is said.
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
				t.Errorf("given up: %+v", r.Import)
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

// TestImportWhoseCommitIsGone is one that rebuilding was cut short in ending.
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

// TestDamagedNoteOfAnImport: the session is whole and can be read; who would
// change it is told, and importing again finishes it.
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
		t.Error("the note is not there any more")
	}
	placeArchive(q, archive, true)
	if done, err := finishImport(q); err != nil || done.Written != 3 {
		t.Errorf("finished %+v, %v", done, err)
	}
	if pending, err := q.Open().Layout().InterruptedImport("PRD-009"); err != nil || pending != nil {
		t.Errorf("pending %+v, %v", pending, err)
	}
}

// TestNoteOfAnotherImport: the note of an import that another one replaced, or
// of another session, restores nothing.
func TestNoteOfAnotherImport(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	older := checkpointtest.Exported(p)
	p.Continue("more")
	newer := checkpointtest.Exported(p)

	q := placed(t, older)
	placeArchive(q, newer, false) // the files are to stay as they are
	if pending, err := q.Open().Layout().InterruptedImport("PRD-009"); err != nil || pending != nil {
		t.Errorf("pending after the newer one: %+v, %v", pending, err)
	}

	q = placed(t, older)
	note := bytes.ReplaceAll(q.Read(importingNote), []byte("session-1"), []byte("session-2"))
	q.Write(importingNote, note)
	if done, err := finishImport(q); err != nil || done.Written > 0 {
		t.Errorf("of another session: %+v, %v", done, err)
	}
	if left, err := os.ReadDir(q.Root); err != nil || len(left) > 0 {
		t.Errorf("in the workspace: %v, %v", left, err)
	}
	if done, err := finishImport(q); err != nil || done != nil {
		t.Errorf("finished again %+v, %v", done, err)
	}
}

// TestImportOverwritesNothingSensitive: it is in no checkpoint that could bring
// it back.
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
