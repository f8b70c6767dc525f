package checkpoint_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// closed makes a small session and closes it. It returns the journal and the states, of
// which states[n] is the state after n lines.
func closed(f *checkpointtest.Fixture) (journal []byte, states []*state.State) {
	f.T.Helper()
	x := f.Lock()
	checkpointtest.Must(f.T, x.Start(checkpointtest.Started("S1", state.Shape{Phases: checkpointtest.Cashier().Phases[:1]})))
	checkpointtest.Commit(f.T, x, state.PhaseStarted{Phase: "phase-1"})
	checkpointtest.Commit(f.T, x, state.WorkstreamStarted{Workstream: "WS1", Attempt: 1}, state.WorkstreamFailed{Workstream: "WS1", Error: state.Failure{Message: "no"}})
	checkpointtest.Commit(f.T, x, state.PauseAsked{By: checkpointtest.By})
	checkpointtest.Commit(f.T, x, state.PauseAsked{})
	checkpointtest.Must(f.T, x.Close())
	journal = f.Read("PRD-009/journal.jsonl")
	return journal, fold1(f.T, journal)
}

// fold1 returns the states of a journal: states[n] is the state after n lines, states[0]
// is nil.
func fold1(t testing.TB, lines []byte) []*state.State {
	t.Helper()
	f := journal.NewFold()
	states := []*state.State{nil}
	path := "/journal"
	fsys := store.NewMemory()
	checkpointtest.Must(t, store.WriteFile(fsys, path, lines))
	_, err := journal.Replay("PRD-009", path, store.OpenLog(fsys, path), func(c state.Commit) error {
		if err := f.Apply(c); err != nil {
			return err
		}
		states = append(states, f.State.Clone())
		return nil
	})
	checkpointtest.Must(t, err)
	return states
}

// withJournal returns a copy of a fixture's PRD with another journal. The copy has the
// PRD document if derived is set, and the lock note of a killed owner if unclean is set.
func withJournal(f *checkpointtest.Fixture, journal []byte, derived, unclean bool) *checkpointtest.Fixture {
	f.T.Helper()
	g := checkpointtest.InMemory(f.T)
	checkpointtest.Must(f.T, store.MkdirAll(g.FS, filepath.Join(g.Dir, "locks")))
	checkpointtest.Must(f.T, store.MkdirAll(g.FS, filepath.Join(g.Dir, "PRD-009")))
	if unclean {
		checkpointtest.Must(f.T, store.WriteFile(g.FS, filepath.Join(g.Dir, "locks/PRD-009.lock"), []byte(" {\"host\":\"gone\",\"pid\":1}\n")))
	}
	if derived {
		g.Write("PRD-009.json", f.Read("PRD-009.json"))
	}
	g.Write("PRD-009/journal.jsonl", journal)
	return g
}

// TestJournalTruncatedAtEveryByte cuts the journal off at each byte. If the PRD document
// proves that acknowledged lines are lost, the lock must be refused. Otherwise the next
// owner must keep all whole lines and save the torn bytes in a file.
func TestJournalTruncatedAtEveryByte(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	journal, states := closed(f)
	for n := range len(journal) {
		whole := bytes.Count(journal[:n], []byte("\n"))
		torn := journal[bytes.LastIndexByte(journal[:n], '\n')+1 : n]

		// The document names the last commit, so that an acknowledged commit is lost.
		g := withJournal(f, journal[:n], true, true)
		_, err := g.Open().Lock(context.Background(), "PRD-009", checkpointtest.By)
		var damaged *state.DamagedError
		if !errors.As(err, &damaged) {
			t.Fatalf("cut at %d, with a document: %v", n, err)
		}
		if !bytes.Equal(g.Read("PRD-009/journal.jsonl"), journal[:n]) {
			t.Fatalf("cut at %d: the journal was changed", n)
		}

		g = withJournal(f, journal[:n], false, true)
		x := g.Lock()
		if got := x.State(); whole == 0 && got != nil || whole > 0 && got.Seq != uint64(whole) {
			t.Fatalf("cut at %d: state %+v, want %d lines", n, got, whole)
		}
		if whole > 0 {
			checkpointtest.Same(t, fmt.Sprintf("cut at %d", n), x.State(), states[whole])
		}
		saved := 0
		entries, err := g.FS.ReadDir(filepath.Join(g.Dir, "PRD-009"))
		checkpointtest.Must(t, err)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "torn-") {
				saved++
				if !bytes.Equal(g.Read("PRD-009/"+e.Name()), torn) {
					t.Fatalf("cut at %d: the saved file does not hold the torn bytes", n)
				}
			}
		}
		if want := min(len(torn), 1); saved != want {
			t.Fatalf("cut at %d: %d files of torn bytes, want %d", n, saved, want)
		}
		checkpointtest.Kill(t, x)
		y := g.Lock() // a second recovery must give the same state
		checkpointtest.Same(t, "second recovery", y.State(), x.State())
		checkpointtest.Kill(t, y)
	}
}

