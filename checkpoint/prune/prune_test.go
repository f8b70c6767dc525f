package prune_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/inventory"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// scene is a PRD with three checkpoints, each with another version of the same artifact.
// The state needs only the last version.
type scene struct {
	*checkpointtest.Fixture
	clock     *checkpointtest.Tick
	artifacts []state.Artifact
	ids       []string
}

// newScene makes the scene with a policy that keeps all workstream_complete checkpoints,
// and then sets a policy that keeps one.
func newScene(t testing.TB, fsys store.FS) *scene {
	t.Helper()
	c := &scene{Fixture: checkpointtest.On(t, fsys, "/ws/.runner"), clock: checkpointtest.NewTick()}
	c.Options.Now = c.clock.Now
	c.Options.Policy = checkpoint.DefaultPolicy()
	delete(c.Options.Policy.Retention.Counts, string(state.TriggerWorkstreamComplete))
	s := c.Open()
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(2))))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	for i := range 3 {
		a := checkpointtest.Put(t, s, "out", fmt.Sprintf("version %d", i))
		c.artifacts = append(c.artifacts, a)
		checkpointtest.Produce(t, x, "w0", a)
		c.ids = append(c.ids, checkpointtest.Mark(t, x, state.TriggerWorkstreamComplete))
	}
	checkpointtest.Must(t, x.Close())
	c.Options.Policy.Retention.Counts[string(state.TriggerWorkstreamComplete)] = 1
	return c
}

func (c *scene) prune(t testing.TB, o prune.Options) *prune.Pruned {
	t.Helper()
	x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	p, err := prune.Run(context.Background(), x, o)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	return p
}

func removed(p *prune.Pruned) []string {
	ids := []string{}
	for _, c := range p.Checkpoints {
		ids = append(ids, c.ID)
	}
	return ids
}

// TestPruneAndCollect plans and carries out pruning and collecting. Planning must change
// nothing, pruning must remove the first two checkpoints, and collecting their objects.
// Repeating both must remove nothing.
func TestPruneAndCollect(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	s := c.Open()
	before := checkpointtest.Everything(t, c.FS, c.Dir)
	plan, err := prune.Plan(context.Background(), s, "PRD-009", prune.Options{})
	checkpointtest.Must(t, err)
	collection, err := prune.PlanCollect(context.Background(), s, nil, plan)
	checkpointtest.Must(t, err)
	if after := checkpointtest.Everything(t, c.FS, c.Dir); !maps.Equal(before, after) {
		t.Fatal("planning changed a file")
	}
	if collection.Objects != 2 || collection.Kept != 1 {
		t.Fatalf("planned %+v", collection)
	}
	done := c.prune(t, prune.Options{})
	if !slices.Equal(removed(done), c.ids[:2]) || !slices.Equal(removed(plan), c.ids[:2]) || done.Kept != 1 {
		t.Fatalf("removed %v, planned %v of %v", removed(done), removed(plan), c.ids)
	}
	if done.Checkpoints[0].Why != "only the last 1 of workstream_complete in all are kept" || done.Checkpoints[0].Bytes <= 9 {
		t.Errorf("%+v", done.Checkpoints[0])
	}
	if got := checkpointtest.Has(t, s, c.artifacts...); got != "111" {
		t.Errorf("objects %s before collecting", got)
	}
	for range 2 {
		got, err := prune.Collect(context.Background(), s, nil)
		checkpointtest.Must(t, err)
		if checkpointtest.Has(t, s, c.artifacts...) != "001" || got.Kept != 1 {
			t.Errorf("collected %+v, left %s", got, checkpointtest.Has(t, s, c.artifacts...))
		}
	}
	files, err := c.Checkpoints().IDs()
	checkpointtest.Must(t, err)
	if !slices.Equal(files, []string{c.ids[2]}) {
		t.Errorf("files of %v", files)
	}
	if again := c.prune(t, prune.Options{}); len(again.Checkpoints)+len(again.Sessions) > 0 {
		t.Errorf("again: %+v", again)
	}
}

