package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/transfer"
)

// TestExportHoldsArtifactsOfCheckpoints exports a session without captures, in which only
// a checkpoint needs the first version of an artifact. The archive must hold both
// versions, and an imported session must be able to do without captures.
func TestExportHoldsArtifactsOfCheckpoints(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	x := p.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("session-1", checkpointtest.Wide(1))))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	var versions []state.Artifact
	for i := range 2 {
		versions = append(versions, checkpointtest.Put(t, p.Open(), "out", fmt.Sprintf("version %d", i)))
		checkpointtest.Produce(t, x, "w0", versions[i])
		if i == 0 {
			checkpointtest.Mark(t, x, state.TriggerManual)
		}
	}
	checkpointtest.Must(t, x.Close())
	p.Save("out", "version 1")
	archive := checkpointtest.Exported(p)
	q := checkpointtest.NewProject(t, store.NewMemory())
	s := q.Open()
	i, err := transfer.OpenImport(t.Context(), s, bytes.NewReader(archive), "it.tar", bundle.Limits{})
	checkpointtest.Must(t, err)
	planned, err := i.PlanFiles(t.Context(), q.Workspace(s))
	checkpointtest.Must(t, err)
	if planned.Known || len(planned.Absent) != 1 || planned.Absent[0].Path != "out" {
		t.Errorf("planned %+v, want only the artifact, and no list of captured files", planned)
	}
	_, err = i.Place(t.Context(), checkpointtest.By, transfer.PlaceOptions{})
	checkpointtest.Must(t, errors.Join(err, i.Close()))
	checkpointtest.NeedsWhole(t, s, "PRD-009")
	if got := checkpointtest.Has(t, s, versions...); got != "11" {
		t.Errorf("after the import, the objects of the two versions are there: %s", got)
	}
}

// TestExportWithoutTheList removes the list of the files that the session captured. A
// forced export must leave it out, and the import of that archive must not take the list
// for an empty one.
func TestExportWithoutTheList(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	s := p.Open()
	listing := p.State().Capture.Listing
	checkpointtest.Must(t, s.Objects().Remove(listing))
	var out bytes.Buffer
	done, err := transfer.Export(t.Context(), s, p.Workspace(s), "PRD-009", transfer.ExportOptions{Out: &out, Force: true})
	checkpointtest.Must(t, err)
	if !slices.Contains(done.LostObjects, listing) {
		t.Errorf("lost %q, want the list %s", done.LostObjects, listing)
	}
	q := checkpointtest.NewProject(t, store.NewMemory())
	i, err := transfer.OpenImport(t.Context(), q.Open(), bytes.NewReader(out.Bytes()), "it.tar", bundle.Limits{})
	checkpointtest.Must(t, err)
	planned, err := i.PlanFiles(t.Context(), q.Workspace(q.Open()))
	checkpointtest.Must(t, errors.Join(err, i.Close()))
	if planned.Known {
		t.Errorf("the import says that it knows the captured files: %+v", planned)
	}
}

// TestExportLacksALostCheckpoint removes the file of a checkpoint that the journal can't
// replace. An export must name the checkpoint, and the archive of a forced one must be
// importable.
func TestExportLacksALostCheckpoint(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	ref := p.State().Checkpoints[0]
	checkpointtest.Compact(t, p.Open())
	entries, err := p.FS.ReadDir(p.Open().Layout().PRDDir("PRD-009"))
	checkpointtest.Must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "journal.") && e.Name() != disk.JournalName {
			checkpointtest.Must(t, p.FS.Remove(filepath.Join(p.Open().Layout().PRDDir("PRD-009"), e.Name())))
		}
	}
	for _, path := range p.FilesOf(ref.ID) {
		checkpointtest.Must(t, p.FS.Remove(path))
	}
	s := p.Open()
	var out bytes.Buffer
	_, err = transfer.Export(t.Context(), s, p.Workspace(s), "PRD-009", transfer.ExportOptions{Out: &out})
	var lacking *transfer.LackingError
	if !errors.As(err, &lacking) || len(lacking.Lacking) != 1 || string(lacking.Lacking[0].What) != ref.ID {
		t.Fatalf("an export without the checkpoint %s returned %v", ref.ID, err)
	}
	done, err := transfer.Export(t.Context(), s, p.Workspace(s), "PRD-009", transfer.ExportOptions{Out: &out, Force: true})
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "lost checkpoints", done.LostFiles, []string{ref.ID})
	q := checkpointtest.NewProject(t, store.NewMemory())
	_, err = checkpointtest.TakeIn(q.Open(), out.Bytes(), false)
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "state", q.State(), p.State())
}