// TestJournalByteFlipped flips bits in each byte of the journal. The lock must be
// refused, with the line and a remedy, and the journal must stay unchanged. The last line
// may count as torn if no document proves that it was acknowledged.
func TestJournalByteFlipped(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	journal, _ := closed(f)
	last := bytes.LastIndexByte(journal[:len(journal)-1], '\n') + 1
	for i := range journal {
		flipped := bytes.Clone(journal)
		flipped[i] ^= 0x41
		for _, derived := range []bool{true, false} {
			g := withJournal(f, flipped, derived, true)
			x, err := g.Open().Lock(context.Background(), "PRD-009", checkpointtest.By)
			if err == nil {
				// The last line can be a write that was cut short, unless the
				// document proves that the line was acknowledged.
				if derived || i < last-1 {
					t.Fatalf("byte %d flipped, document %t: lock succeeded", i, derived)
				}
				checkpointtest.Kill(t, x)
				continue
			}
			var damaged *state.DamagedError
			if !errors.As(err, &damaged) || damaged.Line == 0 || !strings.Contains(damaged.Remedy, "runner abandon PRD-009") {
				t.Fatalf("byte %d flipped: %v", i, err)
			}
			if !bytes.Equal(g.Read("PRD-009/journal.jsonl"), flipped) {
				t.Fatalf("byte %d flipped: the journal was changed", i)
			}
		}
	}
}

// TestJournalSpliced deletes, swaps, duplicates, inserts and replaces lines of a journal.
// Readers and owners must report damage.
func TestJournalSpliced(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	journal, _ := closed(f)
	lines := bytes.SplitAfter(journal, []byte("\n"))
	lines = lines[:len(lines)-1]
	other := checkpointtest.InMemory(t)
	x := other.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S2", checkpointtest.Cashier())))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "phase-1"})
	checkpointtest.Must(t, x.Close())
	foreign := bytes.SplitAfter(other.Read("PRD-009/journal.jsonl"), []byte("\n"))

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
		_, err := g.Open().Lock(context.Background(), "PRD-009", checkpointtest.By)
		var damaged *state.DamagedError
		if !errors.As(err, &damaged) {
			t.Errorf("%s: lock: %v", name, err)
		}
		if _, err := g.Open().Load("PRD-009"); !errors.As(err, &damaged) {
			t.Errorf("%s: load: %v", name, err)
		}
	}
}

// TestJournalMissing removes the journal of a session that has a document. Readers and
// owners must report damage, and SetAside must move the remaining files to failed/.
func TestJournalMissing(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	closed(f)
	checkpointtest.Must(t, f.FS.Remove(filepath.Join(f.Dir, "PRD-009/journal.jsonl")))
	var damaged *state.DamagedError
	if _, err := f.Open().Load("PRD-009"); !errors.As(err, &damaged) {
		t.Errorf("load: %v", err)
	}
	if _, err := f.Open().Lock(context.Background(), "PRD-009", checkpointtest.By); !errors.As(err, &damaged) {
		t.Errorf("lock: %v", err)
	}
	to, err := f.Open().SetAside(context.Background(), "PRD-009")
	checkpointtest.Must(t, err)
	if !strings.Contains(to, "failed/PRD-009-2025") {
		t.Errorf("set aside to %s", to)
	}
	if _, err := f.Open().Load("PRD-009"); !errors.Is(err, checkpoint.ErrNoSession) {
		t.Errorf("load after: %v", err)
	}
	if _, err := store.ReadFile(f.FS, filepath.Join(to, "PRD-009.json")); err != nil {
		t.Errorf("the document: %v", err)
	}
}

