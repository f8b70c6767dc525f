package prune_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestPruneDoesWhatItsDryRunSays plans pruning and collecting in random sessions with
// random policies and ages, and then carries out both. They must remove exactly the
// planned checkpoints, archived sessions and objects, to the byte.
func TestPruneDoesWhatItsDryRunSays(t *testing.T) {
	t.Parallel()
	removed := &prune.Pruned{}
	var collected prune.Collected
	rapid.Check(t, func(r *rapid.T) {
		h := &history{
			T: r, t: t, memory: store.NewMemory(), dir: t.TempDir(), clock: checkpointtest.NewTick(), policy: checkpoint.DefaultPolicy(),
			owned: map[string]*checkpoint.Session{}, needed: map[string]map[string]bool{}, large: strings.Repeat("large ", 50_000),
		}
		h.policy.OnComplete = rapid.SampledFrom([]checkpoint.OnComplete{checkpoint.KeepOnComplete, checkpoint.DeleteOnComplete, checkpoint.ArchiveOnComplete}).Draw(r, "on complete")
		h.changePolicy(r)
		r.Cleanup(func() {
			for _, x := range h.owned {
				checkpointtest.Must(t, x.Abort())
			}
		})
		r.Repeat(map[string]func(*rapid.T){
			"work": h.work, "work more": h.work, "checkpoint": h.checkpoint, "checkpoint more": h.checkpoint, "pin": h.pin,
			"rollback": h.rollback, "delete": h.delete, "finish": h.finish, "finish more": h.finish, "tidy": h.tidy, "delete a session": h.deleteSession, "power cut": h.powerCut,
			"capture": h.capture, "time passes": h.timePasses, "more time passes": h.timePasses, "fill": h.fill, "change the policy": h.changePolicy,
			"prune as planned": func(r *rapid.T) { h.pruneAsPlanned(removed, &collected) },
		})
		h.pruneAsPlanned(removed, &collected)
	})
	if checks, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String()); err != nil || checks < 100 || t.Failed() {
		return // too few histories to cover every reason
	}
	because := map[string]int{} // the reasons for removals, without figures
	for _, c := range removed.Checkpoints {
		because[strings.TrimRight(strings.FieldsFunc(c.Why, unicode.IsDigit)[0], " ")]++
	}
	for _, session := range removed.Sessions {
		because["session "+strings.TrimRight(strings.FieldsFunc(session.Why, unicode.IsDigit)[0], " ")]++
	}
	for _, why := range []string{"only the last", "older than", "over max_size_mb:", "asked for: older than", "session older than", "session asked for: older than"} {
		if because[why] == 0 || collected.Objects == 0 || collected.Discarded == 0 {
			t.Errorf("nothing was removed because of %q, so that the test proves nothing: %v; %d objects, %d directories", why, because, collected.Objects, collected.Discarded)
		}
	}
}

func (h *history) timePasses(*rapid.T) {
	h.clock.Move(time.Duration(rapid.IntRange(1, 48).Draw(h.T, "hours")) * time.Hour)
}

// fill makes checkpoints that together need more than any size limit.
func (h *history) fill(*rapid.T) {
	x := h.own(h.prd())
	if x.State().Status == state.StatusComplete {
		return
	}
	for i := range 5 {
		checkpointtest.Produce(h.t, x, "w0", checkpointtest.Put(h.t, h.store(), "out0", fmt.Sprintf("content %d%s", i, h.large)))
		checkpointtest.Mark(h.t, x, state.TriggerUserInterrupt)
	}
}

// changePolicy draws a policy for the stores that are opened from now on.
func (h *history) changePolicy(*rapid.T) {
	h.closeAll()
	p := &h.policy.Retention
	age := rapid.SampledFrom([]time.Duration{0, time.Hour, 30 * time.Hour})
	p.MaxAge, p.FailedMaxAge = age.Draw(h.T, "max age"), age.Draw(h.T, "failed max age")
	p.MaxSizeMB = rapid.SampledFrom([]int{0, 1, 1}).Draw(h.T, "max size")
	for _, trigger := range []state.Trigger{state.TriggerManual, state.TriggerWorkstreamComplete, state.TriggerSessionEnd} {
		p.Counts[string(trigger)] = rapid.SampledFrom([]int{-1, 0, 1, 3}).Draw(h.T, string(trigger))
	}
}