// TestPruneLost prunes all checkpoints of a step. The result must say that no rollback
// can go to this step any more.
func TestPruneLost(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	checkpointtest.Produce(t, x, "w1")
	checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Must(t, x.Close())
	c.clock.Move(time.Hour)
	done := c.prune(t, prune.Options{OlderThan: time.Minute})
	if len(removed(done)) != 3 || len(done.Lost) != 1 && len(done.Lost) != 3 {
		t.Fatalf("%+v", done)
	}
	if !strings.Contains(done.Lost[0], "(w0) can no longer be gone back to, nor anything before it") {
		t.Errorf("lost %q", done.Lost)
	}
}

// TestSharedByTwo gives two PRDs an object in common. Collecting must wait until both are
// unlocked, and must keep an object that only the other PRD needs.
func TestSharedByTwo(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	s := c.Open()
	x := checkpointtest.LockPRD(t, s, "PRD-010")
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-010", "T1", 1)))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	checkpointtest.Produce(t, x, "w0", c.artifacts[0])
	checkpointtest.Mark(t, x, state.TriggerManual)
	c.prune(t, prune.Options{})
	var locked *checkpoint.LockedError
	var none *prune.NotCollectedError
	if _, err := prune.Collect(context.Background(), s, nil); !errors.As(err, &locked) || !errors.As(err, &none) {
		t.Fatalf("a collection while a session was locked returned %v", err)
	}
	checkpointtest.Must(t, x.Close())
	_, err := prune.Collect(context.Background(), s, nil)
	checkpointtest.Must(t, err)
	if got := checkpointtest.Has(t, s, c.artifacts...); got != "101" {
		t.Errorf("left %s", got)
	}
	checkpointtest.NeedsWhole(t, s, "PRD-010")
}

// TestNotCollected: if a session or a checkpoint can't be read, Collect can't know which
// objects it needs. Collect must remove nothing and name the PRD.
func TestNotCollected(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(c *scene){
		"a damaged journal": func(c *scene) {
			data := c.Read("PRD-010/journal.jsonl")
			data[len(data)/2] ^= 1
			c.Write("PRD-010/journal.jsonl", data)
		},
		"no journal":        func(c *scene) { checkpointtest.Must(c.T, c.FS.Remove(filepath.Join(c.Dir, "PRD-010/journal.jsonl"))) },
		"a newer version":   func(c *scene) { c.Write("failed/PRD-011-20251211T100000Z/journal.jsonl", newerJournal(c.T)) },
		"a set-aside wreck": func(c *scene) { c.Write("failed/PRD-011-20251211T100000Z/journal.jsonl", []byte("no\nno\n")) },
		"a first line cut short": func(c *scene) {
			checkpointtest.Must(c.T, c.FS.Remove(filepath.Join(c.Dir, "PRD-010/manifest.json")))
			c.Write("PRD-010/journal.jsonl", c.Read("PRD-010/journal.jsonl")[:100])
		},
		"a set-aside journal cut short": func(c *scene) {
			snap, err := c.Open().Load("PRD-010")
			checkpointtest.Must(c.T, err)
			member := disk.CheckpointMember(snap.State.Checkpoints[0].ID)
			first, _, _ := bytes.Cut(c.Read("PRD-010/journal.jsonl"), []byte("\n"))
			c.Write("failed/PRD-010-20251211T100000Z/journal.jsonl", append(first, '\n'))
			c.Write("failed/PRD-010-20251211T100000Z/"+member, c.Read("PRD-010/"+member))
		},
		"a newer checkpoint": func(c *scene) { c.loseCheckpoint(`{"format_version":"9.0"}`) },
		"a lost checkpoint":  func(c *scene) { c.loseCheckpoint("") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newScene(t, store.NewMemory())
			s := c.Open()
			x := checkpointtest.LockPRD(t, s, "PRD-010")
			checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-010", "T1", 1)))
			checkpointtest.Mark(t, x, state.TriggerStart)
			checkpointtest.Must(t, x.Close())
			c.prune(t, prune.Options{})
			c.T = t
			damage(c)
			_, err := prune.Collect(context.Background(), s, nil)
			var none *prune.NotCollectedError
			if !errors.As(err, &none) || !strings.Contains(err.Error(), "PRD-01") {
				t.Fatalf("collect: %v", err)
			}
			if got := checkpointtest.Has(t, s, c.artifacts...); got != "111" {
				t.Errorf("left %s", got)
			}
		})
	}
}

