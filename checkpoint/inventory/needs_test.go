package inventory_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/inventory"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestNeeds follows objects through a session: what the state and the checkpoints need is
// needed, until the checkpoints or the session are treated as removed.
func TestNeeds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1") // its checkpoints have pipeline and one; the second one has a, too
	p.Continue("later")
	s := p.Open()
	x := p.Lock()
	checkpointtest.Commit(t, x, state.SessionResumed{})
	name := x.State().Phases[0].Workstreams[0].Name
	checkpointtest.Produce(t, x, name, checkpointtest.Put(t, s, "gen/a.txt", "second a"))
	p.Save("gen/a.txt", "second a")
	p.Save("later.txt", "last")
	_, err := x.Capture(ctx, p.Workspace(s), []string{"**"})
	checkpointtest.Must(t, err)
	checkpointtest.Commit(t, x)
	checkpointtest.Must(t, x.WriteDerived(ctx))
	checkpointtest.SameSpans(t, x)
	checkpointtest.Must(t, x.Close())
	checkpointtest.Put(t, s, "x", "of no session")
	ids := p.State().Checkpoints
	contents := []string{"pipeline", "one", "a", "later", "second a", "last", "of no session"}
	for what, tt := range map[string]struct {
		without inventory.Removed
		needed  string // a digit for each of contents
	}{
		"all":                         {inventory.Removed{}, "1111110"},
		"without the last checkpoint": {inventory.Removed{Checkpoints: map[string]bool{ids[2].ID: true}}, "1110110"},
		"without all checkpoints":     {inventory.Removed{Checkpoints: map[string]bool{ids[0].ID: true, ids[1].ID: true, ids[2].ID: true}}, "1100110"},
		"without the session":         {inventory.Removed{Sessions: map[string]bool{"PRD-009": true}}, "0000000"},
	} {
		inv, err := inventory.Read(ctx, s, tt.without)
		checkpointtest.Must(t, err)
		got := ""
		for _, content := range contents {
			if inv.Needs(checkpointtest.DigestText(content)) {
				got += "1"
			} else {
				got += "0"
			}
		}
		if got != tt.needed || len(inv.Sessions) != 1 {
			t.Errorf("%s: %s, want %s; sessions %v", what, got, tt.needed, inv.Sessions)
		}
	}
	records, err := inventory.ReadSessions(s, "PRD-009", nil)
	checkpointtest.Must(t, err)
	held, err := inventory.Measure(ctx, s, "PRD-009", records)
	checkpointtest.Must(t, err)
	if held.Total != held.Files+held.Objects || held.Files == 0 || held.Objects == 0 || len(held.Held) != 3 {
		t.Errorf("%d bytes of files, %d of objects; held %+v", held.Files, held.Objects, held)
	}
	for i, want := range [][]string{{}, {"a"}, {"a", "later"}} { // besides its list of files, and what the state needs
		var sizes, wanted []int64
		for _, blob := range slices.Compact(slices.Sorted(slices.Values(held.Held[ids[i].ID].Blobs))) {
			if size := held.Blobs[blob]; size <= int64(len("later")) {
				sizes = append(sizes, size)
			}
		}
		for _, content := range want {
			wanted = append(wanted, int64(len(content)))
		}
		slices.Sort(sizes)
		if !slices.Equal(sizes, wanted) || held.Held[ids[i].ID].Own == 0 {
			t.Errorf("checkpoint %d holds %v, want %v", i, sizes, wanted)
		}
	}
	checkpointtest.FlipByte(p.Fixture, "PRD-009/"+disk.JournalName, 100)
	if _, err := inventory.Read(ctx, s, inventory.Removed{}); err == nil {
		t.Error("the needs of a damaged journal are known")
	}
	if _, err := inventory.ReadSessions(s, "PRD-009", nil); err == nil {
		t.Error("the session of a damaged journal was read")
	}
	if _, err := inventory.Read(ctx, s, inventory.Removed{Sessions: map[string]bool{"PRD-009": true}}); err != nil {
		t.Errorf("a damaged session that is removed: %v", err)
	}
}

// TestNeedsOfGit: the git reference of a capture is needed until its session is treated as
// removed. A session without captures in git needs none.
func TestNeedsOfGit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.NewGitProject(t, map[string]string{"user.txt": "first"})
	ref := p.Session.State().Capture.Ref
	other := checkpointtest.LockPRD(t, p.Open(), "PRD-010")
	checkpointtest.Must(t, other.Start(checkpointtest.StartedOf("PRD-010", "T1", 1)))
	_, err := other.Capture(ctx, checkpointtest.NewProject(t, p.FS).Workspace(p.Open()), []string{"**"})
	checkpointtest.Must(t, err)
	checkpointtest.Commit(t, other)
	checkpointtest.Must(t, other.Close())
	for _, tt := range []struct {
		without inventory.Removed
		want    []string
	}{
		{inventory.Removed{}, []string{disk.RefKey(ref)}},
		{inventory.Removed{Sessions: map[string]bool{"PRD-009": true}}, nil},
	} {
		inv, err := inventory.Read(ctx, p.Open(), tt.without)
		checkpointtest.Must(t, err)
		if got := slices.Sorted(maps.Keys(inv.Refs)); ref == "" || !slices.Equal(got, tt.want) {
			t.Errorf("without %v: %q, want %q", tt.without.Sessions, got, tt.want)
		}
	}
}
