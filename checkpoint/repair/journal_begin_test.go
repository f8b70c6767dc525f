package repair_test

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
)

// TestRebuildJournalFromFilesAlone damages the first line of a journal whose document and
// manifest are gone, so that only the checkpoint files say which session it was. If they
// are of several sessions, or none is whole, the rebuild must say so and change nothing.
func TestRebuildJournalFromFilesAlone(t *testing.T) {
	t.Parallel()
	other := checkpointtest.InMemory(t)
	x := other.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S2", checkpointtest.Cashier())))
	foreign := checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Must(t, x.Close())
	for name, test := range map[string]struct {
		change func(f *checkpointtest.Fixture, ids []string)
		err    string
	}{
		"of one session": {func(*checkpointtest.Fixture, []string) {}, ""},
		"of two sessions": {func(f *checkpointtest.Fixture, _ []string) {
			f.Write(f.CheckpointFile(foreign), other.Read(other.CheckpointFile(foreign)))
		}, "checkpoints of several sessions"},
		"all damaged": {func(f *checkpointtest.Fixture, ids []string) {
			for _, id := range ids {
				checkpointtest.FlipByte(f, f.CheckpointFile(id), 100)
			}
		}, "no checkpoint file is whole"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.InMemory(t)
			ids := checkpointtest.Stopped(f)
			f.Write("PRD-009/journal.jsonl", flipped(f.Read("PRD-009/journal.jsonl"), 20))
			for _, path := range []string{f.Open().Layout().DocumentPath("PRD-009"), f.Open().Layout().ManifestPath("PRD-009")} {
				checkpointtest.Must(t, f.FS.Remove(path))
			}
			test.change(f, ids)
			before := checkpointtest.Everything(t, f.FS, filepath.Join(f.Dir, "PRD-009"))
			r, err := repair.PlanJournalRebuild(f.Open(), "PRD-009")
			checkpointtest.Untouched(t, "a plan", checkpointtest.Everything(t, f.FS, filepath.Join(f.Dir, "PRD-009")), before)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("the plan returned %v, want %q", err, test.err)
				}
				return
			}
			if checkpointtest.Must(t, err); r.Session != "S1" || r.From != ids[2] {
				t.Errorf("the new journal of session %s would begin with %s, want S1 and %s", r.Session, r.From, ids[2])
			}
		})
	}
}

// TestRebuildJournalIgnoresEmptySegments damages a compacted journal beside an empty
// file with the name of an earlier journal. The rebuild must begin with the earlier
// journal that holds commits.
func TestRebuildJournalIgnoresEmptySegments(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	ids := checkpointtest.Stopped(f)
	checkpointtest.Compact(t, f.Open())
	f.Write("PRD-009/journal.1-1.jsonl", nil)
	f.Write("PRD-009/journal.jsonl", flipped(f.Read("PRD-009/journal.jsonl"), 20))
	r, err := repair.RebuildJournal(t.Context(), f.Open(), "PRD-009", checkpointtest.By)
	checkpointtest.Must(t, err)
	if r.Session != "S1" || r.From != "" || r.Step != 4 || len(r.Gone) > 0 || len(r.State().Checkpoints) != len(ids) {
		t.Errorf("rebuilt %+v, want session S1 at its fourth step with its %d checkpoints", r, len(ids))
	}
}

// TestRebuildJournalTellsLostEvents loses commits that can be read. The rebuild must list
// each of their events with its subject, among them those of a rollback that the state
// does not include.
func TestRebuildJournalTellsLostEvents(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	to, safety := goneBack(f, repair.RollbackCarriedOut)
	checkpointtest.FlipByte(f, f.CheckpointFile(safety), 100)
	x := f.Lock()
	checkpointtest.Commit(t, x, state.PauseAsked{By: checkpointtest.By})
	checkpointtest.Must(t, x.Close())
	f.Write("PRD-009/journal.jsonl", early(linesOf(f.Read("PRD-009/journal.jsonl"))))
	r, err := repair.PlanJournalRebuild(f.Open(), "PRD-009")
	checkpointtest.Must(t, err)
	var events []string
	for _, c := range r.Lost {
		events = append(events, c.Events...)
	}
	for _, want := range []string{"checkpoint.created " + safety, "rollback.started " + to, "rollback.completed", "pause.requested"} {
		if !slices.Contains(events, want) {
			t.Errorf("the lost events are %q, want %q among them", events, want)
		}
	}
}

// TestRebuildFromAnotherFile loses an object whose bytes a file of another name has, in a
// session with a checkpoint that captured nothing. The rebuild must take them from there.
func TestRebuildFromAnotherFile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.InMemory(t)
	project := &checkpointtest.Project{Fixture: p, Root: t.TempDir()}
	s := p.Open()
	w, x := project.Workspace(s), p.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(1))))
	checkpointtest.Mark(t, x, state.TriggerManual)
	project.Save("a", "first")
	id := project.Capture(x, w, state.TriggerManual)
	object, _, err := s.Objects().Path(checkpointtest.DigestText("first"))
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, p.FS.Remove(object))
	project.Save("a", "second")
	project.Save("b", "first")
	rebuilt, err := repair.RebuildCheckpoints(ctx, x, w, nil)
	checkpointtest.Must(t, err)
	if len(rebuilt) != 1 || rebuilt[0].ID != id || !rebuilt[0].Whole() || !slices.Equal(rebuilt[0].Files, []state.Text{"a"}) {
		t.Errorf("rebuilt %+v, want %s with the file a", rebuilt, id)
	}
	if data, err := s.Objects().Get(ctx, checkpointtest.DigestText("first"), 100); err != nil || !bytes.Equal(data, []byte("first")) {
		t.Errorf("the object holds %q (%v)", data, err)
	}
	checkpointtest.Must(t, x.Close())
}