// onDisk returns the ids of everything that pruning may remove: checkpoints, archived
// sessions and objects.
func (h *history) onDisk(s *checkpoint.Store) (checkpoints, sessions, objects []string) {
	for _, prd := range []string{"PRD-009", "PRD-010"} {
		snap, err := s.Load(prd)
		if err == nil {
			for _, ref := range snap.State.Checkpoints {
				checkpoints = append(checkpoints, ref.ID)
			}
		} else if !errors.Is(err, checkpoint.ErrNoSession) {
			h.Fatal(err)
		}
	}
	places, err := s.Layout().SessionDirs("")
	checkpointtest.Must(h.t, err)
	for _, at := range places {
		if at.Place != disk.PlaceCurrent {
			sessions = append(sessions, at.ID)
		}
	}
	for o, err := range s.Objects().All(context.Background()) {
		checkpointtest.Must(h.t, err)
		objects = append(objects, o.Digest)
	}
	return checkpoints, sessions, objects
}

// pruneAsPlanned plans and carries out pruning and collecting, and compares the two. It
// adds what it removed to removed and collected.
func (h *history) pruneAsPlanned(removed *prune.Pruned, collected *prune.Collected) {
	h.closeAll()
	ctx := context.Background()
	s := h.store()
	o := prune.Options{OlderThan: rapid.SampledFrom([]time.Duration{0, 0, 20 * time.Hour}).Draw(h.T, "older than")}
	prds, err := s.Reader().Known()
	checkpointtest.Must(h.t, err)
	checkpoints, sessions, objects := h.onDisk(s)
	plans, errs := prune.PlanAll(ctx, s, prds, o)
	for i, err := range errs {
		if err != nil && !errors.Is(err, checkpoint.ErrNoSession) {
			h.Fatal(err)
		}
		if err != nil {
			plans[i] = &prune.Pruned{PRD: prds[i]}
		}
	}
	planned, err := prune.PlanCollect(ctx, s, nil, plans...)
	checkpointtest.Must(h.t, err)
	for _, p := range plans {
		var done *prune.Pruned
		if len(p.Checkpoints)+len(p.Sessions) > 0 {
			x := checkpointtest.LockPRD(h.t, s, p.PRD)
			done, err = prune.Run(ctx, x, prune.Options{OlderThan: o.OlderThan, Planned: p})
			checkpointtest.Must(h.t, err)
			checkpointtest.Must(h.t, x.Close())
		}
		if done != nil {
			sameAs(h, "pruning "+p.PRD, done, p, cmpopts.IgnoreUnexported(prune.Pruned{}, prune.RemovedSession{}), cmpopts.IgnoreFields(prune.Pruned{}, "Keeps", "Doubted"), cmpopts.IgnoreUnexported(state.CheckpointRef{}))
		}
		for _, c := range p.Checkpoints {
			checkpoints = slices.DeleteFunc(checkpoints, func(id string) bool { return id == c.ID })
		}
		for _, session := range p.Sessions {
			sessions = slices.DeleteFunc(sessions, func(id string) bool { return id == session.ID })
		}
		removed.Checkpoints, removed.Sessions = append(removed.Checkpoints, p.Checkpoints...), append(removed.Sessions, p.Sessions...)
	}
	done, err := prune.Collect(ctx, s, nil)
	checkpointtest.Must(h.t, err)
	sameAs(h, "collecting", done, planned)
	leftCheckpoints, leftSessions, leftObjects := h.onDisk(s)
	sameAs(h, "checkpoints", leftCheckpoints, checkpoints)
	sameAs(h, "sessions", leftSessions, sessions)
	sameAs(h, "number of objects", fmt.Sprint(len(leftObjects)), fmt.Sprint(len(objects)-planned.Objects))
	collected.Objects += done.Objects
	collected.Discarded += done.Discarded
}

// sameAs fails the test unless done equals planned.
func sameAs[T any](h *history, what string, done, planned T, options ...cmp.Option) {
	if diff := cmp.Diff(planned, done, append(options, cmpopts.EquateEmpty())...); diff != "" {
		h.Fatalf("%s: -planned +done\n%s", what, diff)
	}
}