func newerJournal(t testing.TB) []byte {
	t.Helper()
	c := state.Commit{Seq: 1, Time: time.Now(), Prev: journal.Genesis, Events: []state.Event{state.SessionStarted{FormatVersion: "9.0", Session: "N", PRD: "PRD-011"}}}
	line, err := journal.NewEncoder().Line(&c)
	checkpointtest.Must(t, err)
	return line
}

// loseCheckpoint replaces the journal of PRD-010 by one that begins after its checkpoint.
// It also replaces the content of the checkpoint's file, or removes the file if content
// is "".
func (c *scene) loseCheckpoint(content string) {
	c.T.Helper()
	snap, err := c.Open().Load("PRD-010")
	checkpointtest.Must(c.T, err)
	commit := state.Commit{Seq: snap.State.Seq, Time: snap.State.UpdatedAt, State: snap.State, Prev: journal.Genesis}
	line, err := journal.NewEncoder().Line(&commit)
	checkpointtest.Must(c.T, err)
	c.Write("PRD-010/journal.jsonl", line)
	name := "PRD-010/" + disk.CheckpointMember(snap.State.Checkpoints[0].ID)
	if content == "" {
		checkpointtest.Must(c.T, c.FS.Remove(filepath.Join(c.Dir, name)))
		return
	}
	c.Write(name, []byte(content))
}

// TestRescuedIsNeeded collects while a session has a rescue copy that the next owner is
// going to adopt. The objects of the copy's state and checkpoints must be kept. Those of
// the journal's state must be kept, too, since the copy may be lost before it is adopted.
func TestRescuedIsNeeded(t *testing.T) {
	t.Parallel()
	for name, adopted := range map[string]bool{"adopted": true, "gone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := &faults.Faulty{FS: store.NewMemory(), Op: "write", Part: "PRD-009/journal.jsonl"}
			c := newScene(t, bad)
			s := c.Open()
			x := checkpointtest.LockPRD(t, s, "PRD-009")
			of := map[string]state.Artifact{}
			for _, when := range []string{"before", "checkpoint", "head"} {
				of[when] = checkpointtest.Put(t, s, "new", "only that of the "+when)
			}
			checkpointtest.Produce(t, x, "w1", of["before"])
			bad.On.Store(true)
			x.Add(state.WorkstreamStarted{Workstream: "w1", Attempt: 2}, state.WorkstreamCompleted{Workstream: "w1", Work: &state.Work{Attempt: 2, Artifacts: []state.Artifact{of["checkpoint"]}}})
			id, _ := x.Checkpoint(state.TriggerManual, "", nil)
			x.Flush()
			x.Add(state.WorkstreamStarted{Workstream: "w1", Attempt: 3}, state.WorkstreamCompleted{Workstream: "w1", Work: &state.Work{Attempt: 3, Artifacts: []state.Artifact{of["head"]}}})
			if _, err := x.Drain(context.Background()); err == nil {
				t.Fatal("the write to the journal did not fail")
			}
			_ = x.Close()
			bad.On.Store(false)
			_, err := prune.Collect(context.Background(), s, nil)
			checkpointtest.Must(t, err)
			if got := checkpointtest.Has(t, s, of["before"], of["checkpoint"], of["head"]); got != "111" {
				t.Errorf("left %s", got)
			}
			if !adopted {
				snap, err := s.Load("PRD-009")
				checkpointtest.Must(t, err)
				checkpointtest.Must(t, bad.Remove(snap.RescuePath))
			}
			x = checkpointtest.LockPRD(t, s, "PRD-009")
			if got := x.State().Checkpoint(id) != nil; got != adopted {
				t.Errorf("the checkpoint of the rescue copy exists: %v", got)
			}
			checkpointtest.Must(t, x.Close())
			checkpointtest.NeedsWhole(t, s, "PRD-009")
		})
	}
}

