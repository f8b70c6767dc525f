package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
	"prdrunner/checkpoint/workspace"
)

// scene is a PRD with three checkpoints and three versions of one artifact, of
// which the middle one is no longer needed by the state.
type scene struct {
	*fixture
	clock     *tick
	artifacts []state.Artifact
	ids       []string
}

// newScene counts one workstream_complete checkpoint less than it makes, by
// keeping all while it makes them.
func newScene(t testing.TB, fsys store.FS) *scene {
	t.Helper()
	c := &scene{fixture: on(t, fsys, "/ws/.runner"), clock: newTick()}
	c.o.Now = c.clock.now
	c.o.Policy = DefaultPolicy()
	delete(c.o.Policy.Retention.Counts, string(state.TriggerWorkstreamComplete))
	s := c.open()
	x := lockPRD(t, s, "PRD-009")
	must(t, x.Start(started("S1", wide(2))))
	commit(t, x, state.PhaseStarted{Phase: "all"})
	for i := range 3 {
		a := put(t, s, "out", fmt.Sprintf("version %d", i))
		c.artifacts = append(c.artifacts, a)
		produce(t, x, "w0", a)
		c.ids = append(c.ids, mark(t, x, state.TriggerWorkstreamComplete))
	}
	must(t, x.Close())
	c.o.Policy.Retention.Counts[string(state.TriggerWorkstreamComplete)] = 1
	return c
}

func (c *scene) prune(t testing.TB, o PruneOptions) *Pruned {
	t.Helper()
	x := lockPRD(t, c.open(), "PRD-009")
	p, err := x.Prune(context.Background(), o)
	must(t, err)
	must(t, x.Close())
	return p
}

