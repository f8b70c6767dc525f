package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// closed makes a small session that was closed, and returns its journal and
// the state after each of its lines.
func closed(f *fixture) (journal []byte, states []*state.State) {
	f.t.Helper()
	x := f.lock()
	must(f.t, x.Start(started("S1", state.Shape{Phases: cashier().Phases[:1]})))
	commit(f.t, x, state.PhaseStarted{Phase: "phase-1"})
	commit(f.t, x, state.WorkstreamStarted{Workstream: "WS1", Attempt: 1}, state.WorkstreamFailed{Workstream: "WS1", Error: state.Failure{Message: "no"}})
	commit(f.t, x, state.PauseAsked{By: by})
	commit(f.t, x, state.PauseAsked{})
	must(f.t, x.Close())
	journal = f.read("PRD-009/journal.jsonl")
	return journal, fold1(f.t, journal)
}

// fold1 returns the state after each line; the first is nil.
func fold1(t testing.TB, lines []byte) []*state.State {
	t.Helper()
	f := journal.NewFold()
	states := []*state.State{nil}
	path := "/journal"
	fsys := store.NewMemory()
	must(t, store.WriteFile(fsys, path, lines))
	_, err := journal.Replay("PRD-009", path, store.OpenLog(fsys, path), func(c state.Commit) error {
		if err := f.Apply(c); err != nil {
			return err
		}
		states = append(states, f.State.Clone())
		return nil
	})
	must(t, err)
	return states
}

// withJournal returns a copy of a fixture's PRD with another journal.
func withJournal(f *fixture, journal []byte, derived, unclean bool) *fixture {
	f.t.Helper()
	g := inMemory(f.t)
	must(f.t, store.MkdirAll(g.fs, filepath.Join(g.dir, "locks")))
	must(f.t, store.MkdirAll(g.fs, filepath.Join(g.dir, "PRD-009")))
	if unclean {
		must(f.t, store.WriteFile(g.fs, filepath.Join(g.dir, "locks/PRD-009.lock"), []byte(" {\"host\":\"gone\",\"pid\":1}\n")))
	}
	if derived {
		g.write("PRD-009.json", f.read("PRD-009.json"))
	}
	g.write("PRD-009/journal.jsonl", journal)
	return g
}

func TestJournalTruncatedAtEveryByte(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	journal, states := closed(f)
	for n := range len(journal) {
		whole := bytes.Count(journal[:n], []byte("\n"))
		torn := journal[bytes.LastIndexByte(journal[:n], '\n')+1 : n]

		// The document names the last commit: something acknowledged is lost.
		g := withJournal(f, journal[:n], true, true)
		_, err := g.open().Lock(context.Background(), "PRD-009", by)
		var damaged *state.DamagedError
		if !errors.As(err, &damaged) {
			t.Fatalf("cut at %d, with a document: %v", n, err)
		}
		if !bytes.Equal(g.read("PRD-009/journal.jsonl"), journal[:n]) {
			t.Fatalf("cut at %d: the journal was changed", n)
		}

		g = withJournal(f, journal[:n], false, true)
		x := g.lock()
		if got := x.State(); whole == 0 && got != nil || whole > 0 && got.Seq != uint64(whole) {
			t.Fatalf("cut at %d: state %+v, want %d lines", n, got, whole)
		}
		if whole > 0 {
			same(t, fmt.Sprintf("cut at %d", n), x.State(), states[whole])
		}
		saved := 0
		entries, err := g.fs.ReadDir(filepath.Join(g.dir, "PRD-009"))
		must(t, err)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "torn-") {
				saved++
				if !bytes.Equal(g.read("PRD-009/"+e.Name()), torn) {
					t.Fatalf("cut at %d: other bytes were saved", n)
				}
			}
		}
		if want := min(len(torn), 1); saved != want {
			t.Fatalf("cut at %d: %d files of torn bytes, want %d", n, saved, want)
		}
		kill(t, x)
		y := g.lock() // recovering twice gives the same
		same(t, "second recovery", y.State(), x.State())
		kill(t, y)
	}
}