// TestOversizedEvent adds an event that is too large for a journal line. The event must
// be written neither to the journal nor to a rescue copy, and the next owner must have
// the state without the event.
func TestOversizedEvent(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	before, durable := f.Read("PRD-009/journal.jsonl"), x.State().Clone()
	x.Add(state.PauseAsked{Reason: state.Text(strings.Repeat("\x01", store.MaxRecord/6))})
	_, err := x.Drain(context.Background())
	var poisoned *checkpoint.PoisonedError
	var large *journal.TooLargeError
	if !errors.As(err, &poisoned) || !errors.As(err, &large) || poisoned.Rescue != "" {
		t.Errorf("drain: %v", err)
	}
	if !bytes.Equal(f.Read("PRD-009/journal.jsonl"), before) {
		t.Error("the event was written to the journal")
	}
	if err := x.Close(); err == nil {
		t.Error("close returned no error")
	}
	x = f.Lock()
	checkpointtest.Same(t, "state of the next owner", x.State(), durable)
	checkpointtest.Must(t, x.Close())
}

// TestNewerVersionIsRefused: a journal with an event of an unknown kind, or of a newer
// format version, must be refused with an error that names the version or the file.
func TestNewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	c := state.Commit{Seq: 1, Time: checkpointtest.Clock()(), Events: []state.Event{checkpointtest.Started("S1", checkpointtest.Cashier())}, Prev: journal.Genesis}
	line, err := journal.NewEncoder().Line(&c)
	checkpointtest.Must(t, err)
	newer := bytes.Replace(line, []byte(`"kind":"session.started"`), []byte(`"kind":"session.dreamed"`), 1)
	body := newer[:bytes.LastIndex(newer, []byte(journal.SumField))]
	g := withJournal(f, signed(body), false, false)
	_, err = g.Open().Load("PRD-009")
	var version *state.VersionError
	if !errors.As(err, &version) || !strings.HasSuffix(version.Path, "journal.jsonl") {
		t.Errorf("load: %v", err)
	}

	started := checkpointtest.Started("S1", checkpointtest.Cashier())
	started.FormatVersion = "2.0"
	c.Events = []state.Event{started}
	line, err = journal.NewEncoder().Line(&c)
	checkpointtest.Must(t, err)
	g = withJournal(f, line, false, false)
	if _, err := g.Open().Lock(context.Background(), "PRD-009", checkpointtest.By); !errors.As(err, &version) || version.Version != "format version 2.0" {
		t.Errorf("lock: %v", err)
	}
}

// TestUncleanEndIsRewritten kills an owner. The next owner must notice, and replace the
// journal by a copy with the same state. After a clean end the next owner must report a
// clean one.
func TestUncleanEndIsRewritten(t *testing.T) {
	t.Parallel()
	memory := store.NewMemory()
	f := checkpointtest.On(t, memory, "/ws/.runner")
	x := f.Run()
	before, err := memory.Lstat("/ws/.runner/PRD-009/journal.jsonl")
	checkpointtest.Must(t, err)
	want := x.State().Clone()
	checkpointtest.Kill(t, x)

	x = f.Lock()
	if !x.Unclean() {
		t.Error("Unclean is false after a killed owner")
	}
	after, err := memory.Lstat("/ws/.runner/PRD-009/journal.jsonl")
	checkpointtest.Must(t, err)
	if store.Same(before, after) {
		t.Error("the journal was not replaced")
	}
	checkpointtest.Same(t, "state", x.State(), want)
	checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1})
	checkpointtest.Must(t, x.Close())

	if x = f.Lock(); x.Unclean() {
		t.Error("Unclean is true after a clean end")
	}
	checkpointtest.Must(t, x.Close())
}

// TestAcknowledgedSurvivesPowerCut cuts the power after every acknowledged commit. All
// acknowledged commits and the latest checkpoint must survive.
func TestAcknowledgedSurvivesPowerCut(t *testing.T) {
	t.Parallel()
	memory := store.NewMemory()
	f := checkpointtest.On(t, memory, "/ws/.runner")
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Cashier())))
	for _, e := range append([]state.Event{state.PhaseStarted{Phase: "phase-1"}}, checkpointtest.Work("WS1", "schema-validation", "a.sql")...) {
		checkpointtest.Commit(t, x, e)
		x.Checkpoint(state.TriggerManual, "", nil)
		checkpointtest.Commit(t, x)
		checkpointtest.Must(t, x.WriteDerived(context.Background()))
		want := x.State().Clone()
		x.Add(state.PauseAsked{By: checkpointtest.By}) // never flushed

		g := checkpointtest.On(t, memory.Crash(), f.Dir)
		y := g.Lock()
		checkpointtest.Same(t, "state after a power cut", y.State(), want)
		cp, err := g.Open().ReadCheckpoint("PRD-009", "latest")
		checkpointtest.Must(t, err)
		if cp.Seq != want.Seq {
			t.Errorf("the latest checkpoint is of %d, want %d", cp.Seq, want.Seq)
		}
		checkpointtest.Must(t, y.Close())
	}
	checkpointtest.Must(t, x.Close())
}