func (p *Pruned) removed() []string {
	ids := []string{}
	for _, c := range p.Checkpoints {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestPruneAndCollect(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	s := c.open()
	before := everything(t, c.fs, c.dir)
	plan, err := s.PlanPrune(context.Background(), "PRD-009", PruneOptions{})
	must(t, err)
	ahead, err := s.PlanCollect(context.Background(), nil, plan)
	must(t, err)
	if after := everything(t, c.fs, c.dir); !maps.Equal(before, after) {
		t.Fatal("looking ahead changed something")
	}
	if ahead.Objects != 2 || ahead.Kept != 1 {
		t.Fatalf("ahead %+v", ahead)
	}
	done := c.prune(t, PruneOptions{})
	if !slices.Equal(done.removed(), c.ids[:2]) || !slices.Equal(plan.removed(), c.ids[:2]) || done.Kept != 1 {
		t.Fatalf("removed %v, planned %v of %v", done.removed(), plan.removed(), c.ids)
	}
	if done.Checkpoints[0].Why != "only the last 1 of workstream_complete in all are kept" || done.Checkpoints[0].Bytes <= 9 {
		t.Errorf("%+v", done.Checkpoints[0])
	}
	if got := has(t, s, c.artifacts...); got != "111" {
		t.Errorf("objects %s before collecting", got)
	}
	for range 2 {
		got, err := s.Collect(context.Background(), nil)
		must(t, err)
		if has(t, s, c.artifacts...) != "001" || got.Kept != 1 {
			t.Errorf("collected %+v, left %s", got, has(t, s, c.artifacts...))
		}
	}
	files, err := c.checkpoints().IDs()
	must(t, err)
	if !slices.Equal(files, []string{c.ids[2]}) {
		t.Errorf("files of %v", files)
	}
	if again := c.prune(t, PruneOptions{}); len(again.Checkpoints)+len(again.Sessions) > 0 {
		t.Errorf("again: %+v", again)
	}
}

// TestPruneLost says what can no longer be gone back to.
func TestPruneLost(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	x := lockPRD(t, c.open(), "PRD-009")
	produce(t, x, "w1")
	mark(t, x, state.TriggerManual)
	must(t, x.Close())
	c.clock.move(time.Hour)
	done := c.prune(t, PruneOptions{OlderThan: time.Minute})
	if len(done.removed()) != 3 || len(done.Lost) != 1 && len(done.Lost) != 3 {
		t.Fatalf("%+v", done)
	}
	if !strings.Contains(done.Lost[0], "(w0) can no longer be gone back to, nor anything before it") {
		t.Errorf("lost %q", done.Lost)
	}
}

// TestSharedByTwo: what another PRD needs stays.
func TestSharedByTwo(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	s := c.open()
	x := lockPRD(t, s, "PRD-010")
	must(t, x.Start(startedOf("PRD-010", "T1", 1)))
	commit(t, x, state.PhaseStarted{Phase: "all"})
	produce(t, x, "w0", c.artifacts[0])
	mark(t, x, state.TriggerManual)
	c.prune(t, PruneOptions{})
	var locked *LockedError
	if _, err := s.Collect(context.Background(), nil); !errors.As(err, &locked) {
		t.Fatalf("collected beside a writer: %v", err)
	}
	must(t, x.Close())
	_, err := s.Collect(context.Background(), nil)
	must(t, err)
	if got := has(t, s, c.artifacts...); got != "101" {
		t.Errorf("left %s", got)
	}
	needsWhole(t, s, "PRD-010")
}

// TestNotCollected: whoever does not know what is needed removes nothing.
func TestNotCollected(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(c *scene){
		"a damaged journal": func(c *scene) {
			data := c.read("PRD-010/journal.jsonl")
			data[len(data)/2] ^= 1
			c.write("PRD-010/journal.jsonl", data)
		},
		"no journal":        func(c *scene) { must(c.t, c.fs.Remove(filepath.Join(c.dir, "PRD-010/journal.jsonl"))) },
		"a newer version":   func(c *scene) { c.write("failed/PRD-011-20251211T100000Z/journal.jsonl", newerJournal(c.t)) },
		"a set-aside wreck": func(c *scene) { c.write("failed/PRD-011-20251211T100000Z/journal.jsonl", []byte("no\nno\n")) },
		"a first line cut short": func(c *scene) {
			must(c.t, c.fs.Remove(filepath.Join(c.dir, "PRD-010/manifest.json")))
			c.write("PRD-010/journal.jsonl", c.read("PRD-010/journal.jsonl")[:100])
		},
		"a set-aside journal cut short": func(c *scene) {
			snap, err := c.open().Load("PRD-010")
			must(c.t, err)
			member := disk.CheckpointMember(snap.State.Checkpoints[0].ID)
			first, _, _ := bytes.Cut(c.read("PRD-010/journal.jsonl"), []byte("\n"))
			c.write("failed/PRD-010-20251211T100000Z/journal.jsonl", append(first, '\n'))
			c.write("failed/PRD-010-20251211T100000Z/"+member, c.read("PRD-010/"+member))
		},
		"a newer checkpoint": func(c *scene) { c.loseCheckpoint(`{"format_version":"9.0"}`) },
		"a lost checkpoint":  func(c *scene) { c.loseCheckpoint("") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newScene(t, store.NewMemory())
			s := c.open()
			x := lockPRD(t, s, "PRD-010")
			must(t, x.Start(startedOf("PRD-010", "T1", 1)))
			mark(t, x, state.TriggerStart)
			must(t, x.Close())
			c.prune(t, PruneOptions{})
			c.t = t
			damage(c)
			_, err := s.Collect(context.Background(), nil)
			var none *NotCollectedError
			if !errors.As(err, &none) || !strings.Contains(err.Error(), "PRD-01") {
				t.Fatalf("collect: %v", err)
			}
			if got := has(t, s, c.artifacts...); got != "111" {
				t.Errorf("left %s", got)
			}
		})
	}
}

func newerJournal(t testing.TB) []byte {
	t.Helper()
	c := state.Commit{Seq: 1, Time: time.Now(), Prev: journal.Genesis, Events: []state.Event{state.SessionStarted{FormatVersion: "9.0", Session: "N", PRD: "PRD-011"}}}
	line, err := journal.NewEncoder().Line(&c)
	must(t, err)
	return line
}

// loseCheckpoint makes the journal of PRD-010 begin after its checkpoint, whose
// file becomes something else, or goes.
func (c *scene) loseCheckpoint(content string) {
	c.t.Helper()
	snap, err := c.open().Load("PRD-010")
	must(c.t, err)
	commit := state.Commit{Seq: snap.State.Seq, Time: snap.State.UpdatedAt, State: snap.State, Prev: journal.Genesis}
	line, err := journal.NewEncoder().Line(&commit)
	must(c.t, err)
	c.write("PRD-010/journal.jsonl", line)
	name := "PRD-010/" + disk.CheckpointMember(snap.State.Checkpoints[0].ID)
	if content == "" {
		must(c.t, c.fs.Remove(filepath.Join(c.dir, name)))
		return
	}
	c.write(name, []byte(content))
}

// TestRescuedIsNeeded: what the next owner adopts is needed before it does, in
// its checkpoints too, and what the journal stands at is needed as well: the
// rescue copy may be gone by then.
func TestRescuedIsNeeded(t *testing.T) {
	t.Parallel()
	for name, adopted := range map[string]bool{"adopted": true, "gone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := &faults.Faulty{FS: store.NewMemory(), Op: "write", Part: "PRD-009/journal.jsonl"}
			c := newScene(t, bad)
			s := c.open()
			x := lockPRD(t, s, "PRD-009")
			of := map[string]state.Artifact{}
			for _, when := range []string{"before", "checkpoint", "head"} {
				of[when] = put(t, s, "new", "only that of the "+when)
			}
			produce(t, x, "w1", of["before"])
			bad.On.Store(true)
			x.Add(state.WorkstreamStarted{Workstream: "w1", Attempt: 2}, state.WorkstreamCompleted{Workstream: "w1", Work: &state.Work{Attempt: 2, Artifacts: []state.Artifact{of["checkpoint"]}}})
			id, _ := x.Checkpoint(state.TriggerManual, "", nil)
			x.Flush()
			x.Add(state.WorkstreamStarted{Workstream: "w1", Attempt: 3}, state.WorkstreamCompleted{Workstream: "w1", Work: &state.Work{Attempt: 3, Artifacts: []state.Artifact{of["head"]}}})
			if _, err := x.Drain(context.Background()); err == nil {
				t.Fatal("the journal took it")
			}
			_ = x.Close()
			bad.On.Store(false)
			_, err := s.Collect(context.Background(), nil)
			must(t, err)
			if got := has(t, s, of["before"], of["checkpoint"], of["head"]); got != "111" {
				t.Errorf("left %s", got)
			}
			if !adopted {
				snap, err := s.Load("PRD-009")
				must(t, err)
				must(t, bad.Remove(snap.RescuePath))
			}
			x = lockPRD(t, s, "PRD-009")
			if got := x.State().Checkpoint(id) != nil; got != adopted {
				t.Errorf("the checkpoint of the rescue copy is there: %v", got)
			}
			must(t, x.Close())
			needsWhole(t, s, "PRD-009")
		})
	}
}

