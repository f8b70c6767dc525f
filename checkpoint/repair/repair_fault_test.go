//go:build unix

package repair_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// wreck is a session with a damaged line in the middle of its journal. The files of two
// checkpoints are damaged, too. The first one can be made again from the lines before the
// damage, the second one is lost.
type wreck struct {
	*checkpointtest.Fixture
	ids  []string
	was  map[string][]byte // damaged files, which must be kept
	file []byte            // the undamaged file of the first checkpoint
}

func newWreck(t *testing.T, m *store.Memory) *wreck {
	t.Helper()
	w := &wreck{Fixture: checkpointtest.On(t, m, "/ws/.runner"), was: map[string][]byte{}}
	w.ids = checkpointtest.Stopped(w.Fixture)
	w.file = w.Read(w.CheckpointFile(w.ids[0]))
	for _, id := range w.ids[:2] {
		checkpointtest.FlipByte(w.Fixture, w.CheckpointFile(id), 100)
		w.was[filepath.Base(w.CheckpointFile(id))] = w.Read(w.CheckpointFile(id))
	}
	journal := w.Read("PRD-009/journal.jsonl")
	checkpointtest.FlipByte(w.Fixture, "PRD-009/journal.jsonl", bytes.Index(journal, []byte(w.ids[1])))
	w.was[disk.JournalName] = w.Read("PRD-009/journal.jsonl")
	return w
}

// rebuilt fails the test unless the journal is the damaged or the new one. It rebuilds a
// damaged one, adds a commit, and checks that nothing is lost. It returns whether it
// rebuilt the journal.
func (w *wreck) rebuilt(when string, done bool) (again bool) {
	t, s := w.T, w.Open()
	t.Helper()
	if _, err := s.Load("PRD-009"); err != nil {
		var damaged *state.DamagedError
		if !errors.As(err, &damaged) || !bytes.Equal(w.Read("PRD-009/journal.jsonl"), w.was[disk.JournalName]) {
			t.Fatalf("%s: the journal is neither the damaged nor the new one: %v", when, err)
		}
		if done {
			t.Fatalf("%s: the rebuild succeeded, but the journal is damaged: %v", when, err)
		}
		if _, err := repair.RebuildJournal(context.Background(), s, "PRD-009", checkpointtest.By); err != nil {
			t.Fatalf("%s: rebuild again: %v", when, err)
		}
		again = true
	}
	x := w.Lock()
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "phase-5"})
	checkpointtest.Must(t, x.Close())
	st := x.State()
	if ref := st.Checkpoint(w.ids[1]); st.Steps != 4 || st.Session != "S1" || ref == nil || ref.Damage == nil || ref.Valid {
		t.Fatalf("%s: step %d, %+v", when, st.Steps, ref)
	}
	if !bytes.Equal(w.Read(w.CheckpointFile(w.ids[0])), w.file) {
		t.Fatalf("%s: the file of the first checkpoint was not made again", when)
	}
	w.kept(when)
	return again
}

// kept fails the test unless all damaged files are kept in damaged-TIME directories, and
// no temporary file remains.
func (w *wreck) kept(when string) {
	t := w.T
	t.Helper()
	entries, err := w.FS.ReadDir(filepath.Join(w.Dir, "PRD-009"))
	checkpointtest.Must(t, err)
	for name, want := range w.was {
		found := false
		for _, e := range entries {
			if !e.IsDir() || !strings.HasPrefix(e.Name(), "damaged-") {
				continue
			}
			data, err := store.ReadFile(w.FS, filepath.Join(w.Dir, "PRD-009", e.Name(), name))
			found = found || err == nil && bytes.Equal(data, want)
		}
		if !found {
			t.Fatalf("%s: the damaged %s is lost", when, name)
		}
	}
	for _, e := range entries {
		if store.IsTemp(e.Name()) {
			t.Fatalf("%s: temporary file %s remains", when, e.Name())
		}
	}
}

// TestRebuildJournalFaults makes each operation on the state directory fail during a
// rebuild, once or from then on, and cuts the power there. The journal must be the
// damaged or the new one, rebuilding again must succeed, and the damaged files must be
// kept.
func TestRebuildJournalFaults(t *testing.T) {
	t.Parallel()
	for _, plane := range []string{"once", "for ever", "power cut"} {
		t.Run(plane, func(t *testing.T) {
			t.Parallel()
			ways, states := map[bool]int{}, 0
			for n := range faults.Moments() {
				m := store.NewMemory()
				w := newWreck(t, m)
				after := []*store.Memory{m}
				once, d := &faults.FailingOnce{FS: m, At: n}, &faults.Killed{FS: m, At: n, Before: func() {
					if plane == "power cut" {
						after = faults.SomeCuts(m, n)
					}
				}}
				w.Options.FS = store.FS(d)
				if plane == "once" {
					w.Options.FS = once
				}
				err := w.rebuildAll()
				for i, left := range after {
					w.Options.FS, w.FS = left, left
					ways[w.rebuilt(fmt.Sprintf("%s at %d, state %d: %v", plane, n, i, err), err == nil)]++
				}
				states += len(after)
				if once.Count.Load()+d.Count.Load() < n {
					if err != nil {
						t.Errorf("without a fault: %v", err)
					}
					t.Logf("%d operations, %d states, %d repeated rebuilds", n-1, states, ways[true])
					break
				}
			}
			if len(ways) != 2 {
				t.Errorf("every rebuild ended in the same way: %v", ways)
			}
		})
	}
}

func (w *wreck) rebuildAll() error {
	s, err := checkpoint.OpenStore(w.Dir, w.Options)
	if err != nil {
		return err
	}
	_, err = repair.RebuildJournal(context.Background(), s, "PRD-009", checkpointtest.By)
	return err
}
