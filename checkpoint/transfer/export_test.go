package transfer_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/transfer"
)

// TestExportIsDeterministic exports a session repeatedly, without its derived files, and
// after an import into another store. All archives must have the same bytes, and an
// export must not change the state directory.
func TestExportIsDeterministic(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	one, before := checkpointtest.Exported(p), checkpointtest.Everything(t, p.FS, p.Dir)
	if !bytes.Equal(one, checkpointtest.Exported(p)) {
		t.Error("two exports of the same state differ")
	}
	checkpointtest.Untouched(t, "the state directory", checkpointtest.Everything(t, p.FS, p.Dir), before)

	// An export makes missing derived files again, to the byte.
	checkpointtest.Must(t, p.FS.Remove(filepath.Join(p.Dir, "PRD-009.json")))
	checkpointtest.Must(t, p.FS.Remove(p.Open().Layout().ManifestPath("PRD-009")))
	ref := p.State().Checkpoints[0].ID
	checkpointtest.Must(t, p.FS.Remove(p.Checkpoints().FilePath(ref)))
	if !bytes.Equal(one, checkpointtest.Exported(p)) {
		t.Error("the export without derived files differs")
	}

	// An export after an import is the same, too.
	q := checkpointtest.NewProject(t, store.NewMemory())
	_, err := checkpointtest.TakeIn(q.Open(), one, false)
	checkpointtest.Must(t, err)
	if !bytes.Equal(one, checkpointtest.Exported(q)) {
		t.Error("the export of the imported session differs")
	}
	checkpointtest.Same(t, "state", q.State(), p.State())
	checkpointtest.NeedsWhole(t, q.Open(), "PRD-009")
}

// TestExportWhileItIsWritten: an export must leave out an incomplete last line of the
// journal, which the owner may be writing.
func TestExportWhileItIsWritten(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	want := checkpointtest.Exported(p)
	journal := p.Read("PRD-009/journal.jsonl")
	p.Write("PRD-009/journal.jsonl", append(journal, `{"seq":99,"time`...))
	if !bytes.Equal(want, checkpointtest.Exported(p)) {
		t.Error("an incomplete last line changes the archive")
	}
}

// TestExportTakesFromFiles damages or deletes an object. An export must take the bytes
// from a workspace file with the same content.
func TestExportTakesFromFiles(t *testing.T) {
	t.Parallel()
	for what := range checkpointtest.Damages([]byte("content")) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := checkpointtest.NewProject(t, store.NewMemory())
			p.Begin("session-1")
			whole := checkpointtest.Exported(p)
			s := p.Open()
			path, _, err := s.Objects().Path(checkpointtest.Put(t, s, "gen/a.txt", "a").Digest)
			checkpointtest.Must(t, err)
			checkpointtest.DamageFile(p, path, what)
			var out bytes.Buffer
			done, err := transfer.Export(t.Context(), s, p.Workspace(s), "PRD-009", transfer.ExportOptions{Out: &out})
			checkpointtest.Must(t, err)
			checkpointtest.Same(t, "taken", done.FromFiles, []string{"gen/a.txt"})
			if !bytes.Equal(out.Bytes(), whole) {
				t.Error("the archive differs")
			}
		})
	}
}

// TestExportStandsIn damages a git blob that an object replaces. An export must take the
// bytes from the object.
func TestExportStandsIn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := checkpointtest.NewGitProject(t, map[string]string{"user.txt": "first"})
	s.Put(map[string]string{"user.txt": "important"})
	s.Git("add", "user.txt")
	_, err := s.Session.Create(ctx, s.Workspace, "")
	checkpointtest.Must(t, err)
	l, err := s.Workspace.Load(ctx, s.Session.State().Capture.Listing)
	checkpointtest.Must(t, err)
	name := l.Entries[0].Blob
	var out bytes.Buffer
	_, err = transfer.Export(ctx, s.Open(), s.Workspace, "PRD-009", transfer.ExportOptions{Out: &out, Force: true})
	checkpointtest.Must(t, err)
	checkpointtest.DamageLoose(t, s.Root, name, "flipped")
	checkpointtest.Must(t, s.Workspace.Secure(ctx, l.Entries, true))
	s.Put(map[string]string{"user.txt": ""})
	var again bytes.Buffer
	_, err = transfer.Export(ctx, s.Open(), s.Workspace, "PRD-009", transfer.ExportOptions{Out: &again, Force: true})
	checkpointtest.Must(t, err)
	if !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Error("the archive differs")
	}
}