// TestWhereItStands: after a rollback the checkpoint gone back to stays, though
// the one that undoes the rollback is newer and valid, and neither of them is
// deleted unforced.
func TestWhereItStands(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	c.o.Policy.Retention.Counts[string(state.TriggerWorkstreamComplete)] = 0
	x := lockPRD(t, c.open(), "PRD-009")
	_, err := rooms.RollBack(context.Background(), x, nil, c.ids[0], state.RollbackState, "")
	must(t, err)
	must(t, x.Close())
	c.prune(t, PruneOptions{})
	snap, err := c.open().Load("PRD-009")
	must(t, err)
	if current := snap.State.CurrentCheckpoint(); current == nil || current.ID != c.ids[0] {
		t.Errorf("it stands at %+v", current)
	}
	for _, id := range []string{c.ids[0], snap.State.NewestUsable().ID} {
		_, err := c.open().PlanDelete(context.Background(), "PRD-009", DeleteOptions{References: []string{id}})
		if kept := (*KeptError)(nil); !errors.As(err, &kept) || kept.ID != id || !kept.Newest {
			t.Errorf("delete %s: %v", id, err)
		}
	}
}

// TestUnfinishedRollback: what it needs is neither pruned, nor deleted, nor
// collected, though it is neither what the session stands at nor the newest.
func TestUnfinishedRollback(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newScene(t, store.NewMemory())
	s := c.open()
	x := lockPRD(t, s, "PRD-009")
	produce(t, x, "w0", put(t, s, "out", "version 3"))
	c.artifacts = append(c.artifacts, x.State().Workstream("w0").Artifacts[0])
	safety := mark(t, x, state.TriggerPreRollback)
	commit(t, x, state.RollbackStarted{ID: "R1", To: c.ids[1], ToSeq: 5, Safety: safety, Scope: state.RollbackState, By: by})
	produce(t, x, "w0")
	mark(t, x, state.TriggerManual)
	for _, id := range []string{c.ids[1], safety} {
		if _, err := x.Delete(ctx, DeleteOptions{References: []string{id}, Force: true}); err == nil || !strings.Contains(err.Error(), "rollback") {
			t.Errorf("delete %s: %v", id, err)
		}
	}
	if _, err := x.Archive(ctx, by, ""); !isUnfinished(err) {
		t.Errorf("archive: %v", err)
	}
	c.clock.move(time.Hour)
	p, err := x.Prune(ctx, PruneOptions{OlderThan: time.Minute})
	must(t, err)
	if want := []string{c.ids[0], c.ids[2]}; !slices.Equal(p.removed(), want) {
		t.Errorf("removed %v, want %v", p.removed(), want)
	}
	commit(t, x, state.CheckpointsRemoved{IDs: []string{c.ids[1], safety}}) // as an earlier version might
	must(t, x.Close())
	if err := s.DeleteSession(ctx, "PRD-009", by); !isUnfinished(err) {
		t.Errorf("delete the session: %v", err)
	}
	if _, err := s.Collect(ctx, nil); err != nil && !strings.Contains(err.Error(), c.ids[1]) && !strings.Contains(err.Error(), safety) {
		t.Errorf("collect: %v", err)
	}
	if got := has(t, s, c.artifacts[1], c.artifacts[3]); got != "11" {
		t.Errorf("left %s", got)
	}
}

