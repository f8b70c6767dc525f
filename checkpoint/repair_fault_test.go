//go:build unix

package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// wreck is a session whose journal is damaged in the middle, with a checkpoint
// whose damaged file the lines before it give again, and one that is gone.
type wreck struct {
	*fixture
	ids  []string
	was  map[string][]byte // bytes that must stay somewhere
	file []byte            // of the checkpoint that is given again
}

func newWreck(t *testing.T, m *store.Memory) *wreck {
	t.Helper()
	w := &wreck{fixture: on(t, m, "/ws/.runner"), was: map[string][]byte{}}
	w.ids = w.stopped()
	w.file = w.read(w.checkpointFile(w.ids[0]))
	for _, id := range w.ids[:2] {
		w.flip(w.checkpointFile(id), 100)
		w.was[filepath.Base(w.checkpointFile(id))] = w.read(w.checkpointFile(id))
	}
	journal := w.read("PRD-009/journal.jsonl")
	w.flip("PRD-009/journal.jsonl", bytes.Index(journal, []byte(w.ids[1])))
	w.was[disk.JournalName] = w.read("PRD-009/journal.jsonl")
	return w
}

// rebuilt checks that the journal is the damaged one or the new one, has it
// rebuilt if it must be, and checks that nothing is lost then.
func (w *wreck) rebuilt(when string, done bool) (again bool) {
	t, s := w.t, w.open()
	t.Helper()
	if _, err := s.Load("PRD-009"); err != nil {
		var damaged *state.DamagedError
		if !errors.As(err, &damaged) || !bytes.Equal(w.read("PRD-009/journal.jsonl"), w.was[disk.JournalName]) {
			t.Fatalf("%s: neither journal is there: %v", when, err)
		}
		if done {
			t.Fatalf("%s: it was said to be done: %v", when, err)
		}
		if _, err := s.RebuildJournal(context.Background(), "PRD-009", by); err != nil {
			t.Fatalf("%s: again: %v", when, err)
		}
		again = true
	}
	x := w.lock()
	commit(t, x, state.PhaseStarted{Phase: "phase-5"})
	must(t, x.Close())
	st := x.State()
	if ref := st.Checkpoint(w.ids[1]); st.Steps != 4 || st.Session != "S1" || ref == nil || ref.Damage == nil || ref.Valid {
		t.Fatalf("%s: step %d, %+v", when, st.Steps, ref)
	}
	if !bytes.Equal(w.read(w.checkpointFile(w.ids[0])), w.file) {
		t.Fatalf("%s: the checkpoint that the lines hold was not given again", when)
	}
	w.kept(when)
	return again
}

// kept checks that everything that was damaged still lies aside, and that no
// temporary file does.
func (w *wreck) kept(when string) {
	t := w.t
	t.Helper()
	entries, err := w.fs.ReadDir(filepath.Join(w.dir, "PRD-009"))
	must(t, err)
	for name, want := range w.was {
		found := false
		for _, e := range entries {
			if !e.IsDir() || !strings.HasPrefix(e.Name(), "damaged-") {
				continue
			}
			data, err := store.ReadFile(w.fs, filepath.Join(w.dir, "PRD-009", e.Name(), name))
			found = found || err == nil && bytes.Equal(data, want)
		}
		if !found {
			t.Fatalf("%s: the damaged %s is lost", when, name)
		}
	}
	for _, e := range entries {
		if store.IsTemp(e.Name()) {
			t.Fatalf("%s: %s is left", when, e.Name())
		}
	}
}

// TestRebuildJournalFaults lets every operation on the state directory fail in
// turn, once or from then on, and cuts the power there: the damaged journal is
// there or the new one, doing it again succeeds, and what was damaged is kept.
func TestRebuildJournalFaults(t *testing.T) {
	t.Parallel()
	for _, plane := range []string{"once", "for ever", "power cut"} {
		t.Run(plane, func(t *testing.T) {
			t.Parallel()
			ways, states := map[bool]int{}, 0
			for n := int64(1); ; n += stride() {
				m := store.NewMemory()
				w := newWreck(t, m)
				after := []*store.Memory{m}
				once, d := &faults.FailingOnce{FS: m, At: n}, &faults.Killed{FS: m, At: n, Before: func() {
					if plane == "power cut" {
						after = faults.SomeCuts(m, n)
					}
				}}
				w.o.FS = store.FS(d)
				if plane == "once" {
					w.o.FS = once
				}
				err := w.rebuildAll()
				for i, left := range after {
					w.o.FS, w.fs = left, left
					ways[w.rebuilt(fmt.Sprintf("%s at %d, state %d: %v", plane, n, i, err), err == nil)]++
				}
				states += len(after)
				if once.Count.Load()+d.Count.Load() < n {
					if err != nil {
						t.Errorf("without a fault: %v", err)
					}
					t.Logf("%d operations, %d states, %d times it was done again", n-1, states, ways[true])
					break
				}
			}
			if len(ways) != 2 {
				t.Errorf("always the same happened: %v", ways)
			}
		})
	}
}

func (w *wreck) rebuildAll() error {
	s, err := OpenStore(w.dir, w.o)
	if err != nil {
		return err
	}
	_, err = s.RebuildJournal(context.Background(), "PRD-009", by)
	return err
}

// stride is how many operations lie between those that fail.
func stride() int64 {
	if testing.Short() {
		return 7
	}
	return 1
}
