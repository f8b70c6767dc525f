package prune_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
	"prdrunner/checkpoint/workspace"
)

// history takes two PRDs of one state directory through random operations. It records
// what each archived session needs.
type history struct {
	*rapid.T
	t       *testing.T
	memory  *store.Memory
	dir     string // of the workspace
	clock   *checkpointtest.Tick
	policy  checkpoint.Policy
	owned   map[string]*checkpoint.Session
	counter int
	needed  map[string]map[string]bool // digests, by session
	large   string                     // part of each file's content, so that size limits matter
}

func (h *history) store() *checkpoint.Store {
	s, err := checkpoint.OpenStore("/ws/.runner", checkpoint.Options{FS: h.memory, Now: h.clock.Now, Policy: h.policy, RescueDir: "/ws/rescue"})
	checkpointtest.Must(h.t, err)
	return s
}

func (h *history) prd() string {
	return rapid.SampledFrom([]string{"PRD-009", "PRD-010"}).Draw(h.T, "prd")
}

// own returns the locked session of a PRD, which it starts if there is none.
func (h *history) own(prd string) *checkpoint.Session {
	x := h.owned[prd]
	if x == nil {
		x = checkpointtest.LockPRD(h.t, h.store(), prd)
		h.owned[prd] = x
	}
	if x.State() == nil {
		h.start(x, prd)
	}
	return x
}

func (h *history) start(x *checkpoint.Session, prd string) {
	h.counter++
	checkpointtest.Must(h.t, x.Start(checkpointtest.StartedOf(prd, fmt.Sprintf("session-%02d", h.counter), 3)))
	checkpointtest.Commit(h.t, x, state.PhaseStarted{Phase: "all"})
}

func (h *history) closeAll() {
	for prd, x := range h.owned {
		checkpointtest.Must(h.t, x.Close())
		delete(h.owned, prd)
	}
}

// remember records what the current session of a PRD needs: the objects of its state and
// of its checkpoints.
func (h *history) remember(prd string) {
	s := h.store()
	snap, err := s.Load(prd)
	if errors.Is(err, checkpoint.ErrNoSession) {
		return
	}
	checkpointtest.Must(h.t, err)
	all := map[string]bool{}
	maps.Copy(all, checkpointtest.DigestsOf(h.t, s, snap.State))
	for _, ref := range snap.State.Checkpoints {
		f, err := s.ReadCheckpoint(prd, ref.ID)
		checkpointtest.Must(h.t, err)
		maps.Copy(all, checkpointtest.DigestsOf(h.t, s, f.State))
	}
	h.needed[snap.State.Session] = all
}

func (h *history) work(*rapid.T) {
	prd := h.prd()
	x := h.own(prd)
	if x.State().Status == state.StatusComplete {
		return
	}
	var artifacts []state.Artifact
	for i := range rapid.IntRange(0, 2).Draw(h.T, "artifacts") {
		content := fmt.Sprintf("content %d%s", rapid.IntRange(0, 5).Draw(h.T, "content"), h.large) // the workstreams share contents
		artifacts = append(artifacts, checkpointtest.Put(h.t, h.store(), fmt.Sprintf("out%d", i), content))
	}
	checkpointtest.Produce(h.t, x, fmt.Sprintf("w%d", rapid.IntRange(0, 2).Draw(h.T, "workstream")), artifacts...)
}

func (h *history) capture(*rapid.T) {
	x := h.own(h.prd())
	name := fmt.Sprintf("d%d/f%d", rapid.IntRange(0, 1).Draw(h.T, "dir"), rapid.IntRange(0, 1).Draw(h.T, "file"))
	content := fmt.Sprintf("content %d%s", rapid.IntRange(0, 8).Draw(h.T, "content"), h.large)
	checkpointtest.Must(h.t, os.MkdirAll(filepath.Join(h.dir, filepath.Dir(name)), 0o700))
	checkpointtest.Must(h.t, os.WriteFile(filepath.Join(h.dir, name), []byte(content), 0o600))
	w, err := h.store().OpenWorkspace(h.dir, nil, workspace.GitOff)
	checkpointtest.Must(h.t, err)
	_, err = x.Capture(context.Background(), w, []string{"**"})
	checkpointtest.Must(h.t, err)
	checkpointtest.Must(h.t, w.Close())
	checkpointtest.Commit(h.t, x)
}

func (h *history) checkpoint(*rapid.T) {
	triggers := []state.Trigger{state.TriggerWorkstreamComplete, state.TriggerBatchComplete, state.TriggerManual, state.TriggerUserInterrupt, state.TriggerSessionEnd}
	checkpointtest.Mark(h.t, h.own(h.prd()), rapid.SampledFrom(triggers).Draw(h.T, "trigger"))
}