// TestPrunedSessions removes sessions that were set aside, and what only they
// needed.
func TestPrunedSessions(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	s := c.open()
	x := lockPRD(t, s, "PRD-009")
	at, err := x.Abandon(state.SessionAbandoned{By: by})
	must(t, err)
	must(t, x.Start(startedOf("PRD-009", "S2", 1)))
	must(t, x.Close())
	_, err = s.Collect(context.Background(), nil)
	must(t, err)
	if got := has(t, s, c.artifacts...); got != "111" {
		t.Fatalf("an archived session lost objects: %s", got)
	}
	c.clock.move(40 * 24 * time.Hour)
	x = lockPRD(t, c.open(), "PRD-009")
	commit(t, x, state.PhaseStarted{Phase: "all"})
	must(t, x.Close())
	c.clock.move(time.Hour)
	if none := c.prune(t, PruneOptions{OlderThan: 24 * time.Hour, Planned: &Pruned{PRD: "PRD-009"}}); len(none.Sessions) > 0 {
		t.Errorf("%+v, which nobody has agreed to", none.Sessions)
	}
	done := c.prune(t, PruneOptions{OlderThan: 24 * time.Hour})
	if len(done.Sessions) != 1 || done.Sessions[0].ID != "failed/"+filepath.Base(at) {
		t.Fatalf("%+v", done)
	}
	if isThere(t, c.open(), at) {
		t.Error("the session is still there")
	}
	got, err := s.Collect(context.Background(), nil)
	must(t, err)
	if has(t, s, c.artifacts...) != "000" || isThere(t, s, s.layout.TrashPath()) || got.Objects != 3 {
		t.Errorf("collected %+v", got)
	}
}