// TestExportNamesWhatIsMissing removes the only copy of a file. An export must name the
// file and write no archive unless it is forced. The archive of a forced export must be
// importable.
func TestExportNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	s := p.Open()
	digest := checkpointtest.Put(t, s, "gen/a.txt", "a").Digest
	checkpointtest.Must(t, s.Objects().Remove(digest))
	p.Save("gen/a.txt", "edited")
	var out bytes.Buffer
	_, err := transfer.Export(t.Context(), s, p.Workspace(s), "PRD-009", transfer.ExportOptions{Out: &out})
	var lacking *transfer.LackingError
	if !errors.As(err, &lacking) || len(lacking.Lacking) != 1 || out.Len() > 0 {
		t.Errorf("not forced: %v, %d bytes", err, out.Len())
	}
	done, err := transfer.Export(t.Context(), s, p.Workspace(s), "PRD-009", transfer.ExportOptions{Out: &out, Force: true})
	checkpointtest.Must(t, err)
	if len(done.Lacking) != 1 || done.Lacking[0].What != "gen/a.txt" || len(done.LostObjects) != 1 || done.LostObjects[0] != digest {
		t.Errorf("lacking %+v, lost %v", done.Lacking, done.LostObjects)
	}
	q := checkpointtest.NewProject(t, store.NewMemory())
	_, err = checkpointtest.TakeIn(q.Open(), out.Bytes(), false)
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "state", q.State(), p.State())
}

// meanwhile is a file system that calls happens once during an export: after the export
// has read the journal, before it opens the file of the first checkpoint.
type meanwhile struct {
	store.FS
	first   string // the path of that file
	happens func()
	opened  atomic.Int64 // how often that file was opened, at least once in each try
}

func (m *meanwhile) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if name == m.first && m.opened.Add(1) == 1 {
		m.happens()
	}
	return m.FS.OpenFile(name, flag, perm)
}

// TestExportTriesAgain: if bytes are missing because the session changed during the
// export, Export must try again. If the session has not changed, Export must fail.
func TestExportTriesAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(t *testing.T, s *checkpoint.Store)
		again   bool // Export tries again, and the archive is whole
	}{
		"a checkpoint is deleted, and its objects collected": {func(t *testing.T, s *checkpoint.Store) {
			x := checkpointtest.LockPRD(t, s, "PRD-009")
			_, err := prune.Delete(t.Context(), x, prune.DeleteOptions{References: []string{x.State().Checkpoints[2].ID}})
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, x.Close())
			_, err = prune.Collect(t.Context(), s, nil)
			checkpointtest.Must(t, err)
		}, true},
		"an object is lost": {func(t *testing.T, s *checkpoint.Store) {
			checkpointtest.Must(t, s.Objects().Remove(checkpointtest.DigestText("only of a checkpoint")))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := checkpointtest.NewProject(t, store.NewMemory())
			p.Begin("session-1")
			p.Continue("only of a checkpoint")
			p.Continue("of the state")
			first := p.FilesOf(p.State().Checkpoints[0].ID)[0]
			during := &meanwhile{FS: p.FS, first: first, happens: func() { test.happens(t, p.Open()) }}
			s := checkpointtest.On(t, during, p.Dir).Open()
			w := p.Workspace(s)
			var out bytes.Buffer
			_, err := transfer.Export(t.Context(), s, w, "PRD-009", transfer.ExportOptions{Out: &out})
			var lacking *transfer.LackingError
			if opened := during.opened.Load(); (opened > 1) != test.again || (err == nil) != test.again || err != nil && !errors.As(err, &lacking) {
				t.Fatalf("a checkpoint file was opened %d times: %v", opened, err)
			}
			if test.again && !bytes.Equal(out.Bytes(), checkpointtest.Exported(p)) {
				t.Error("the archive does not hold the current session")
			}
		})
	}
}