// TestExportOfAnotherSession: an export must find an archived session by its id, whatever
// the current session is. If there is no session, it must say so.
func TestExportOfAnotherSession(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	s, w := p.Open(), p.Workspace(p.Open())
	var out bytes.Buffer
	if _, err := transfer.Export(t.Context(), s, w, "PRD-009", transfer.ExportOptions{Out: &out}); !errors.Is(err, checkpoint.ErrNoSession) {
		t.Errorf("an export without a session returned %v", err)
	}
	p.Begin("session-1")
	archivedBy(p)
	p.Begin("session-2")
	sessions, err := s.Reader().ArchivedOf("PRD-009", disk.PlaceFailed)
	checkpointtest.Must(t, err)
	_, err = transfer.Export(t.Context(), s, w, "PRD-009", transfer.ExportOptions{Out: &out, Session: sessions[0].State.Session})
	checkpointtest.Must(t, err)
	a := unpack(t, out.Bytes())
	if a.header.Session != "session-1" || !bytes.Contains(a.members["document.json"], []byte("session-1")) {
		t.Errorf("the archive holds the session %s, with the document %s", a.header.Session, a.members["document.json"])
	}
	q := checkpointtest.NewProject(t, store.NewMemory())
	_, err = checkpointtest.TakeIn(q.Open(), out.Bytes(), false)
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "state", q.State(), sessions[0].State)
}

// TestLackingErrorNamesFive: the message must name the first five parts that an archive
// would lack, and count the others.
func TestLackingErrorNamesFive(t *testing.T) {
	t.Parallel()
	for n, rest := range map[int]string{1: "", 5: "", 6: "; and 1 more", 9: "; and 4 more"} {
		var e transfer.LackingError
		for i := range n {
			e.Lacking = append(e.Lacking, transfer.Lacking{What: state.Text(fmt.Sprint("file ", i+1)), Reason: "lost"})
		}
		want := "the archive would lack bytes that are lost"
		for i := range min(n, 5) {
			want += fmt.Sprintf("; file %d: lost", i+1)
		}
		if want += rest; e.Error() != want {
			t.Errorf("of %d parts: %q, want %q", n, e.Error(), want)
		}
	}
}

// TestImportSavesAnEditMadeMeanwhile edits a file after the import was planned to
// overwrite it. The import must overwrite the file, and its checkpoint must hold the edit.
func TestImportSavesAnEditMadeMeanwhile(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	q := checkpointtest.NewProject(t, store.NewMemory())
	q.Save("gen/a.txt", "mine")
	s := q.Open()
	w := q.Workspace(s)
	i, err := transfer.OpenImport(t.Context(), s, bytes.NewReader(checkpointtest.Exported(p)), "it.tar", bundle.Limits{})
	checkpointtest.Must(t, err)
	planned, err := i.PlanFiles(t.Context(), w)
	checkpointtest.Must(t, err)
	_, err = i.Place(t.Context(), checkpointtest.By, transfer.PlaceOptions{Files: planned, Overwrite: true})
	checkpointtest.Must(t, errors.Join(err, i.Close()))
	q.Save("gen/a.txt", "edited meanwhile")
	done, err := transfer.RestoreImported(t.Context(), s, w, "PRD-009", planned, checkpointtest.By, true)
	checkpointtest.Must(t, err)
	if data, err := os.ReadFile(filepath.Join(q.Root, "gen", "a.txt")); err != nil || string(data) != "a" {
		t.Errorf("the file holds %q (%v) after the import", data, err)
	}
	f, err := s.ReadCheckpoint("PRD-009", done.Safety)
	checkpointtest.Must(t, err)
	l, err := w.Load(t.Context(), f.State.Capture.Listing)
	checkpointtest.Must(t, err)
	for _, e := range l.Entries {
		if e.Path == "gen/a.txt" && e.Digest != checkpointtest.DigestText("edited meanwhile") {
			t.Errorf("the checkpoint of the import does not hold the edit: %+v", e)
		}
	}
}