// TestWhereItStands rolls back and prunes with a policy that keeps no workstream_complete
// checkpoints. The target of the rollback must stay, although the checkpoint that undoes
// the rollback is newer and valid. Neither may be deleted without Force.
func TestWhereItStands(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	c.Options.Policy.Retention.Counts[string(state.TriggerWorkstreamComplete)] = 0
	x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	_, err := rollback.Run(context.Background(), x, nil, rollback.Options{To: c.ids[0], Scope: state.RollbackState, By: checkpointtest.By})
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	c.prune(t, prune.Options{})
	snap, err := c.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	if current := snap.State.CurrentCheckpoint(); current == nil || current.ID != c.ids[0] {
		t.Errorf("the current checkpoint is %+v", current)
	}
	for _, id := range []string{c.ids[0], snap.State.NewestUsable().ID} {
		_, err := prune.PlanDelete(context.Background(), c.Open(), "PRD-009", prune.DeleteOptions{References: []string{id}})
		if kept := (*prune.KeptError)(nil); !errors.As(err, &kept) || kept.ID != id || !kept.Newest {
			t.Errorf("delete %s: %v", id, err)
		}
	}
}

// TestUnfinishedRollback leaves a rollback unfinished and continues the session. The two
// checkpoints of the rollback and their objects must not be pruned, deleted or collected,
// and the session can be neither archived nor deleted.
func TestUnfinishedRollback(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newScene(t, store.NewMemory())
	s := c.Open()
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	checkpointtest.Produce(t, x, "w0", checkpointtest.Put(t, s, "out", "version 3"))
	c.artifacts = append(c.artifacts, x.State().Workstream("w0").Artifacts[0])
	safety := checkpointtest.Mark(t, x, state.TriggerPreRollback)
	checkpointtest.Commit(t, x, state.RollbackStarted{ID: "R1", To: c.ids[1], ToSeq: 5, Safety: safety, Scope: state.RollbackState, By: checkpointtest.By})
	checkpointtest.Produce(t, x, "w0")
	checkpointtest.Mark(t, x, state.TriggerManual)
	for _, id := range []string{c.ids[1], safety} {
		if _, err := prune.Delete(ctx, x, prune.DeleteOptions{References: []string{id}, Force: true}); err == nil || !strings.Contains(err.Error(), "rollback") {
			t.Errorf("delete %s: %v", id, err)
		}
	}
	if _, err := x.Archive(ctx, checkpointtest.By, ""); !isUnfinished(err) {
		t.Errorf("archive: %v", err)
	}
	c.clock.Move(time.Hour)
	p, err := prune.Run(ctx, x, prune.Options{OlderThan: time.Minute})
	checkpointtest.Must(t, err)
	if want := []string{c.ids[0], c.ids[2]}; !slices.Equal(removed(p), want) {
		t.Errorf("removed %v, want %v", removed(p), want)
	}
	checkpointtest.Commit(t, x, state.CheckpointsRemoved{IDs: []string{c.ids[1], safety}}) // as an earlier version of Runner might do
	checkpointtest.Must(t, x.Close())
	if err := s.DeleteSession(ctx, "PRD-009", checkpointtest.By); !isUnfinished(err) {
		t.Errorf("delete the session: %v", err)
	}
	if _, err := prune.Collect(ctx, s, nil); err != nil && !strings.Contains(err.Error(), c.ids[1]) && !strings.Contains(err.Error(), safety) {
		t.Errorf("collect: %v", err)
	}
	if got := checkpointtest.Has(t, s, c.artifacts[1], c.artifacts[3]); got != "11" {
		t.Errorf("left %s", got)
	}
}