// TestCollectKeepsWhatIsOnTheWay: a session that a crash left on the way to
// another place needs what it needs, and so does the history beside it, whether
// or not an owner has put it into its place yet.
func TestCollectKeepsWhatIsOnTheWay(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		dirOf func(s *Store) string
		want  string // of the objects of the history, and of the session's own
	}{
		"archiving": {func(s *Store) string { return s.layout.ArchivingPath("PRD-009") }, "1111"},
		"importing": {func(s *Store) string { return s.layout.ImportingPath("PRD-009") }, "1111"},
		"deleting":  {func(s *Store) string { return s.layout.DeletingPath("PRD-009") }, "1110"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := store.NewMemory()
			c := newScene(t, m)
			s := c.open()
			x := lockPRD(t, s, "PRD-009")
			commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
			must(t, x.Start(startedOf("PRD-009", "S2", 1))) // S1 is in its history
			commit(t, x, state.PhaseStarted{Phase: "all"})
			own := put(t, s, "out", "of the second session")
			produce(t, x, "w0", own)
			mark(t, x, state.TriggerManual)
			must(t, x.Close())
			must(t, m.Remove(s.layout.DocumentPath("PRD-009")))
			must(t, m.Rename(s.layout.PRDDir("PRD-009"), way.dirOf(s)))
			if name == "importing" { // one has no history, and finds one
				must(t, store.MkdirAll(m, s.layout.PRDDir("PRD-009")))
				must(t, m.Rename(filepath.Join(way.dirOf(s), disk.HistoryDir), s.layout.HistoryPath("PRD-009")))
			}
			_, err := s.Collect(context.Background(), nil)
			must(t, err)
			if got := has(t, s, append(slices.Clone(c.artifacts), own)...); got != way.want {
				t.Errorf("left %s, not %s", got, way.want)
			}
			must(t, lockPRD(t, s, "PRD-009").Close())
			needsWhole(t, s, "PRD-009")
		})
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	x := lockPRD(t, c.open(), "PRD-009")
	_, _, err := x.Pin(context.Background(), c.ids[1], true, by, "")
	must(t, err)
	for ref, why := range map[string]string{c.ids[1]: "pinned", c.ids[2]: "newest", "CP-none": "no such checkpoint"} {
		if _, err := x.Delete(context.Background(), DeleteOptions{References: []string{c.ids[0], ref}}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if len(x.State().Checkpoints) != 3 {
		t.Fatal("a part of a refused deletion was done")
	}
	p, err := x.Delete(context.Background(), DeleteOptions{References: []string{c.ids[0], c.ids[2]}, Force: true, Reason: "tidying"})
	must(t, err)
	if len(p.Checkpoints) != 2 || p.Kept != 1 || p.Freed == 0 || len(x.State().Checkpoints) != 1 {
		t.Errorf("%+v", p)
	}
	must(t, x.Close())
	_, err = c.open().Collect(context.Background(), nil)
	must(t, err)
	if got := has(t, c.open(), c.artifacts...); got != "011" { // the last one is the state's
		t.Errorf("left %s", got)
	}
}

// TestSizeLimit: a size limit below one checkpoint leaves the newest.
func TestSizeLimit(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	c.o.Policy.Retention.Counts[string(state.TriggerSessionEnd)] = 100
	s := c.open()
	x := lockPRD(t, s, "PRD-009")
	for i := range 4 {
		produce(t, x, "w1", put(t, s, "large", strings.Repeat(fmt.Sprint(i), retention.Megabyte/2)))
		mark(t, x, state.TriggerSessionEnd)
	}
	must(t, x.Close())
	files, held, err := s.Holds(context.Background(), "PRD-009")
	must(t, err)
	if held < 2*retention.Megabyte || held > 2*retention.Megabyte+100 || files < 1000 {
		t.Errorf("holds %d in files, %d in objects", files, held)
	}
	c.o.Policy.Retention.MaxSizeMB = 1
	x = lockPRD(t, c.open(), "PRD-009")
	tidied, err := x.Tidy(context.Background(), nil)
	must(t, err)
	must(t, x.Close())
	if len(tidied.Pruned.Checkpoints) == 0 || tidied.Collected.Objects < 2 || len(tidied.Warnings) != 0 {
		t.Errorf("%+v", tidied)
	}
	if _, held, _ = s.Holds(context.Background(), "PRD-009"); held > retention.Megabyte {
		t.Errorf("holds %d after it", held)
	}
	needsWhole(t, s, "PRD-009")
	x = lockPRD(t, c.open(), "PRD-009")
	produce(t, x, "w1", put(t, s, "large", strings.Repeat("large", retention.Megabyte)))
	mark(t, x, state.TriggerSessionEnd)
	tidied, err = x.Tidy(context.Background(), nil)
	must(t, err)
	must(t, x.Close())
	if len(tidied.Warnings) != 1 || !strings.Contains(tidied.Warnings[0], "raise checkpoint.storage.max_size_mb") || strings.Contains(tidied.Warnings[0], "\n") {
		t.Errorf("warnings %q", tidied.Warnings)
	}
}

func TestOnComplete(t *testing.T) {
	t.Parallel()
	for _, what := range []OnComplete{KeepOnComplete, DeleteOnComplete, ArchiveOnComplete} {
		t.Run(string(what), func(t *testing.T) {
			t.Parallel()
			c := newScene(t, store.NewMemory())
			c.o.Policy.OnComplete = what
			x := lockPRD(t, c.open(), "PRD-009")
			capture(t, x, "a file")
			produce(t, x, "w1")
			commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
			mark(t, x, state.TriggerComplete)
			_, _, err := x.Pin(context.Background(), c.ids[1], true, by, "")
			must(t, err)
			done, err := x.Tidy(context.Background(), nil)
			must(t, err)
			must(t, x.Close())
			c.checkComplete(t, what, done)
		})
	}
}

func (c *scene) checkComplete(t *testing.T, what OnComplete, done TidyResult) {
	t.Helper()
	s := c.open()
	kept := has(t, s, c.artifacts...)
	last, _, err := s.LastComplete("PRD-009")
	must(t, err)
	if last == nil {
		t.Fatal("it is not on record that the session completed")
	}
	snap, err := s.Load("PRD-009")
	switch what {
	case KeepOnComplete:
		must(t, err)
		if kept != "011" || len(snap.State.Checkpoints) != 3 { // one was more than are kept
			t.Errorf("objects %s, %d checkpoints", kept, len(snap.State.Checkpoints))
		}
		needsWhole(t, s, "PRD-009")
	case DeleteOnComplete:
		must(t, err)
		if kept != "010" || len(snap.State.Checkpoints) != 1 || snap.State.Capture != nil || snap.Document == nil {
			t.Errorf("objects %s, %d checkpoints, %+v", kept, len(snap.State.Checkpoints), snap.State.Capture)
		}
		if done.Collected.Objects < 4 || done.Collected.Kept != 1 {
			t.Errorf("%+v", done.Collected)
		}
		if files := state.RecordedFiles(snap.State); len(files) > 0 {
			t.Errorf("files whose bytes were given up count as kept: %v", files)
		}
		needsWhole(t, s, "PRD-009") // the pinned one
	case ArchiveOnComplete:
		if !errors.Is(err, ErrNoSession) || filepath.Base(done.Archived) != "S1" || kept != "111" {
			t.Errorf("load: %v; at %s, objects %s", err, done.Archived, kept)
		}
	}
}

// TestAfterEmptied: what was given up when the session completed is missed by
// no checkpoint that is made later, and what is there can be kept again.
func TestAfterEmptied(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	c.o.Policy.OnComplete = DeleteOnComplete
	x := lockPRD(t, c.open(), "PRD-009")
	commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
	_, err := x.Tidy(context.Background(), nil)
	must(t, err)
	mark(t, x, state.TriggerManual)
	must(t, x.Close())
	needsWhole(t, c.open(), "PRD-009")

	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "out"), []byte("version 2"), 0o600))
	s := c.open()
	w, err := s.OpenWorkspace(dir, nil, workspace.GitOff)
	must(t, err)
	defer func() { must(t, w.Close()) }()
	x = lockPRD(t, s, "PRD-009")
	_, err = x.Create(context.Background(), w, "keep it after all")
	must(t, err)
	must(t, x.Close())
	needsWhole(t, c.open(), "PRD-009")
	if kept := has(t, s, c.artifacts...); kept != "001" {
		t.Errorf("objects %s", kept)
	}
}