// TestRelations imports archives of an equal, older, newer, diverged and foreign session.
// Unless the archive is equal or newer, the import must be refused without a change, and
// with Replace it must archive the current session.
func TestRelations(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	early := checkpointtest.Exported(p)
	base := p.FS.(*store.Memory).Crash()
	p.Continue("one way")
	late := checkpointtest.Exported(p)
	other := checkpointtest.NewProject(t, base)
	other.Continue("another way")
	foreign := checkpointtest.NewProject(t, store.NewMemory())
	foreign.Begin("session-2")
	for _, test := range []struct {
		name     string
		here     *checkpointtest.Project
		archive  []byte
		relation journal.Relation
		refused  bool
		archived bool
	}{
		{"equal", p, late, journal.RelationEqual, false, false},
		{"older", p, early, journal.RelationOlder, true, true},
		{"diverged", other, late, journal.RelationDiverged, true, true},
		{"foreign", foreign, late, journal.RelationForeign, true, true},
		{"forward", p, nil, journal.RelationForward, false, false}, // p has the older state by now
	} {
		if test.archive == nil {
			test.archive = late
		}
		if test.refused {
			before := checkpointtest.Everything(t, test.here.FS, test.here.Dir)
			_, err := checkpointtest.TakeIn(test.here.Open(), test.archive, false)
			var conflict *transfer.ImportConflictError
			if !errors.As(err, &conflict) || conflict.Relation != test.relation {
				t.Fatalf("%s: %v", test.name, err)
			}
			checkpointtest.Untouched(t, test.name, checkpointtest.Everything(t, test.here.FS, test.here.Dir), before)
		}
		placed, err := checkpointtest.TakeIn(test.here.Open(), test.archive, true)
		checkpointtest.Must(t, err)
		if placed.Relation != test.relation || (placed.Archived != "") != test.archived {
			t.Errorf("%s: %+v", test.name, placed)
		}
		checkpointtest.NeedsWhole(t, test.here.Open(), "PRD-009")
	}
	checkpointtest.Same(t, "state after the import of a newer one", p.State(), other.State())
}

// TestImportAgain imports an archive twice with files to overwrite, for which the first
// import adds events. The second import must succeed and restore lost bytes. After a run
// has added events, importing the same archive must be refused.
func TestImportAgain(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	archive := checkpointtest.Exported(p)
	q := checkpointtest.NewProject(t, store.NewMemory())
	q.Save("PRD-009.hcl", "mine")
	checkpointtest.Must(t, takeFilesIn(t.Context(), q, archive, true))
	want := q.State()
	if want.Seq == p.State().Seq {
		t.Fatal("the import did not record what it overwrote")
	}
	checkpointtest.Must(t, os.Remove(filepath.Join(q.Root, "gen", "a.txt")))
	s := q.Open()
	checkpointtest.Must(t, s.Objects().Remove(checkpointtest.Put(t, s, "gen/a.txt", "a").Digest))
	checkpointtest.Must(t, takeFilesIn(t.Context(), q, archive, true))
	if got := files(t, q.Root); got["gen/a.txt"] != "a" || got["PRD-009.hcl"] != "pipeline" {
		t.Errorf("files %q", got)
	}
	checkpointtest.Same(t, "state", q.State(), want)
	q.Continue("further")
	placed, err := checkpointtest.TakeIn(q.Open(), archive, false)
	var conflict *transfer.ImportConflictError
	if !errors.As(err, &conflict) || conflict.Relation != journal.RelationOlder {
		t.Errorf("%+v, %v", placed, err)
	}
}

// TestExportHoldsEverySegment compacts a journal twice. The archive must hold both of the
// journals before, and the document that the session began with.
func TestExportHoldsEverySegment(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	p.Write("PRD-009/imported.json", []byte("{}\n"))
	checkpointtest.Compact(t, p.Open())
	p.Continue("further")
	checkpointtest.Compact(t, p.Open())
	segments := 0
	a := unpack(t, checkpointtest.Exported(p))
	for name := range a.members {
		if strings.HasPrefix(name, "journal.") && name != disk.JournalName {
			segments++
		}
	}
	if segments != 2 || string(a.members["imported.json"]) != "{}\n" {
		t.Errorf("the archive holds %d earlier journals, want 2, and the first document %q", segments, a.members["imported.json"])
	}
}

// TestCompactedLineage compacts a journal. An import must recognize archives from before
// and after the compaction as the same session.
func TestCompactedLineage(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	early := checkpointtest.Exported(p)
	checkpointtest.Compact(t, p.Open())
	placed, err := checkpointtest.TakeIn(p.Open(), early, false)
	checkpointtest.Must(t, err)
	if placed.Relation != journal.RelationEqual {
		t.Errorf("after a compaction, the archive of the same session is %s", placed.Relation)
	}
	p.Continue("further")
	late := checkpointtest.Exported(p)
	q := checkpointtest.NewProject(t, store.NewMemory())
	_, err = checkpointtest.TakeIn(q.Open(), early, false)
	checkpointtest.Must(t, err)
	placed, err = checkpointtest.TakeIn(q.Open(), late, false)
	checkpointtest.Must(t, err)
	if placed.Relation != journal.RelationForward {
		t.Errorf("the continuation is %s", placed.Relation)
	}
	checkpointtest.Same(t, "state", q.State(), p.State())
	checkpointtest.Must(t, q.FS.Remove(q.Checkpoints().FilePath(q.State().Checkpoints[0].ID)))
	checkpointtest.NeedsWhole(t, q.Open(), "PRD-009") // the archive includes the old journal
}