// TestPrunedSessions: Collect must keep the objects of an archived session. Once pruning
// has removed the session because of its age, Collect must remove them. Pruning must not
// remove a session that its plan does not have.
func TestPrunedSessions(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	s := c.Open()
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	at, err := x.Abandon(state.SessionAbandoned{By: checkpointtest.By})
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S2", 1)))
	checkpointtest.Must(t, x.Close())
	_, err = prune.Collect(context.Background(), s, nil)
	checkpointtest.Must(t, err)
	if got := checkpointtest.Has(t, s, c.artifacts...); got != "111" {
		t.Fatalf("an archived session lost objects: %s", got)
	}
	c.clock.Move(40 * 24 * time.Hour)
	x = checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	checkpointtest.Must(t, x.Close())
	c.clock.Move(time.Hour)
	if none := c.prune(t, prune.Options{OlderThan: 24 * time.Hour, Planned: &prune.Pruned{PRD: "PRD-009"}}); len(none.Sessions) > 0 {
		t.Errorf("sessions removed that were not planned: %+v", none.Sessions)
	}
	done := c.prune(t, prune.Options{OlderThan: 24 * time.Hour})
	if len(done.Sessions) != 1 || done.Sessions[0].ID != "failed/"+filepath.Base(at) {
		t.Fatalf("%+v", done)
	}
	if checkpointtest.IsThere(t, c.Open(), at) {
		t.Error("the session still exists")
	}
	got, err := prune.Collect(context.Background(), s, nil)
	checkpointtest.Must(t, err)
	if checkpointtest.Has(t, s, c.artifacts...) != "000" || checkpointtest.IsThere(t, s, s.Layout().TrashPath()) || got.Objects != 3 {
		t.Errorf("collected %+v", got)
	}
}

// TestCollectKeepsWhatIsOnTheWay leaves a session in the middle of an archiving, import
// or deletion. Collect must keep the objects of the archived session, and those of the
// moved session unless a deletion was begun. The next owner must find nothing missing.
func TestCollectKeepsWhatIsOnTheWay(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		dirOf func(s *checkpoint.Store) string
		want  string // of the objects of the history, and of the session's own
	}{
		"archiving": {func(s *checkpoint.Store) string { return s.Layout().ArchivingPath("PRD-009") }, "1111"},
		"importing": {func(s *checkpoint.Store) string { return s.Layout().ImportingPath("PRD-009") }, "1111"},
		"deleting":  {func(s *checkpoint.Store) string { return s.Layout().DeletingPath("PRD-009") }, "1110"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := store.NewMemory()
			c := newScene(t, m)
			s := c.Open()
			x := checkpointtest.LockPRD(t, s, "PRD-009")
			checkpointtest.Commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
			checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S2", 1))) // S1 is in its history
			checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
			own := checkpointtest.Put(t, s, "out", "of the second session")
			checkpointtest.Produce(t, x, "w0", own)
			checkpointtest.Mark(t, x, state.TriggerManual)
			checkpointtest.Must(t, x.Close())
			checkpointtest.Must(t, m.Remove(s.Layout().DocumentPath("PRD-009")))
			checkpointtest.Must(t, m.Rename(s.Layout().PRDDir("PRD-009"), way.dirOf(s)))
			if name == "importing" { // an import has no history; the PRD that it replaces has one
				checkpointtest.Must(t, store.MkdirAll(m, s.Layout().PRDDir("PRD-009")))
				checkpointtest.Must(t, m.Rename(filepath.Join(way.dirOf(s), disk.HistoryDir), s.Layout().HistoryPath("PRD-009")))
			}
			_, err := prune.Collect(context.Background(), s, nil)
			checkpointtest.Must(t, err)
			if got := checkpointtest.Has(t, s, append(slices.Clone(c.artifacts), own)...); got != way.want {
				t.Errorf("left %s, want %s", got, way.want)
			}
			checkpointtest.Must(t, checkpointtest.LockPRD(t, s, "PRD-009").Close())
			checkpointtest.NeedsWhole(t, s, "PRD-009")
		})
	}
}