// TestADryRunLooksPastWhatItRemoves: an archived session that can't be read prevents a
// collection, unless pruning removes the session first. A dry run must take this into
// account, and plan what pruning and collecting then do.
func TestADryRunLooksPastWhatItRemoves(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	c.Write("failed/PRD-009-20241211T100000Z/journal.jsonl", []byte("no\nno\n"))
	s := c.Open()
	o := prune.Options{OlderThan: time.Hour}
	plan, err := prune.Plan(t.Context(), s, "PRD-009", o)
	checkpointtest.Must(t, err)
	if len(plan.Sessions) != 1 {
		t.Fatalf("planned %+v", plan)
	}
	planned, err := prune.PlanCollect(t.Context(), s, nil, plan)
	checkpointtest.Must(t, err)
	o.Planned = plan
	c.prune(t, o)
	done, err := prune.Collect(t.Context(), s, nil)
	checkpointtest.Must(t, err)
	if diff := cmp.Diff(planned, done); diff != "" || done.Discarded != 1 {
		t.Errorf("-planned +done\n%s", diff)
	}
}

// TestARunTrustsTheTimesThatItsPlanSaw: the document of another PRD shows that the clock
// was right when a session became too old. A run removes that session, as planned, even if
// the other document was rewritten since.
func TestARunTrustsTheTimesThatItsPlanSaw(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	c.Options.Policy.Retention.MaxAge = time.Hour
	work := func(prd string, events ...state.Event) {
		x := checkpointtest.LockPRD(t, c.Open(), prd)
		checkpointtest.Commit(t, x, events...)
		checkpointtest.Must(t, x.Close())
	}
	complete := func(session string) {
		x := checkpointtest.LockPRD(t, c.Open(), "PRD-010")
		checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-010", session, 1)))
		checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"}, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
		checkpointtest.Must(t, x.Close())
	}
	complete("T1")
	complete("T2") // archives T1
	c.clock.Move(time.Hour)
	work("PRD-009", state.WorkstreamStarted{Workstream: "w1", Attempt: 1})
	c.clock.Move(time.Hour)
	complete("T3") // T2 is now the newest archived session, which stays
	plan, err := prune.Plan(t.Context(), c.Open(), "PRD-010", prune.Options{})
	checkpointtest.Must(t, err)
	if len(plan.Sessions) != 1 {
		t.Fatalf("planned to remove the sessions %+v, want T1", plan.Sessions)
	}
	work("PRD-009", state.WorkstreamSucceeded{Workstream: "w1", Work: state.Work{Attempt: 1}})
	x := checkpointtest.LockPRD(t, c.Open(), "PRD-010")
	done, err := prune.Run(t.Context(), x, prune.Options{Planned: plan})
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	if len(done.Sessions) != 1 {
		t.Errorf("removed the sessions %+v, planned %+v", done.Sessions, plan.Sessions)
	}
}

// TestACalledSessionReadsNoOthers: the document of another PRD shows that a session of a
// called pipeline is too old. It is not read, so that the session stays.
func TestACalledSessionReadsNoOthers(t *testing.T) {
	t.Parallel()
	for _, caller := range []*state.Caller{nil, {PRD: "PRD-009", Session: "S1", Workstream: "w1", Call: "C1", Root: "PRD-009", File: "PRD-009.hcl"}} {
		c := newScene(t, store.NewMemory())
		c.Options.Policy.Retention.MaxAge = time.Hour
		complete := func(prd, session string) {
			x := checkpointtest.LockPRD(t, c.Open(), prd)
			e := checkpointtest.StartedOf(prd, session, 1)
			e.Caller = caller
			checkpointtest.Must(t, x.Start(e))
			checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"}, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
			checkpointtest.Must(t, x.Close())
		}
		complete("PRD-010", "T1")
		complete("PRD-010", "T2") // archives T1
		c.clock.Move(time.Hour)
		complete("PRD-011", "T3")
		c.clock.Move(time.Hour)
		complete("PRD-010", "T4") // T2 is now the newest archived session, which stays
		want := 1
		if caller != nil {
			want = 0
		}
		plan, err := prune.Plan(t.Context(), c.Open(), "PRD-010", prune.Options{})
		checkpointtest.Must(t, err)
		if len(plan.Sessions) != want || plan.Doubted != 1-want {
			t.Errorf("called by %v: removes %d sessions and doubts %d, want %d and %d", caller, len(plan.Sessions), plan.Doubted, want, 1-want)
		}
	}
}