func TestJournalByteFlipped(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	journal, _ := closed(f)
	last := bytes.LastIndexByte(journal[:len(journal)-1], '\n') + 1
	for i := range journal {
		flipped := bytes.Clone(journal)
		flipped[i] ^= 0x41
		for _, derived := range []bool{true, false} {
			g := withJournal(f, flipped, derived, true)
			x, err := g.open().Lock(context.Background(), "PRD-009", by)
			if err == nil {
				// Only in the last line, and only where nothing proves that
				// it was acknowledged, can it be a write that was cut short.
				if derived || i < last-1 {
					t.Fatalf("byte %d flipped, document %t: not noticed", i, derived)
				}
				kill(t, x)
				continue
			}
			var damaged *state.DamagedError
			if !errors.As(err, &damaged) || damaged.Line == 0 || !strings.Contains(damaged.Remedy, "runner abandon PRD-009") {
				t.Fatalf("byte %d flipped: %v", i, err)
			}
			if !bytes.Equal(g.read("PRD-009/journal.jsonl"), flipped) {
				t.Fatalf("byte %d flipped: the journal was changed", i)
			}
		}
	}
}

func TestJournalSpliced(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	journal, _ := closed(f)
	lines := bytes.SplitAfter(journal, []byte("\n"))
	lines = lines[:len(lines)-1]
	other := inMemory(t)
	x := other.lock()
	must(t, x.Start(started("S2", cashier())))
	commit(t, x, state.PhaseStarted{Phase: "phase-1"})
	must(t, x.Close())
	foreign := bytes.SplitAfter(other.read("PRD-009/journal.jsonl"), []byte("\n"))

	for name, edited := range map[string][][]byte{
		"first line deleted":  lines[1:],
		"line deleted":        append(append([][]byte{}, lines[:3]...), lines[4:]...),
		"lines swapped":       append(append(append([][]byte{}, lines[:3]...), lines[4], lines[3]), lines[5:]...),
		"line duplicated":     append(append(append([][]byte{}, lines[:4]...), lines[3]), lines[4:]...),
		"last duplicated":     append(append([][]byte{}, lines...), lines[len(lines)-1]),
		"foreign second line": append([][]byte{lines[0], foreign[1]}, lines[2:]...),
		"last line deleted":   lines[:len(lines)-1],
		"empty line":          append(append([][]byte{}, lines[:3]...), append([][]byte{[]byte("\n")}, lines[3:]...)...),
	} {
		g := withJournal(f, bytes.Join(edited, nil), true, false)
		_, err := g.open().Lock(context.Background(), "PRD-009", by)
		var damaged *state.DamagedError
		if !errors.As(err, &damaged) {
			t.Errorf("%s: lock: %v", name, err)
		}
		if _, err := g.open().Load("PRD-009"); !errors.As(err, &damaged) {
			t.Errorf("%s: load: %v", name, err)
		}
	}
}

func TestJournalMissing(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	closed(f)
	must(t, f.fs.Remove(filepath.Join(f.dir, "PRD-009/journal.jsonl")))
	var damaged *state.DamagedError
	if _, err := f.open().Load("PRD-009"); !errors.As(err, &damaged) {
		t.Errorf("load: %v", err)
	}
	if _, err := f.open().Lock(context.Background(), "PRD-009", by); !errors.As(err, &damaged) {
		t.Errorf("lock: %v", err)
	}
	to, err := f.open().SetAside(context.Background(), "PRD-009")
	must(t, err)
	if !strings.Contains(to, "failed/PRD-009-2025") {
		t.Errorf("set aside to %s", to)
	}
	if _, err := f.open().Load("PRD-009"); !errors.Is(err, ErrNoSession) {
		t.Errorf("load after: %v", err)
	}
	if _, err := store.ReadFile(f.fs, filepath.Join(to, "PRD-009.json")); err != nil {
		t.Errorf("the document: %v", err)
	}
}