// TestDelete: Delete must refuse pinned, newest and unknown checkpoints, and then delete
// none of the given ones. With Force it deletes the newest.
func TestDelete(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	_, _, err := x.Pin(context.Background(), c.ids[1], true, checkpointtest.By, "")
	checkpointtest.Must(t, err)
	for ref, why := range map[string]string{c.ids[1]: "pinned", c.ids[2]: "newest", "CP-none": "no such checkpoint"} {
		if _, err := prune.Delete(context.Background(), x, prune.DeleteOptions{References: []string{c.ids[0], ref}}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if len(x.State().Checkpoints) != 3 {
		t.Fatal("a refused deletion removed a checkpoint")
	}
	p, err := prune.Delete(context.Background(), x, prune.DeleteOptions{References: []string{c.ids[0], c.ids[2]}, Force: true, Reason: "tidying"})
	checkpointtest.Must(t, err)
	if len(p.Checkpoints) != 2 || p.Kept != 1 || p.Freed == 0 || len(x.State().Checkpoints) != 1 {
		t.Errorf("%+v", p)
	}
	checkpointtest.Must(t, x.Close())
	if !bytes.Contains(c.Read("PRD-009/journal.jsonl"), []byte(`"reason":"deleted: tidying"`)) {
		t.Error("the journal does not have the reason that the user gave")
	}
	_, err = prune.Collect(context.Background(), c.Open(), nil)
	checkpointtest.Must(t, err)
	if got := checkpointtest.Has(t, c.Open(), c.artifacts...); got != "011" { // the state needs the last one
		t.Errorf("left %s", got)
	}
}

// holdings returns how much the PRD takes on disk.
func holdings(t *testing.T, s *checkpoint.Store) inventory.Holdings {
	t.Helper()
	records, err := inventory.ReadSessions(s, "PRD-009", nil)
	checkpointtest.Must(t, err)
	held, err := inventory.Measure(t.Context(), s, "PRD-009", records)
	checkpointtest.Must(t, err)
	return *held
}

// TestSizeLimit: Tidy must remove checkpoints and objects until the PRD takes less than
// the limit. If the newest checkpoint alone exceeds the limit, Tidy must keep that
// checkpoint and warn.
func TestSizeLimit(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	c.Options.Policy.Retention.Counts[string(state.TriggerSessionEnd)] = 100
	s := c.Open()
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	for i := range 4 {
		checkpointtest.Produce(t, x, "w1", checkpointtest.Put(t, s, "large", strings.Repeat(fmt.Sprint(i), retention.Megabyte/2)))
		checkpointtest.Mark(t, x, state.TriggerSessionEnd)
	}
	checkpointtest.Must(t, x.Close())
	if held := holdings(t, s); held.Objects < 2*retention.Megabyte || held.Objects > 2*retention.Megabyte+100 || held.Files < 1000 {
		t.Errorf("the PRD takes %d bytes in files, %d in objects", held.Files, held.Objects)
	}
	c.Options.Policy.Retention.MaxSizeMB = 1
	x = checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	tidied, err := prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	if len(tidied.Pruned.Checkpoints) == 0 || tidied.Collected.Objects < 2 || len(tidied.Warnings) != 0 {
		t.Errorf("%+v", tidied)
	}
	if held := holdings(t, s); held.Objects > retention.Megabyte {
		t.Errorf("the PRD takes %d bytes in objects after Tidy", held.Objects)
	}
	checkpointtest.NeedsWhole(t, s, "PRD-009")
	x = checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	checkpointtest.Produce(t, x, "w1", checkpointtest.Put(t, s, "large", strings.Repeat("large", retention.Megabyte)))
	checkpointtest.Mark(t, x, state.TriggerSessionEnd)
	tidied, err = prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	if len(tidied.Warnings) != 1 || !strings.Contains(tidied.Warnings[0], "raise checkpoint.storage.max_size_mb") || strings.Contains(tidied.Warnings[0], "\n") {
		t.Errorf("warnings %q", tidied.Warnings)
	}
}

// TestNoSizeLimit: without a limit on the size, pruning must not read what checkpoints
// need, and so must not warn about a lost one. With a limit it must warn.
func TestNoSizeLimit(t *testing.T) {
	t.Parallel()
	for limit, warnings := range map[int]int{0: 0, 50: 1} {
		c := newScene(t, store.NewMemory())
		c.Options.Policy.Retention.MaxSizeMB = limit
		x := checkpointtest.LockPRD(t, c.Open(), "PRD-010")
		checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-010", "T1", 1)))
		checkpointtest.Mark(t, x, state.TriggerStart)
		checkpointtest.Must(t, x.Close())
		c.loseCheckpoint("")
		planned, err := prune.Plan(t.Context(), c.Open(), "PRD-010", prune.Options{})
		checkpointtest.Must(t, err)
		x = checkpointtest.LockPRD(t, c.Open(), "PRD-010")
		done, err := prune.Run(t.Context(), x, prune.Options{})
		checkpointtest.Must(t, err)
		checkpointtest.Must(t, x.Close())
		if len(planned.Warnings) != warnings || len(done.Warnings) != warnings {
			t.Errorf("limit %d MB: warned %q and planned %q, want %d warnings", limit, done.Warnings, planned.Warnings, warnings)
		}
	}
}

// TestDeleteSession: a locked session can't be deleted. A deletion must keep the archived
// sessions of the PRD and their objects, and must work for a damaged session.
func TestDeleteSession(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newScene(t, store.NewMemory())
	s := c.Open()
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	var locked *checkpoint.LockedError
	if err := s.DeleteSession(ctx, "PRD-009", checkpointtest.By); !errors.As(err, &locked) {
		t.Errorf("deleted while the session had an owner: %v", err)
	}
	checkpointtest.Commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S2", 1)))
	checkpointtest.Must(t, x.Close())
	checkpointtest.Must(t, s.DeleteSession(ctx, "PRD-009", checkpointtest.By))
	if _, err := s.Load("PRD-009"); !errors.Is(err, checkpoint.ErrNoSession) {
		t.Errorf("load: %v", err)
	}
	if err := s.DeleteSession(ctx, "PRD-010", checkpointtest.By); !errors.Is(err, checkpoint.ErrNoSession) {
		t.Errorf("delete nothing: %v", err)
	}
	c.Read("PRD-009/history/S1/journal.jsonl")
	_, err := prune.Collect(ctx, s, nil)
	checkpointtest.Must(t, err)
	if got := checkpointtest.Has(t, s, c.artifacts...); got != "111" || checkpointtest.IsThere(t, s, s.Layout().TrashPath()) {
		t.Errorf("the history lost objects: %s", got)
	}
	c.Write("PRD-010/journal.jsonl", []byte("no\nno\n"))
	checkpointtest.Must(t, s.DeleteSession(ctx, "PRD-010", checkpointtest.By)) // a damaged session can be deleted
}

func isUnfinished(err error) bool {
	var unfinished *checkpoint.UnfinishedRollbackError
	return errors.As(err, &unfinished)
}

// TestPruneAsPlanned carries out a plan, at once and after more checkpoints were made.
// Pruning must do what was planned. After a change it must remove only those planned
// checkpoints that may still be removed.
func TestPruneAsPlanned(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		since  bool // another checkpoint was made
		asSaid bool
	}{{"at once", false, true}, {"later", true, false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			c := newScene(t, store.NewMemory())
			s := c.Open()
			c.clock.Move(time.Hour)
			o := prune.Options{OlderThan: time.Minute}
			plans, errs := prune.PlanAll(ctx, s, []string{"PRD-009", "PRD-404"}, o)
			checkpointtest.Must(t, errs[0])
			if !errors.Is(errs[1], checkpoint.ErrNoSession) {
				t.Errorf("of a PRD without a session: %v", errs[1])
			}
			x := checkpointtest.LockPRD(t, s, "PRD-009")
			if test.since {
				checkpointtest.Mark(t, x, state.TriggerManual)
				checkpointtest.Mark(t, x, state.TriggerManual)
				c.clock.Move(time.Hour)
				checkpointtest.Mark(t, x, state.TriggerManual)
				if anew, err := prune.Plan(ctx, s, "PRD-009", o); err != nil || len(anew.Checkpoints) <= len(plans[0].Checkpoints) {
					t.Fatalf("the second plan removes %v (%v), the first one %v", removed(anew), err, removed(plans[0]))
				}
			}
			o.Planned = plans[0]
			p, err := prune.Run(ctx, x, o)
			checkpointtest.Must(t, err)
			if len(p.Checkpoints) == 0 || (p == plans[0]) != test.asSaid {
				t.Errorf("removed %v; returned the plan itself: %t", removed(p), p == plans[0])
			}
			for _, id := range removed(p) {
				if !slices.Contains(removed(plans[0]), id) {
					t.Errorf("%s was removed, but not planned", id)
				}
			}
			for _, ref := range x.State().Checkpoints {
				if slices.Contains(removed(p), ref.ID) {
					t.Errorf("%s still exists", ref.ID)
				}
			}
			checkpointtest.Must(t, x.Close())
		})
	}
}