// capture records a workspace of one file.
func capture(t testing.TB, x *Session, content string) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o600))
	w, err := x.store.OpenWorkspace(dir, nil, workspace.GitOff)
	must(t, err)
	_, err = x.Capture(context.Background(), w, []string{"**"})
	must(t, err)
	must(t, w.Close())
	commit(t, x)
}

// TestTidy collects what was dropped at boundaries, and looks at no
// object where nothing was.
func TestTidy(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	x := lockPRD(t, c.open(), "PRD-009")
	produce(t, x, "w0", put(t, c.open(), "out", "version 3"))
	mark(t, x, state.TriggerWorkstreamComplete) // lets go of the three before it
	done, err := x.Tidy(context.Background(), nil)
	must(t, err)
	if done.Collected.Objects != 3 || has(t, c.open(), c.artifacts...) != "000" {
		t.Errorf("%+v", done)
	}
	c.write("objects/ab/"+strings.Repeat("cd", 31), nil) // nobody's
	done, err = x.Tidy(context.Background(), nil)
	must(t, err)
	must(t, x.Close())
	if done.Collected.Objects != 0 {
		t.Errorf("it looked at all objects for nothing: %+v", done)
	}
}

// TestTidyGivesUp: one who wants no more of it is told so, and the session is as it was.
func TestTidyGivesUp(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	x := lockPRD(t, c.open(), "PRD-009")
	produce(t, x, "w0", put(t, c.open(), "out", "version 3"))
	mark(t, x, state.TriggerWorkstreamComplete)
	commit(t, x)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.Tidy(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	nothing := inMemory(t) // in which there is nothing to look at
	y := nothing.lock()
	must(t, y.Start(started("S1", wide(1))))
	if _, err := y.Tidy(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	must(t, y.Close())
	done, err := x.Tidy(context.Background(), nil)
	must(t, err)
	must(t, x.Close())
	if done.Collected.Objects != 3 {
		t.Errorf("the next one lets go of %+v", done)
	}
}

// TestTidyLeavesWhatOthersMayNeed: while somebody else is at work nothing is
// collected, since what they refer to again may not be on record yet; the next
// one who is alone does it.
func TestTidyLeavesWhatOthersMayNeed(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	s := c.open()
	other := lockPRD(t, s, "PRD-010")
	must(t, other.Start(startedOf("PRD-010", "T1", 1)))
	x := lockPRD(t, s, "PRD-009")
	produce(t, x, "w0", put(t, s, "out", "version 3"))
	mark(t, x, state.TriggerWorkstreamComplete) // lets go of the three before it
	again := put(t, s, "out", "version 0")
	done, err := x.Tidy(context.Background(), nil)
	must(t, err)
	if done.Collected.Objects != 0 || has(t, s, c.artifacts...) != "111" {
		t.Errorf("collected beside a writer: %+v", done.Collected)
	}
	commit(t, other, state.PhaseStarted{Phase: "all"})
	produce(t, other, "w0", again)
	must(t, other.Close())
	must(t, x.Close())
	_, err = s.Collect(context.Background(), nil)
	must(t, err)
	if got := has(t, s, c.artifacts...); got != "100" {
		t.Errorf("left %s", got)
	}
	needsWhole(t, s, "PRD-010")
}

func TestDeleteSession(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newScene(t, store.NewMemory())
	s := c.open()
	x := lockPRD(t, s, "PRD-009")
	var locked *LockedError
	if err := s.DeleteSession(ctx, "PRD-009", by); !errors.As(err, &locked) {
		t.Errorf("deleted beside its owner: %v", err)
	}
	commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
	must(t, x.Start(startedOf("PRD-009", "S2", 1)))
	must(t, x.Close())
	must(t, s.DeleteSession(ctx, "PRD-009", by))
	if _, err := s.Load("PRD-009"); !errors.Is(err, ErrNoSession) {
		t.Errorf("load: %v", err)
	}
	if err := s.DeleteSession(ctx, "PRD-010", by); !errors.Is(err, ErrNoSession) {
		t.Errorf("delete nothing: %v", err)
	}
	c.read("PRD-009/history/S1/journal.jsonl")
	_, err := s.Collect(ctx, nil)
	must(t, err)
	if got := has(t, s, c.artifacts...); got != "111" || isThere(t, s, s.layout.TrashPath()) {
		t.Errorf("the history lost objects: %s", got)
	}
	c.write("PRD-010/journal.jsonl", []byte("no\nno\n"))
	must(t, s.DeleteSession(ctx, "PRD-010", by)) // what is damaged can be deleted
}

func isUnfinished(err error) bool {
	var unfinished *UnfinishedRollbackError
	return errors.As(err, &unfinished)
}

// TestPruneAsPlanned: what was planned is carried out as it was said, or, where
// something has happened since, that of it which may still go, and nothing else.
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
			s := c.open()
			c.clock.move(time.Hour)
			o := PruneOptions{OlderThan: time.Minute}
			plans, errs := s.PlanPrunes(ctx, []string{"PRD-009", "PRD-404"}, o)
			must(t, errs[0])
			if !errors.Is(errs[1], ErrNoSession) {
				t.Errorf("of a PRD without a session: %v", errs[1])
			}
			x := lockPRD(t, s, "PRD-009")
			if test.since {
				mark(t, x, state.TriggerManual)
				mark(t, x, state.TriggerManual)
				c.clock.move(time.Hour)
				mark(t, x, state.TriggerManual)
				if anew, err := s.PlanPrune(ctx, "PRD-009", o); err != nil || len(anew.Checkpoints) <= len(plans[0].Checkpoints) {
					t.Fatalf("planned anew it is %v (%v), and was %v", anew.removed(), err, plans[0].removed())
				}
			}
			o.Planned = plans[0]
			p, err := x.Prune(ctx, o)
			must(t, err)
			if len(p.Checkpoints) == 0 || (p == plans[0]) != test.asSaid {
				t.Errorf("removed %v as planned: %t", p.removed(), p == plans[0])
			}
			for _, id := range p.removed() {
				if !slices.Contains(plans[0].removed(), id) {
					t.Errorf("%s is removed, which nobody has agreed to", id)
				}
			}
			for _, ref := range x.State().Checkpoints {
				if slices.Contains(p.removed(), ref.ID) {
					t.Errorf("%s is still there", ref.ID)
				}
			}
			must(t, x.Close())
		})
	}
}
