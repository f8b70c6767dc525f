package inventory_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/inventory"
	"prdrunner/checkpoint/store"
)

// TestScanJournals: the quick pass names what the current session has given up, and never
// takes a PRD for smaller than it is.
func TestScanJournals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	s := p.Open()
	x := p.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "session-2", 2))) // archives the first one
	name := x.State().Phases[0].Workstreams[0].Name
	for _, content := range []string{"given up", "kept, and longer"} {
		checkpointtest.Produce(t, x, name, checkpointtest.Put(t, s, "gen/b.txt", content))
	}
	found, err := inventory.ScanJournals(ctx, x)
	checkpointtest.Must(t, err)
	if want := []string{checkpointtest.DigestText("given up")}; !slices.Equal(found.Dropped, want) || len(found.Records) != 2 || len(found.Warnings) > 0 {
		t.Errorf("dropped %q, %d records, warnings %q", found.Dropped, len(found.Records), found.Warnings)
	}
	records, err := inventory.ReadSessions(s, "PRD-009", x.State())
	checkpointtest.Must(t, err)
	held, err := inventory.Measure(ctx, s, "PRD-009", records)
	checkpointtest.Must(t, err)
	if want := held.Total + int64(len("given up")); len(records) != 2 || found.AtMost < want {
		t.Errorf("at most %d bytes; it is %d, of %d sessions", found.AtMost, want, len(records))
	}
	var files int64 // no document is written yet
	for _, dir := range []string{"PRD-009", disk.FailedDir} {
		size, err := store.TreeSize(s.Layout().FS, filepath.Join(p.Dir, dir))
		checkpointtest.Must(t, err)
		files += size
	}
	if held.Files != files {
		t.Errorf("the files have %d bytes, not %d", files, held.Files)
	}
	for _, r := range records {
		if r.Place == disk.PlaceCurrent && r.State != x.State() {
			t.Error("the state of the owner was read again")
		}
	}
	checkpointtest.Must(t, x.Close())
}

// TestDamagedArchive: an archived session that can't be read is left out of the sizes and
// of the scan, whose collection would report it.
func TestDamagedArchive(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	s := p.Open()
	x := p.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "session-2", 2))) // archives the first one
	records, err := inventory.ReadSessions(s, "PRD-009", x.State())
	checkpointtest.Must(t, err)
	for _, r := range records {
		if r.Place != disk.PlaceCurrent {
			checkpointtest.Must(t, store.WriteFile(p.FS, filepath.Join(r.Dir, disk.JournalName), []byte("garbage\n{}\n")))
		}
	}
	found, err := inventory.ScanJournals(ctx, x)
	checkpointtest.Must(t, err)
	left, err := inventory.ReadSessions(s, "PRD-009", x.State())
	checkpointtest.Must(t, err)
	if len(records) != 2 || len(left) != 1 || len(found.Records) != 1 {
		t.Errorf("%d sessions, %d of them readable; %d scanned", len(records), len(left), len(found.Records))
	}
	checkpointtest.Must(t, x.Close())
}

// TestRecorded: what the state needs is needed, also before a checkpoint has it. Of a
// session that is not the current one, only what it ever recorded is told.
func TestRecorded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := checkpointtest.InMemory(t)
	s := f.Open()
	x := f.Lock()
	for _, session := range []string{"S1", "S2"} { // starting the second one archives the first
		checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", session, 1)))
		for _, content := range []string{"given up by ", "kept by "} {
			checkpointtest.Produce(t, x, "w0", checkpointtest.Put(t, s, "out", content+session))
		}
	}
	checkpointtest.SameSpans(t, x)
	checkpointtest.Must(t, x.Close())
	records, err := inventory.ReadSessions(s, "PRD-009", nil)
	checkpointtest.Must(t, err)
	if len(records) != 2 {
		t.Fatalf("%d sessions", len(records))
	}
	for _, r := range records {
		ever, needed, err := inventory.Recorded(ctx, s, r, nil)
		checkpointtest.Must(t, err)
		kept, givenUp := checkpointtest.DigestText("kept by "+r.State.Session), checkpointtest.DigestText("given up by "+r.State.Session)
		if !ever.Needs(kept) || !ever.Needs(givenUp) {
			t.Errorf("%s: not all that it recorded is told", r.ID)
		}
		if current := r.Place == disk.PlaceCurrent; needed.Needs(kept) != current || needed.Needs(givenUp) {
			t.Errorf("%s: needs what it kept: %t, what it gave up: %t", r.ID, needed.Needs(kept), needed.Needs(givenUp))
		}
	}
}