// TestOversizedEvent: what could not be read back is not written, neither into the
// journal nor into a rescue copy, and does not keep the next owner out.
func TestOversizedEvent(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.run()
	before, durable := f.read("PRD-009/journal.jsonl"), x.State().Clone()
	x.Add(state.PauseAsked{Reason: state.Text(strings.Repeat("\x01", store.MaxRecord/6))})
	_, err := x.Drain(context.Background())
	var poisoned *PoisonedError
	var large *journal.TooLargeError
	if !errors.As(err, &poisoned) || !errors.As(err, &large) || poisoned.Rescue != "" {
		t.Errorf("drain: %v", err)
	}
	if !bytes.Equal(f.read("PRD-009/journal.jsonl"), before) {
		t.Error("it was written")
	}
	if err := x.Close(); err == nil {
		t.Error("closed cleanly")
	}
	x = f.lock()
	same(t, "state of the next owner", x.State(), durable)
	must(t, x.Close())
}

func TestNewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	c := state.Commit{Seq: 1, Time: clock()(), Events: []state.Event{started("S1", cashier())}, Prev: journal.Genesis}
	line, err := journal.NewEncoder().Line(&c)
	must(t, err)
	newer := bytes.Replace(line, []byte(`"kind":"session.started"`), []byte(`"kind":"session.dreamed"`), 1)
	body := newer[:bytes.LastIndex(newer, []byte(journal.SumField))]
	g := withJournal(f, signed(body), false, false)
	_, err = g.open().Load("PRD-009")
	var version *state.VersionError
	if !errors.As(err, &version) || !strings.HasSuffix(version.Path, "journal.jsonl") {
		t.Errorf("load: %v", err)
	}

	started := started("S1", cashier())
	started.FormatVersion = "2.0"
	c.Events = []state.Event{started}
	line, err = journal.NewEncoder().Line(&c)
	must(t, err)
	g = withJournal(f, line, false, false)
	if _, err := g.open().Lock(context.Background(), "PRD-009", by); !errors.As(err, &version) || version.Version != "format version 2.0" {
		t.Errorf("lock: %v", err)
	}
}

func TestUncleanEndIsRewritten(t *testing.T) {
	t.Parallel()
	memory := store.NewMemory()
	f := on(t, memory, "/ws/.runner")
	x := f.run()
	before, err := memory.Lstat("/ws/.runner/PRD-009/journal.jsonl")
	must(t, err)
	want := x.State().Clone()
	kill(t, x)

	x = f.lock()
	if !x.Unclean() {
		t.Error("a killed owner is not noticed")
	}
	after, err := memory.Lstat("/ws/.runner/PRD-009/journal.jsonl")
	must(t, err)
	if store.Same(before, after) {
		t.Error("the journal was not written anew")
	}
	same(t, "state", x.State(), want)
	commit(t, x, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1})
	must(t, x.Close())

	if x = f.lock(); x.Unclean() {
		t.Error("unclean after a clean end")
	}
	must(t, x.Close())
}

