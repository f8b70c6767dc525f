package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// placed is a project whose session was imported, and none of whose files were
// restored yet.
func placed(t *testing.T, archive []byte) *project {
	t.Helper()
	q := newProject(t, store.NewMemory())
	q.place(archive, true)
	return q
}

// place imports an archive up to the moment at which its files are next.
func (p *project) place(archive []byte, withFiles bool) {
	p.t.Helper()
	s := p.open()
	i, err := s.OpenImport(p.t.Context(), bytes.NewReader(archive), "it.tar", bundle.Limits{})
	must(p.t, err)
	var o PlaceOptions
	if withFiles {
		o.Files, err = i.PlanFiles(p.t.Context(), p.workspace(s))
		must(p.t, err)
	}
	_, err = i.Place(p.t.Context(), by, o)
	must(p.t, errors.Join(err, i.Close()))
}

// finishImport does what the next owner does first.
func (p *project) finishImport() (*RestoredFiles, error) {
	p.t.Helper()
	s := p.open()
	w := p.workspace(s)
	x := lockPRD(p.t, s, "PRD-009")
	done, err := x.FinishImport(p.t.Context(), w)
	must(p.t, x.Close())
	return done, err
}

const importingNote = "PRD-009/importing.json"

// damageJournal makes a journal one that can't be read past its first line.
func (f *fixture) damageJournal() {
	lines := bytes.SplitAfter(f.read("PRD-009/journal.jsonl"), []byte("\n"))
	lines[1][len(lines[1])/2] ^= 1
	f.write("PRD-009/journal.jsonl", bytes.Join(lines, nil))
}

// TestRebuiltJournalEndsAnImport: its commit is gone, so that nobody can finish
// it, and that is said.
func TestRebuiltJournalEndsAnImport(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	archive := p.export()
	for name, note := range map[string][]byte{"whole": nil, "damaged": []byte("{")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := placed(t, archive)
			if note != nil {
				q.write(importingNote, note)
			}
			note := q.read(importingNote)
			q.damageJournal()
			r, err := q.open().RebuildJournal(t.Context(), "PRD-009", by)
			must(t, err)
			if r.Import == nil || (r.Import.Damage != nil) != (name == "damaged") || r.Import.Damage == nil && r.Import.Archive != "it.tar" {
				t.Errorf("given up: %+v", r.Import)
			}
			kept, err := store.ReadFile(q.fs, filepath.Join(r.Kept, disk.ImportingName))
			if must(t, err); !bytes.Equal(kept, note) {
				t.Errorf("kept %q, want %q", kept, note)
			}
			if done, err := q.finishImport(); err != nil || done != nil {
				t.Errorf("finished %+v, %v", done, err)
			}
		})
	}
}

// TestImportWhoseCommitIsGone is one that rebuilding was cut short in ending.
func TestImportWhoseCommitIsGone(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	q := placed(t, p.export())
	note := q.read(importingNote)
	q.damageJournal()
	_, err := q.open().RebuildJournal(t.Context(), "PRD-009", by)
	must(t, err)
	q.write(importingNote, note)
	if done, err := q.finishImport(); err != nil || done == nil || !done.GivenUp || done.Written > 0 {
		t.Errorf("finished %+v, %v", done, err)
	}
	if done, err := q.finishImport(); err != nil || done != nil {
		t.Errorf("finished again %+v, %v", done, err)
	}
}

// TestDamagedNoteOfAnImport: the session is whole and can be read; who would
// change it is told, and importing again finishes it.
func TestDamagedNoteOfAnImport(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	archive := p.export()
	q := placed(t, archive)
	q.write(importingNote, []byte(`{"format_version`))
	snap, err := q.open().Load("PRD-009")
	must(t, err)
	if snap.Import == nil || snap.Import.Damage == nil || snap.State == nil {
		t.Fatalf("loaded %+v", snap)
	}
	var damaged *state.DamagedError
	if done, err := q.finishImport(); !errors.As(err, &damaged) || done.Written > 0 {
		t.Errorf("finished %+v, %v", done, err)
	}
	if string(q.read(importingNote)) != `{"format_version` {
		t.Error("the note is not there any more")
	}
	q.place(archive, true)
	if done, err := q.finishImport(); err != nil || done.Written != 3 {
		t.Errorf("finished %+v, %v", done, err)
	}
	if pending, err := q.open().layout.InterruptedImport("PRD-009"); err != nil || pending != nil {
		t.Errorf("pending %+v, %v", pending, err)
	}
}

// TestNoteOfAnotherImport: the note of an import that another one replaced, or
// of another session, restores nothing.
func TestNoteOfAnotherImport(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	older := p.export()
	p.goOn("more")
	newer := p.export()

	q := placed(t, older)
	q.place(newer, false) // the files are to stay as they are
	if pending, err := q.open().layout.InterruptedImport("PRD-009"); err != nil || pending != nil {
		t.Errorf("pending after the newer one: %+v, %v", pending, err)
	}

	q = placed(t, older)
	note := bytes.ReplaceAll(q.read(importingNote), []byte("session-1"), []byte("session-2"))
	q.write(importingNote, note)
	if done, err := q.finishImport(); err != nil || done.Written > 0 {
		t.Errorf("of another session: %+v, %v", done, err)
	}
	if left, err := os.ReadDir(q.dir); err != nil || len(left) > 0 {
		t.Errorf("in the workspace: %v, %v", left, err)
	}
	if done, err := q.finishImport(); err != nil || done != nil {
		t.Errorf("finished again %+v, %v", done, err)
	}
}

// TestImportOverwritesNothingSensitive: it is in no checkpoint that could bring
// it back.
func TestImportOverwritesNothingSensitive(t *testing.T) {
	t.Parallel()
	f := &ImportFiles{
		Absent: []workspace.Change{{Path: ".env.test", Kind: workspace.Added}, {Path: "b", Kind: workspace.Added}},
		Differ: []workspace.Change{{Path: ".env", Kind: workspace.Modified}, {Path: "a", Kind: workspace.Modified}},
	}
	for overwrite, want := range map[bool][]string{false: {".env.test", "b"}, true: {".env.test", "a", "b"}} {
		var paths []string
		for _, c := range f.changes(overwrite) {
			paths = append(paths, c.Path)
		}
		if !slices.Equal(paths, want) {
			t.Errorf("overwrite %v changes %q, want %q", overwrite, paths, want)
		}
	}
}