// TestAddTo: the line of the audit log must name everything that was removed, and each
// reason once, unless a person gave a reason.
func TestAddTo(t *testing.T) {
	t.Parallel()
	removal := func(id, why string) prune.RemovedCheckpoint {
		return prune.RemovedCheckpoint{CheckpointRef: &state.CheckpointRef{ID: id}, Why: why}
	}
	removed := &prune.Pruned{
		Checkpoints: []prune.RemovedCheckpoint{removal("CP-1", "too old"), removal("CP-2", "only the last"), removal("CP-3", "too old")},
		Sessions:    []prune.RemovedSession{{ID: "failed/x", Why: "too old"}},
	}
	for name, test := range map[string]struct {
		p       *prune.Pruned
		was     checkpoint.AuditRecord
		becomes checkpoint.AuditRecord
	}{
		"nothing":       {nil, checkpoint.AuditRecord{IDs: []string{"R1"}}, checkpoint.AuditRecord{IDs: []string{"R1"}}},
		"by the policy": {removed, checkpoint.AuditRecord{IDs: []string{"R1"}}, checkpoint.AuditRecord{IDs: []string{"R1", "CP-1", "CP-2", "CP-3", "failed/x"}, Reason: "only the last; too old"}},
		"by a person":   {removed, checkpoint.AuditRecord{Reason: "no room"}, checkpoint.AuditRecord{IDs: []string{"CP-1", "CP-2", "CP-3", "failed/x"}, Reason: "no room"}},
	} {
		test.p.AddTo(&test.was)
		checkpointtest.Same(t, name, test.was, test.becomes)
	}
}

