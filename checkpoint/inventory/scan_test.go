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