// TestAcknowledgedSurvivesPowerCut cuts the power after every acknowledged
// commit: all of them are there.
func TestAcknowledgedSurvivesPowerCut(t *testing.T) {
	t.Parallel()
	memory := store.NewMemory()
	f := on(t, memory, "/ws/.runner")
	x := f.lock()
	must(t, x.Start(started("S1", cashier())))
	for _, e := range append([]state.Event{state.PhaseStarted{Phase: "phase-1"}}, work("WS1", "schema-validation", "a.sql")...) {
		commit(t, x, e)
		x.Checkpoint(state.TriggerManual, "", nil)
		commit(t, x)
		must(t, x.WriteDerived(context.Background(), true))
		want := x.State().Clone()
		x.Add(state.PauseAsked{By: by}) // never flushed

		g := on(t, memory.Crash(), f.dir)
		y := g.lock()
		same(t, "state after a power cut", y.State(), want)
		cp, err := g.open().ReadCheckpoint("PRD-009", "latest")
		must(t, err)
		if cp.Seq != want.Seq {
			t.Errorf("the latest checkpoint is of %d, want %d", cp.Seq, want.Seq)
		}
		must(t, y.Close())
	}
	must(t, x.Close())
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.run()
	first, _ := x.Checkpoint(state.TriggerManual, "before", nil)
	commit(t, x)
	filler := state.Text(strings.Repeat("x", 1<<20))
	for range 10 {
		commit(t, x, state.PauseAsked{By: by, Reason: filler})
	}
	commit(t, x, state.PauseAsked{By: by})
	want := x.State().Clone()
	must(t, x.Close())

	x = f.lock()
	same(t, "state after compaction", x.State(), want)
	if size := len(f.read("PRD-009/journal.jsonl")); size > 1<<20 {
		t.Errorf("the journal still has %d bytes", size)
	}
	if len(f.read(fmt.Sprintf("PRD-009/journal.1-%d.jsonl", want.Seq))) < 10<<20 {
		t.Error("the old journal is gone")
	}
	commit(t, x, work("WS2", "type-check", "c.ts")...)
	want = x.State().Clone()
	must(t, x.Close())

	snap, err := f.open().Load("PRD-009")
	must(t, err)
	same(t, "state behind the compacted line", snap.State, want)
	// The file of a checkpoint from before can still be made again.
	must(t, f.fs.Remove(filepath.Join(f.dir, "PRD-009/checkpoints", first+".json")))
	cp, err := f.open().ReadCheckpoint("PRD-009", first)
	must(t, err)
	if cp.State.Seq != cp.Seq || cp.Reason != "before" {
		t.Errorf("rebuilt %+v", cp)
	}
}

// signed makes a line of everything before its sum.
func signed(body []byte) []byte {
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	return []byte(string(body) + journal.SumField + sum + "\"}\n")
}

// TestCommitsAreSplitAtTheLimit: however much becomes ready together, no line is
// longer than it may be, and each event stands in one.
func TestCommitsAreSplitAtTheLimit(t *testing.T) {
	t.Parallel()
	const room = 24 << 10
	third := state.Text(strings.Repeat("\x01", 1<<10)) // of which JSON makes six times as much
	event := func(reason state.Text) state.Event { return state.PauseAsked{By: by, Reason: reason} }
	for name, add := range map[string]func(x *Session){
		"one after the other": func(x *Session) {
			for range 7 {
				x.Add(event(third))
			}
		},
		"at once": func(x *Session) {
			x.Add(event(third), event(third), event(third), event(third), event(third), event(third), event(third))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			x := f.run()
			x.LimitCommits(room)
			first := x.Durable()
			add(x)
			x.Checkpoint(state.TriggerManual, "", nil)
			commits, err := x.Drain(context.Background())
			must(t, err)
			events := 0
			for i, c := range commits {
				events += len(c.Events)
				if want := first + uint64(i) + 1; c.Seq != want {
					t.Errorf("commit %d of %d, want %d", i, c.Seq, want)
				}
			}
			if len(commits) != 3 || events != 8 {
				t.Errorf("%d events in %d commits", events, len(commits))
			}
			want := x.State().Clone()
			must(t, x.Close())
			for line := range bytes.Lines(f.read("PRD-009/journal.jsonl")) {
				if len(line) > room+1<<10 {
					t.Errorf("a line has %d bytes", len(line))
				}
			}
			x = f.lock()
			same(t, "state read back", x.State(), want)
			must(t, x.Close())
		})
	}
}

// TestTogetherStaysTogether: what is added together is not split as long as a line
// holds it, though no more than a part of it fits behind what was there before.
func TestTogetherStaysTogether(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.run()
	x.LimitCommits(24 << 10)
	large := state.PauseAsked{By: by, Reason: state.Text(strings.Repeat("x", 9<<10))}
	x.Add(large)
	x.Add(large, large)
	commits, err := x.Drain(context.Background())
	must(t, err)
	if len(commits) != 2 || len(commits[0].Events) != 1 || len(commits[1].Events) != 2 {
		t.Errorf("%d commits", len(commits))
	}
	must(t, x.Close())
}