// TestCompaction makes the journal so large that the next owner compacts it. The state
// must stay the same, the old journal must be kept, and checkpoints from before the
// compaction must still be readable without their files.
func TestCompaction(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	first, _ := x.Checkpoint(state.TriggerManual, "before", nil)
	checkpointtest.Commit(t, x)
	filler := state.Text(strings.Repeat("x", 1<<20))
	for range 10 {
		checkpointtest.Commit(t, x, state.PauseAsked{By: checkpointtest.By, Reason: filler})
	}
	checkpointtest.Commit(t, x, state.PauseAsked{By: checkpointtest.By})
	want := x.State().Clone()
	checkpointtest.Must(t, x.Close())

	x = f.Lock()
	checkpointtest.Same(t, "state after compaction", x.State(), want)
	if size := len(f.Read("PRD-009/journal.jsonl")); size > 1<<20 {
		t.Errorf("the journal still has %d bytes", size)
	}
	if len(f.Read(fmt.Sprintf("PRD-009/journal.1-%d.jsonl", want.Seq))) < 10<<20 {
		t.Error("the old journal was not kept")
	}
	checkpointtest.Commit(t, x, checkpointtest.Work("WS2", "type-check", "c.ts")...)
	want = x.State().Clone()
	checkpointtest.Must(t, x.Close())

	snap, err := f.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "state after the compacted line", snap.State, want)
	// A checkpoint from before the compaction is made from the old journal.
	checkpointtest.Must(t, f.FS.Remove(filepath.Join(f.Dir, "PRD-009/checkpoints", first+".json")))
	cp, err := f.Open().ReadCheckpoint("PRD-009", first)
	checkpointtest.Must(t, err)
	if cp.State.Seq != cp.Seq || cp.Reason != "before" {
		t.Errorf("rebuilt %+v", cp)
	}
}

// signed returns a journal line: body, which is everything before the sum, with its sum.
func signed(body []byte) []byte {
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	return []byte(string(body) + journal.SumField + sum + "\"}\n")
}

// TestCommitsAreSplitAtTheLimit adds more events than fit into one line, one by one and
// all at once. No line may be longer than the limit, and each event must be in exactly
// one line.
func TestCommitsAreSplitAtTheLimit(t *testing.T) {
	t.Parallel()
	const room = 24 << 10
	third := state.Text(strings.Repeat("\x01", 1<<10)) // which takes six times as many bytes in JSON
	event := func(reason state.Text) state.Event { return state.PauseAsked{By: checkpointtest.By, Reason: reason} }
	for name, add := range map[string]func(x *checkpoint.Session){
		"one after the other": func(x *checkpoint.Session) {
			for range 7 {
				x.Add(event(third))
			}
		},
		"at once": func(x *checkpoint.Session) {
			x.Add(event(third), event(third), event(third), event(third), event(third), event(third), event(third))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.InMemory(t)
			x := f.Run()
			x.LimitCommits(room)
			first := x.Durable()
			add(x)
			x.Checkpoint(state.TriggerManual, "", nil)
			commits, err := x.Drain(context.Background())
			checkpointtest.Must(t, err)
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
			checkpointtest.Must(t, x.Close())
			for line := range bytes.Lines(f.Read("PRD-009/journal.jsonl")) {
				if len(line) > room+1<<10 {
					t.Errorf("a line has %d bytes", len(line))
				}
			}
			x = f.Lock()
			checkpointtest.Same(t, "state read back", x.State(), want)
			checkpointtest.Must(t, x.Close())
		})
	}
}

// TestTogetherStaysTogether adds one large event, and then two together that fit into one
// line with each other, though not with the first. The two must be in the same commit.
func TestTogetherStaysTogether(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	x.LimitCommits(24 << 10)
	large := state.PauseAsked{By: checkpointtest.By, Reason: state.Text(strings.Repeat("x", 9<<10))}
	x.Add(large)
	x.Add(large, large)
	commits, err := x.Drain(context.Background())
	checkpointtest.Must(t, err)
	if len(commits) != 2 || len(commits[0].Events) != 1 || len(commits[1].Events) != 2 {
		t.Errorf("%d commits", len(commits))
	}
	checkpointtest.Must(t, x.Close())
}