// pick returns one of the checkpoints of a session, or nil.
func (h *history) pick(x *checkpoint.Session) *state.CheckpointRef {
	refs := x.State().Checkpoints
	if len(refs) == 0 {
		return nil
	}
	return refs[rapid.IntRange(0, len(refs)-1).Draw(h.T, "checkpoint")]
}

func (h *history) pin(*rapid.T) {
	x := h.own(h.prd())
	if ref := h.pick(x); ref != nil {
		_, _, err := x.Pin(context.Background(), ref.ID, !ref.Pinned, checkpointtest.By, "")
		checkpointtest.Must(h.t, err)
	}
}

func (h *history) rollback(*rapid.T) {
	prd := h.prd()
	h.closeAll() // a rollback needs all other PRDs unlocked
	x := h.own(prd)
	ref := h.pick(x)
	if ref == nil || ref.InvalidatedBy != "" {
		return
	}
	_, err := rollback.Run(context.Background(), x, nil, rollback.Options{To: ref.ID, Scope: state.RollbackState, By: checkpointtest.By})
	checkpointtest.Must(h.t, err)
}

func (h *history) delete(*rapid.T) {
	x := h.own(h.prd())
	ref := h.pick(x)
	if ref == nil {
		return
	}
	_, err := prune.Delete(context.Background(), x, prune.DeleteOptions{References: []string{ref.ID}, Force: h.counter%2 == 0})
	var kept *prune.KeptError
	if err != nil && !errors.As(err, &kept) {
		h.Fatal(err)
	}
}

// finish completes the current session or not, and starts the next one or not.
func (h *history) finish(*rapid.T) {
	prd := h.prd()
	x := h.own(prd)
	if rapid.Bool().Draw(h.T, "complete") && x.State().Status != state.StatusComplete {
		checkpointtest.Commit(h.t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
	}
	h.remember(prd)
	if rapid.Bool().Draw(h.T, "replace") {
		h.start(x, prd)
	}
}

func (h *history) tidy(*rapid.T) {
	prd := h.prd()
	x := h.own(prd)
	h.remember(prd)
	checkpointtest.SameSpans(h.t, x)
	_, err := prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(h.t, err)
}

func (h *history) deleteSession(*rapid.T) {
	prd := h.prd()
	h.closeAll()
	if err := h.store().DeleteSession(context.Background(), prd, checkpointtest.By); err != nil && !errors.Is(err, checkpoint.ErrNoSession) {
		h.Fatal(err)
	}
}

// powerCut ends all owners, and loses everything that was not synced.
func (h *history) powerCut(*rapid.T) {
	for prd, x := range h.owned {
		checkpointtest.Must(h.t, x.Abort())
		delete(h.owned, prd)
	}
	h.memory = h.memory.Crash()
}

func (h *history) prune(*rapid.T) {
	x := h.own(h.prd())
	_, err := prune.Run(context.Background(), x, prune.Options{})
	checkpointtest.Must(h.t, err)
}

// collect collects objects. Every needed object must remain, no other one except
// listings, and a second collection must have nothing to do.
func (h *history) collect(*rapid.T) {
	h.closeAll()
	s := h.store()
	_, err := prune.Collect(context.Background(), s, nil)
	checkpointtest.Must(h.t, err)
	h.check(nil)
	for _, prd := range []string{"PRD-009", "PRD-010"} {
		h.remember(prd)
	}
	needed := h.neededBy(s, func(disk.SessionDir) bool { return true })
	for o, err := range s.Objects().All(context.Background()) {
		checkpointtest.Must(h.t, err)
		data, err := s.Objects().Get(context.Background(), o.Digest, 1<<20)
		checkpointtest.Must(h.t, err)
		if isListing := data[0] == '{'; !isListing && !needed[o.Digest] {
			h.Fatalf("nothing needs %s (%s)", o.Digest, data)
		}
	}
	again, err := prune.Collect(context.Background(), s, nil)
	checkpointtest.Must(h.t, err)
	if again.Objects+again.Leftovers > 0 {
		h.Fatalf("a second collection removed %+v", again)
	}
}

// neededBy returns the digests that the stored sessions need, of those in the places that
// which selects.
func (h *history) neededBy(s *checkpoint.Store, which func(disk.SessionDir) bool) map[string]bool {
	places, err := s.Layout().SessionDirs("")
	checkpointtest.Must(h.t, err)
	all := map[string]bool{}
	for _, p := range places {
		if !which(p) {
			continue
		}
		r, err := s.Reader().ReadRecord(p)
		checkpointtest.Must(h.t, err)
		if r.State != nil {
			maps.Copy(all, h.needed[r.State.Session])
		}
	}
	return all
}

// check is the invariant: every object exists that a stored session or one of its
// checkpoints needs.
func (h *history) check(*rapid.T) {
	s := h.store()
	for _, prd := range []string{"PRD-009", "PRD-010"} {
		if lacking := checkpointtest.LackingIn(h.t, s, prd); lacking != "" {
			h.Fatal(lacking)
		}
	}
	for digest := range h.neededBy(s, func(p disk.SessionDir) bool { return p.Place != disk.PlaceCurrent }) {
		if there, err := s.Objects().Has(digest); err != nil || !there {
			h.Fatalf("object %s is missing", digest)
		}
	}
}

// TestNothingKeptLosesWhatItNeeds does random operations, with pruning, collecting and
// power cuts among them. No kept session or checkpoint may lose an object that it needs.
func TestNothingKeptLosesWhatItNeeds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		h := &history{
			T: r, t: t, memory: store.NewMemory(), dir: t.TempDir(), clock: checkpointtest.NewTick(), policy: checkpoint.DefaultPolicy(),
			owned: map[string]*checkpoint.Session{}, needed: map[string]map[string]bool{},
		}
		h.policy.OnComplete = rapid.SampledFrom([]checkpoint.OnComplete{checkpoint.KeepOnComplete, checkpoint.DeleteOnComplete, checkpoint.ArchiveOnComplete}).Draw(r, "on complete")
		h.policy.Retention.Counts[string(state.TriggerManual)] = rapid.SampledFrom([]int{-1, 1}).Draw(r, "manual")
		r.Cleanup(func() {
			for _, x := range h.owned {
				checkpointtest.Must(t, x.Abort())
			}
		})
		r.Repeat(map[string]func(*rapid.T){
			"work": h.work, "work more": h.work, "capture": h.capture, "checkpoint": h.checkpoint, "checkpoint more": h.checkpoint,
			"pin": h.pin, "rollback": h.rollback, "delete": h.delete, "finish": h.finish, "tidy": h.tidy,
			"delete a session": h.deleteSession, "power cut": h.powerCut, "prune": h.prune, "collect": h.collect, "": h.check,
		})
	})
}