// TestPruneKeepsWhatHappenedOnce: pruning must keep an archived session if no other
// session records that a `once` workstream happened in it. If the current session records
// that, pruning removes the archived one.
func TestPruneKeepsWhatHappenedOnce(t *testing.T) {
	t.Parallel()
	shape := state.Shape{Phases: []state.PhaseShape{{Name: "all", Workstreams: []state.WorkstreamShape{{Name: "pay", Batch: 1, Once: true}}}}}
	for name, known := range map[string]bool{"known": true, "not known": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newScene(t, store.NewMemory())
			x := checkpointtest.LockPRD(t, c.Open(), "PRD-010")
			paid := checkpointtest.Started("T1", shape)
			paid.PRD = "PRD-010"
			checkpointtest.Must(t, x.Start(paid))
			checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
			checkpointtest.Produce(t, x, "pay")
			next := checkpointtest.Started("T2", shape)
			next.PRD = "PRD-010"
			if known {
				next.Acts = x.State().KnownActs()
			}
			checkpointtest.Must(t, x.Start(next)) // archives T1
			c.clock.Move(time.Hour)
			checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
			checkpointtest.Must(t, x.Close())
			p, err := prune.Plan(t.Context(), c.Open(), "PRD-010", prune.Options{OlderThan: time.Minute})
			checkpointtest.Must(t, err)
			if (len(p.Sessions) == 1) != known {
				t.Errorf("sessions to remove: %+v", p.Sessions)
			}
		})
	}
}
