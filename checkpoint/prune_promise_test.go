package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestPruneDoesWhatItsDryRunSays: over random sessions, policies and ages, what is
// planned to be removed is what is removed then: checkpoints, sessions that were set
// aside, and objects, to the byte.
func TestPruneDoesWhatItsDryRunSays(t *testing.T) {
	t.Parallel()
	removed := &Pruned{}
	var collected Collected
	rapid.Check(t, func(r *rapid.T) {
		h := &history{
			T: r, t: t, memory: store.NewMemory(), dir: t.TempDir(), clock: newTick(), policy: DefaultPolicy(),
			owned: map[string]*Session{}, needed: map[string]map[string]bool{}, large: strings.Repeat("large ", 50_000),
		}
		h.policy.OnComplete = rapid.SampledFrom([]OnComplete{KeepOnComplete, DeleteOnComplete, ArchiveOnComplete}).Draw(r, "on complete")
		h.changePolicy(r)
		r.Cleanup(func() {
			for _, x := range h.owned {
				must(t, x.Abort())
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
	because := map[string]int{} // why what was removed went, without figures
	for _, c := range removed.Checkpoints {
		because[strings.TrimRight(strings.FieldsFunc(c.Why, unicode.IsDigit)[0], " ")]++
	}
	for _, session := range removed.Sessions {
		because["session "+strings.TrimRight(strings.FieldsFunc(session.Why, unicode.IsDigit)[0], " ")]++
	}
	for _, why := range []string{"only the last", "older than", "over max_size_mb:", "asked for: older than", "session older than", "session asked for: older than"} {
		if !t.Failed() && !testing.Short() && (because[why] == 0 || collected.Objects == 0 || collected.Discarded == 0) {
			t.Errorf("nothing went because of %q, so that the test proves nothing: %v; %d objects, %d directories", why, because, collected.Objects, collected.Discarded)
		}
	}
}

func (h *history) timePasses(*rapid.T) {
	h.clock.move(time.Duration(rapid.IntRange(1, 48).Draw(h.T, "hours")) * time.Hour)
}

// fill makes checkpoints that need more than any limit of size together.
func (h *history) fill(*rapid.T) {
	x := h.own(h.prd())
	if x.State().Status == state.StatusComplete {
		return
	}
	for i := range 5 {
		produce(h.t, x, "w0", put(h.t, h.store(), "out0", fmt.Sprintf("content %d%s", i, h.large)))
		mark(h.t, x, state.TriggerUserInterrupt)
	}
}

// changePolicy has those that open the store from now on go by another policy.
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

// onDisk is what pruning may remove, by what it is.
func (h *history) onDisk(s *Store) (checkpoints, sessions, objects []string) {
	for _, prd := range []string{"PRD-009", "PRD-010"} {
		snap, err := s.Load(prd)
		if err == nil {
			for _, ref := range snap.State.Checkpoints {
				checkpoints = append(checkpoints, ref.ID)
			}
		} else if !errors.Is(err, ErrNoSession) {
			h.Fatal(err)
		}
	}
	places, err := s.layout.SessionDirs("")
	must(h.t, err)
	for _, at := range places {
		if at.Place != disk.PlaceCurrent {
			sessions = append(sessions, at.ID)
		}
	}
	for o, err := range s.Objects().All(context.Background()) {
		must(h.t, err)
		objects = append(objects, o.Digest)
	}
	return checkpoints, sessions, objects
}

func (h *history) pruneAsPlanned(removed *Pruned, collected *Collected) {
	h.closeAll()
	ctx := context.Background()
	s := h.store()
	o := PruneOptions{OlderThan: rapid.SampledFrom([]time.Duration{0, 0, 20 * time.Hour}).Draw(h.T, "older than")}
	prds, err := s.Known()
	must(h.t, err)
	checkpoints, sessions, objects := h.onDisk(s)
	plans, errs := s.PlanPrunes(ctx, prds, o)
	for i, err := range errs {
		if err != nil && !errors.Is(err, ErrNoSession) {
			h.Fatal(err)
		}
		if err != nil {
			plans[i] = &Pruned{PRD: prds[i]}
		}
	}
	planned, err := s.PlanCollect(ctx, nil, plans...)
	must(h.t, err)
	for _, p := range plans {
		var done *Pruned
		if len(p.Checkpoints)+len(p.Sessions) > 0 {
			x := lockPRD(h.t, s, p.PRD)
			done, err = x.Prune(ctx, PruneOptions{OlderThan: o.OlderThan, Planned: p})
			must(h.t, err)
			must(h.t, x.Close())
		}
		if done != nil {
			sameAs(h, "pruning "+p.PRD, done, p, cmpopts.IgnoreUnexported(Pruned{}, RemovedSession{}), cmpopts.IgnoreFields(Pruned{}, "Keeps", "Doubted"), cmpopts.IgnoreUnexported(state.CheckpointRef{}))
		}
		for _, c := range p.Checkpoints {
			checkpoints = slices.DeleteFunc(checkpoints, func(id string) bool { return id == c.ID })
		}
		for _, session := range p.Sessions {
			sessions = slices.DeleteFunc(sessions, func(id string) bool { return id == session.ID })
		}
		removed.Checkpoints, removed.Sessions = append(removed.Checkpoints, p.Checkpoints...), append(removed.Sessions, p.Sessions...)
	}
	done, err := s.Collect(ctx, nil)
	must(h.t, err)
	sameAs(h, "collecting", done, planned)
	leftCheckpoints, leftSessions, leftObjects := h.onDisk(s)
	sameAs(h, "checkpoints", leftCheckpoints, checkpoints)
	sameAs(h, "sessions", leftSessions, sessions)
	sameAs(h, "number of objects", fmt.Sprint(len(leftObjects)), fmt.Sprint(len(objects)-planned.Objects))
	collected.Objects += done.Objects
	collected.Discarded += done.Discarded
}

// sameAs fails where what was done is not what was said.
func sameAs[T any](h *history, what string, done, said T, options ...cmp.Option) {
	if diff := cmp.Diff(said, done, append(options, cmpopts.EquateEmpty())...); diff != "" {
		h.Fatalf("%s: -said +done\n%s", what, diff)
	}
}

// TestADryRunLooksPastWhatItRemoves: a session that was set aside, cannot be read and is
// old enough to go keeps a dry run from nothing that pruning does then.
func TestADryRunLooksPastWhatItRemoves(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	c.write("failed/PRD-009-20241211T100000Z/journal.jsonl", []byte("no\nno\n"))
	s := c.open()
	o := PruneOptions{OlderThan: time.Hour}
	plan, err := s.PlanPrune(t.Context(), "PRD-009", o)
	must(t, err)
	if len(plan.Sessions) != 1 {
		t.Fatalf("planned %+v", plan)
	}
	planned, err := s.PlanCollect(t.Context(), nil, plan)
	must(t, err)
	o.Planned = plan
	c.prune(t, o)
	done, err := s.Collect(t.Context(), nil)
	must(t, err)
	if diff := cmp.Diff(planned, done); diff != "" || done.Discarded != 1 {
		t.Errorf("-said +done\n%s", diff)
	}
}