// TestPruneBesideAReader reads the list of checkpoints before each change that pruning
// and collecting make to the disk. Every checkpoint that is on the list must be whole.
func TestPruneBesideAReader(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	reader := c.Open()
	c.Options.Policy.Retention.Counts[string(state.TriggerManual)] = 100
	broken := ""
	c.Options.FS = &faults.Killed{FS: c.FS, Each: func() { broken = cmp.Or(broken, readOnce(reader)) }}
	for i := range 5 {
		s := c.Open()
		x := checkpointtest.LockPRD(t, s, "PRD-009")
		checkpointtest.Produce(t, x, "w0", checkpointtest.Put(t, s, "out", fmt.Sprintf("round %d", i)))
		checkpointtest.Mark(t, x, state.TriggerManual)
		checkpointtest.Mark(t, x, state.TriggerWorkstreamComplete)
		c.clock.Move(time.Hour)
		_, err := prune.Run(t.Context(), x, prune.Options{OlderThan: time.Minute})
		checkpointtest.Must(t, err)
		checkpointtest.Must(t, x.Close())
		done, err := prune.Collect(t.Context(), s, nil)
		checkpointtest.Must(t, err)
		if broken != "" {
			t.Fatalf("round %d: %s", i, broken)
		}
		if i > 0 && done.Objects == 0 {
			t.Error("nothing was collected, so that the test proves nothing")
		}
	}
}

// readOnce describes a checkpoint that is incomplete and still on the list when the list
// is read again, "" if there is none.
func readOnce(s *checkpoint.Store) string {
	refs, err := s.Checkpoints("PRD-009")
	if err != nil {
		return err.Error()
	}
	for _, ref := range refs {
		f, err := s.ReadCheckpoint("PRD-009", ref.ID)
		whole := err == nil
		for _, w := range stateWorkstreams(f) {
			for _, a := range w.Artifacts {
				there, err := s.Objects().Has(a.Digest)
				whole = whole && err == nil && there
			}
		}
		if whole {
			continue
		}
		again, err := s.Checkpoints("PRD-009")
		if err != nil {
			return err.Error()
		}
		if slices.ContainsFunc(again, func(r state.CheckpointRef) bool { return r.ID == ref.ID }) {
			return ref.ID + " is on the list, but not whole"
		}
	}
	return ""
}

func stateWorkstreams(f *disk.CheckpointFile) []*state.Workstream {
	var all []*state.Workstream
	if f != nil {
		for _, p := range f.State.Phases {
			all = append(all, p.Workstreams...)
		}
	}
	return all
}
