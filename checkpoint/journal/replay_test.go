package journal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// lines returns the lines of a journal, and its commits.
func lines(t *testing.T) ([][]byte, []state.Commit) {
	t.Helper()
	f := checkpointtest.InMemory(t)
	checkpointtest.Stopped(f)
	all := slices.Collect(bytes.Lines(f.Read("PRD-009/" + disk.JournalName)))
	var commits []state.Commit
	_, err := journal.ReplayRecords("PRD-009", "it", records(all), func(c state.Commit) error {
		commits = append(commits, c)
		return nil
	})
	checkpointtest.Must(t, err)
	return all, commits
}

func records(lines [][]byte) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for i, line := range lines {
			if !yield(store.Record{Data: line, Line: i + 1, Torn: !bytes.HasSuffix(line, []byte("\n"))}, nil) {
				return
			}
		}
	}
}

// encoded returns the line of a commit that continues the one with the sum prev.
func encoded(t *testing.T, c state.Commit, prev string) []byte {
	t.Helper()
	c.Prev = prev
	line, err := journal.NewEncoder().Line(&c)
	checkpointtest.Must(t, err)
	return bytes.Clone(line)
}

func sumOf(head string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(head))) }

// TestReplay: each line continues the one before it, and only the last one may be torn.
func TestReplay(t *testing.T) {
	t.Parallel()
	whole, commits := lines(t)
	n := len(whole)
	f := journal.NewFold()
	for _, c := range commits[:3] {
		checkpointtest.Must(t, f.Apply(c))
	}
	compacted := encoded(t, state.Commit{Seq: f.State.Seq, Time: time.Unix(0, 0).UTC(), State: f.State}, commits[2].Sum)
	frame, err := journal.ParseFrame(bytes.TrimSuffix(compacted, []byte("\n")), "")
	checkpointtest.Must(t, err)
	flip := func(line []byte) []byte {
		line = bytes.Clone(line)
		line[20] ^= 1
		return line
	}
	resealed := func(old, changed string) []byte {
		line := string(encoded(t, commits[2], commits[1].Sum))
		head, _, _ := strings.Cut(strings.Replace(line, old, changed, 1), `,"sum":"`)
		return append([]byte(head+`,"sum":"`), []byte(sumOf(head)+"\"}\n")...)
	}
	refused := errors.New("refused")
	for name, tt := range map[string]struct {
		lines [][]byte
		want  string // lines that are accepted, or part of the error
		torn  bool
	}{
		"whole":                      {whole, fmt.Sprint(n), false},
		"empty":                      {nil, "0", false},
		"cut in the last line":       {append(slices.Clone(whole[:n-1]), whole[n-1][:50]), fmt.Sprint(n - 1), true},
		"without the last newline":   {append(slices.Clone(whole[:n-1]), bytes.TrimSuffix(whole[n-1], []byte("\n"))), fmt.Sprint(n - 1), true},
		"a byte of the last line":    {append(slices.Clone(whole[:n-1]), flip(whole[n-1])), fmt.Sprint(n - 1), true},
		"a byte in the middle":       {append(append(slices.Clone(whole[:2]), flip(whole[2])), whole[3:]...), "it is not whole, and others follow", false},
		"a line is missing":          {append(slices.Clone(whole[:2]), whole[3:]...), "follows commit", false},
		"the first line is missing":  {whole[1:], "does not continue the line before", false},
		"a line is there twice":      {append(slices.Clone(whole[:3]), whole[2:]...), "follows commit", false},
		"a line of another history":  {[][]byte{whole[0], encoded(t, commits[1], commits[1].Sum)}, "does not continue the line before", false},
		"it begins with a later one": {[][]byte{encoded(t, commits[1], journal.Genesis)}, "is not the first one of its session", false},
		"compacted":                  {[][]byte{compacted, encoded(t, commits[3], frame.Sum)}, "2", false},
		"a state later":              {append(slices.Clone(whole[:3]), compacted), "a state that is not the first line", false},
		"a state of another commit":  {[][]byte{encoded(t, state.Commit{Seq: 9, State: f.State}, journal.Genesis)}, "a state of another commit", false},
		"a newer event":              {[][]byte{whole[0], whole[1], resealed(`{"kind":"`, `{"kind":"x`)}, "newer", false},
		"an event without a kind":    {[][]byte{whole[0], whole[1], resealed(`{"kind":"`, `{"sort":"`)}, "does not begin with its kind", false},
		"events that are no list":    {[][]byte{whole[0], whole[1], resealed(`"events":[{`, `"events":[x{`)}, "not an object", false},
		"an event without an end":    {[][]byte{whole[0], whole[1], resealed(`}]`, `]`)}, "not an object", false},
		"a comma too many":           {[][]byte{whole[0], whole[1], resealed(`}]`, `},]`)}, "events are not a list", false},
		"neither events nor a state": {[][]byte{whole[0], whole[1], resealed(`"events":[`, `"event":[`)}, "neither events nor state", false},
		"no number":                  {[][]byte{whole[0], whole[1], resealed(`{"seq":`, `{"seq":-`)}, "seq", false},
		"no time":                    {[][]byte{whole[0], whole[1], resealed(`"time":"`, `"time":"x`)}, "time", false},
		"no prev":                    {[][]byte{whole[0], whole[1], resealed(`"prev":"`, `"Prev":"`)}, "2", true},
		"no head":                    {[][]byte{whole[0], whole[1], resealed(`{"seq":`, `{"nr":`)}, "does not begin with seq and time", false},
	} {
		end, err := journal.ReplayRecords("PRD-009", "it", records(tt.lines), func(state.Commit) error { return nil })
		got := fmt.Sprint(end.Lines)
		var damaged *state.DamagedError
		switch {
		case errors.As(err, new(*state.VersionError)):
			got = "newer"
		case errors.As(err, &damaged):
			got = damaged.Detail
		case err != nil:
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(got, tt.want) || err == nil && got != tt.want || (end.Torn != nil) != tt.torn && err == nil {
			t.Errorf("%s: %s, torn %t; want %s", name, got, end.Torn != nil, tt.want)
		}
		if size := len(bytes.Join(tt.lines, nil)) - len(end.Torn); err == nil && end.Size != int64(size) {
			t.Errorf("%s: %d bytes of %d", name, end.Size, size)
		}
	}
	end, err := journal.ReplayRecords("PRD-009", "it", records(whole), func(c state.Commit) error {
		if c.Seq == commits[2].Seq {
			return refused
		}
		return nil
	})
	if !errors.Is(err, refused) || end.Lines != 2 || end.First != commits[0].Seq || end.Seq != commits[1].Seq || end.Sum != commits[1].Sum {
		t.Errorf("refused at the third line: %+v, %v", end, err)
	}
	for want := range n + 1 {
		got := 0
		for range journal.Take(records(whole), want) {
			got++
		}
		if got != want {
			t.Errorf("took %d of %d", got, want)
		}
	}
	for what, tt := range map[string]struct {
		claim   disk.Claim
		of      *state.State
		damaged bool
	}{
		"of its end":         {disk.Claim{Session: "S1", Seq: end.Seq}, f.State, false},
		"after its end":      {disk.Claim{Session: "S1", Seq: end.Seq + 1}, f.State, true},
		"of another session": {disk.Claim{Session: "S2", Seq: end.Seq + 1}, f.State, false},
		"without a session":  {disk.Claim{Session: "S2", Seq: end.Seq + 1}, nil, true},
	} {
		if err := end.CheckClaims("PRD-009", "it", tt.of, []disk.Claim{tt.claim}); errors.As(err, new(*state.DamagedError)) != tt.damaged {
			t.Errorf("a claim %s: %v", what, err)
		}
	}
}

// TestTimesOfEvents: a line keeps when each of its events happened, also of an event
// without fields.
func TestTimesOfEvents(t *testing.T) {
	t.Parallel()
	c := state.Commit{
		Seq: 3, Time: time.Unix(1700000000, 0).UTC(), Prev: journal.Genesis,
		Events:  []state.Event{state.SessionResumed{}, state.PhaseStarted{Phase: "one"}, state.SessionResumed{}},
		AfterMS: []int64{0, 1500, 20},
	}
	frame, err := journal.ParseFrame(bytes.TrimSuffix(encoded(t, c, journal.Genesis), []byte("\n")), journal.Genesis)
	checkpointtest.Must(t, err)
	got, err := frame.Commit()
	checkpointtest.Must(t, err)
	if got.Sum = ""; !reflect.DeepEqual(got, c) {
		t.Errorf("%+v, want %+v", got, c)
	}
}

// TestCollect: each checkpoint that is asked for is made from the state of its commit,
// unless the commit removes it again.
func TestCollect(t *testing.T) {
	t.Parallel()
	_, commits := lines(t)
	k := journal.CheckpointCollector{Fold: journal.NewFold(), IDs: map[string]bool{}, Found: map[string]bool{}}
	seqs := map[string]uint64{} // by the id of the checkpoint
	for _, c := range commits {
		for _, e := range c.Events {
			if created, ok := e.(state.CheckpointCreated); ok {
				k.IDs[created.ID], seqs[created.ID] = true, c.Seq
			}
		}
	}
	if len(seqs) < 2 {
		t.Fatalf("%d checkpoints", len(seqs))
	}
	made := map[string]uint64{}
	k.Made = func(f disk.CheckpointFile) error {
		made[f.ID] = f.State.Seq
		return nil
	}
	for _, c := range commits {
		checkpointtest.Must(t, k.Visit(c))
	}
	if !maps.Equal(made, seqs) || !maps.Equal(k.Found, k.IDs) {
		t.Errorf("made %v, want %v", made, seqs)
	}
}

// TestSpans: the session knows which objects its checkpoints need, from the first commit
// that records them up to the one that replaces them.
func TestSpans(t *testing.T) {
	t.Parallel()
	x := checkpointtest.InMemory(t).Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 1)))
	name := x.State().Phases[0].Workstreams[0].Name
	produce := func(digest string) {
		checkpointtest.Produce(t, x, name, state.Artifact{Path: "a", Digest: digest, Size: 1})
	}
	produce("never needed")
	produce("first")
	checkpointtest.Mark(t, x, state.TriggerManual)
	produce("between")
	produce("current")
	got := map[string]bool{}
	x.Spans().Each(x.State().Checkpoints, func(digest string, _ int64, needed bool) { got[digest] = needed })
	if want := map[string]bool{"never needed": false, "first": true, "between": false, "current": false}; !maps.Equal(got, want) {
		t.Errorf("needed: %v, want %v", got, want)
	}
	checkpointtest.Must(t, x.Close())
}

// TestSalvageJournal reads what is readable around damage.
func TestSalvageJournal(t *testing.T) {
	t.Parallel()
	whole, commits := lines(t)
	damaged := slices.Clone(whole)
	damaged[4] = []byte("not a line\n")
	m := store.NewMemory()
	checkpointtest.Must(t, store.MkdirAll(m, "/it"))
	for name, tt := range map[string]struct {
		lines [][]byte
		valid uint64 // last commit before the damage
		after int
		bad   int
		lost  int
	}{
		"whole":             {whole, commits[len(commits)-1].Seq, 0, 0, 0},
		"a damaged line":    {damaged, commits[3].Seq, len(whole) - 5, 1, 1},
		"a missing line":    {append(slices.Clone(whole[:4]), whole[5:]...), commits[3].Seq, len(whole) - 5, 0, 1},
		"a line twice":      {append(slices.Clone(whole), whole[5]), commits[len(commits)-1].Seq, 0, 0, 0},
		"damage at the end": {append(slices.Clone(whole[:6]), []byte("x\n")), commits[5].Seq, 0, 1, 1},
	} {
		path := "/it/" + strings.ReplaceAll(name, " ", "-")
		checkpointtest.Must(t, store.WriteFile(m, path, tt.lines...))
		s, err := journal.Salvage(path, store.OpenLog(m, path))
		checkpointtest.Must(t, err)
		lost, more := s.Lost(s.Valid.State.Seq)
		if s.Valid.State.Seq != tt.valid || len(s.Since(tt.valid)) != tt.after || s.Unreadable != tt.bad || lost != tt.lost || more != (lost > 0) {
			t.Errorf("%s: valid to %d, %d after it, %d unreadable, %d lost", name, s.Valid.State.Seq, len(s.Since(tt.valid)), s.Unreadable, lost)
		}
	}
}

// TestRelate compares sessions by their lines.
func TestRelate(t *testing.T) {
	t.Parallel()
	lineage := func(session string, commits ...state.Commit) *journal.Lineage {
		l := journal.NewLineage()
		l.Session = session
		for _, c := range commits {
			l.Add(c)
			l.Seq = c.Seq
		}
		return l
	}
	commit := func(seq uint64, sum string, events ...state.Event) state.Commit {
		return state.Commit{Seq: seq, Sum: sum, Events: events}
	}
	work := state.PhaseStarted{Phase: "p"}
	captured := state.WorkspaceCaptured{}
	one, two := commit(1, "a", work), commit(2, "b", work)
	here := lineage("S", one, two)
	for name, tt := range map[string]struct {
		comes *journal.Lineage
		want  journal.Relation
	}{
		"another session":             {lineage("T", one, two), journal.RelationForeign},
		"the same commits":            {lineage("S", one, two), journal.RelationEqual},
		"one more":                    {lineage("S", one, two, commit(3, "c", work)), journal.RelationForward},
		"one less":                    {lineage("S", one), journal.RelationOlder},
		"another second one":          {lineage("S", one, commit(2, "x", work)), journal.RelationDiverged},
		"compacted at the last":       {lineage("S", state.Commit{Seq: 2, Sum: "x", Prev: "b", State: &state.State{}}), journal.RelationEqual},
		"compacted, with another sum": {lineage("S", state.Commit{Seq: 2, Sum: "x", Prev: "y", State: &state.State{}}), journal.RelationDiverged},
	} {
		if got := journal.Relate(tt.comes, here); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	for name, tt := range map[string]struct {
		event state.Event
		want  journal.Relation
	}{
		"captured":                {captured, journal.RelationSame},
		"checkpoints removed":     {state.CheckpointsRemoved{}, journal.RelationSame},
		"acts remembered":         {state.ActsRemembered{}, journal.RelationSame},
		"uncertain by the import": {state.WorkstreamUncertain{Attempt: 1}, journal.RelationSame},
		"uncertain otherwise":     {state.WorkstreamUncertain{}, journal.RelationOlder},
		"a checkpoint to undo it": {state.CheckpointCreated{Trigger: state.TriggerPreRollback}, journal.RelationSame},
		"another checkpoint":      {state.CheckpointCreated{Trigger: state.TriggerManual}, journal.RelationOlder},
		"work":                    {work, journal.RelationOlder},
	} {
		if got := journal.Relate(here, lineage("S", one, two, commit(3, "c", tt.event))); got != tt.want {
			t.Errorf("since then %s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestRescueCopies: a copy is found if its lines continue the journal, or are all in it.
func TestRescueCopies(t *testing.T) {
	t.Parallel()
	whole, commits := lines(t)
	tailAfter := func(n int) journal.Tail {
		tail, err := journal.ReplayRecords("PRD-009", "it", records(whole[:n]), func(state.Commit) error { return nil })
		checkpointtest.Must(t, err)
		return tail
	}
	d := journal.RescueDir{FS: store.NewMemory(), Path: "/rescue"}
	if r, err := d.Find("PRD-009", "S1", tailAfter(4)); err != nil || r.Path != "" {
		t.Errorf("none is there: %+v, %v", r, err)
	}
	var lost []*state.Commit
	for _, c := range commits[4:7] {
		lost = append(lost, &c)
	}
	first, err := d.Write("PRD-009", "S1", lost)
	checkpointtest.Must(t, err)
	second, err := d.Write("PRD-009", "S1", lost[:1])
	checkpointtest.Must(t, err)
	if first != "/rescue/runner-rescue-PRD-009-S1.jsonl" || second != "/rescue/runner-rescue-PRD-009-S1.1.jsonl" {
		t.Errorf("written to %s and %s", first, second)
	}
	for n, want := range map[int]int{3: -1, 4: 3, 5: 2, 6: 1, 7: 0, 8: -1} {
		tail := tailAfter(n)
		r, err := d.Find("PRD-009", "S1", tail)
		checkpointtest.Must(t, err)
		if len(r.Lines) != max(want, 0) || (r.Path == "") != (want < 0) {
			t.Errorf("after %d lines: %s with %d", n, r.Path, len(r.Lines))
		}
		visited := 0
		path, err := d.Replay("PRD-009", "S1", &tail, func(state.Commit) error { visited++; return nil })
		checkpointtest.Must(t, err)
		if visited != max(want, 0) || (path == "") != (want <= 0) || want > 0 && tail.Seq != commits[6].Seq {
			t.Errorf("after %d lines: replayed %d of %s, up to %d", n, visited, path, tail.Seq)
		}
	}
	checkpointtest.Must(t, store.WriteFile(d.FS, first, whole[4], []byte("x\n"), whole[5]))
	if r, err := d.Find("PRD-009", "S1", tailAfter(4)); err != nil || r.Path != second {
		t.Errorf("the first one is damaged: %+v, %v", r, err)
	}
}

// TestMarkFiles: the journal says which artifacts a workstream created and which it
// modified.
func TestMarkFiles(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 2)))
	names := x.State().Phases[0].Workstreams
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: x.State().Phases[0].Name})
	changes := func(of string) string {
		got := ""
		for _, a := range x.State().Workstream(of).Artifacts {
			got += fmt.Sprintf("%s:%s ", a.Path, a.Change)
		}
		return got
	}
	file := func(path, digest string) state.Artifact {
		return state.Artifact{Path: state.Text(path), Digest: digest}
	}
	created, modified := string(state.FileCreated), string(state.FileModified)
	first, second := names[0].Name, names[1].Name
	checkpointtest.Produce(t, x, first, file("a", "1"), file("b", "1"))
	if got, want := changes(first), "a:"+created+" b:"+created+" "; got != want {
		t.Errorf("the first: %s, want %s", got, want)
	}
	checkpointtest.Must(t, x.Close())
	x = f.Lock() // what was known is read from the journal
	checkpointtest.Produce(t, x, second, file("a", "1"), file("b", "2"), file("c", "1"))
	if got, want := changes(second), "a: b:"+modified+" c:"+created+" "; got != want {
		t.Errorf("the second: %s, want %s", got, want)
	}
	checkpointtest.Commit(t, x, state.WorkstreamEdited{Workstream: second, Artifacts: []state.Artifact{file("a", "9"), file("b", "9"), file("c", "9")}})
	if got, want := changes(second), "a: b:"+modified+" c:"+created+" "; got != want {
		t.Errorf("edited: %s, want %s", got, want)
	}
	checkpointtest.SameSpans(t, x)
	checkpointtest.Must(t, x.Close())
	checkpointtest.Compact(t, f.Open())
	x = f.Lock() // and from the state
	checkpointtest.Produce(t, x, first, file("a", "9"), file("c", "1"))
	if got, want := changes(first), "a: c:"+modified+" "; got != want {
		t.Errorf("again: %s, want %s", got, want)
	}
	checkpointtest.Must(t, x.WriteDerived(context.Background()))
	checkpointtest.SameSpans(t, x)
	checkpointtest.Must(t, x.Close())
}

// TestReadLineage: the lineage of a session has the commits of its journal and of those
// that it was compacted from, of a damaged one those before the damage. A damaged journal
// of the session itself is an error.
func TestReadLineage(t *testing.T) {
	t.Parallel()
	whole, commits := lines(t)
	m := store.NewMemory()
	write := func(path string, lines ...[]byte) string {
		checkpointtest.Must(t, store.WriteFile(m, path, lines...))
		return path
	}
	f := journal.NewFold()
	for _, c := range commits {
		checkpointtest.Must(t, f.Apply(c))
	}
	last := commits[len(commits)-1]
	current := write("/journal.jsonl", encoded(t, state.Commit{Seq: last.Seq, Time: last.Time, State: f.State}, last.Sum))
	earlier := write("/journal.1.jsonl", whole...)
	damaged := write("/journal.2.jsonl", append(slices.Clone(whole[:3]), []byte("not a line\n"), whole[4])...)
	upTo := func(n int) *journal.Lineage { // an archive's session
		l := journal.NewLineage()
		l.Session = "S1"
		for _, c := range commits[:n] {
			l.Add(c)
			l.Seq = c.Seq
		}
		return l
	}
	for name, tt := range map[string]struct {
		paths []string
		of    int
		want  journal.Relation
	}{
		"the last commit":                 {[]string{current}, len(commits), journal.RelationEqual},
		"an earlier commit, not read":     {[]string{current}, 2, journal.RelationDiverged},
		"an earlier commit":               {[]string{current, earlier}, 5, journal.RelationOlder},
		"a commit before the damage":      {[]string{current, damaged}, 3, journal.RelationOlder},
		"a commit after the damage":       {[]string{current, damaged}, 5, journal.RelationDiverged},
		"a commit of several journals":    {[]string{current, damaged, earlier}, 5, journal.RelationOlder},
		"an earlier journal that is gone": {[]string{current, "/journal.3.jsonl"}, len(commits), journal.RelationEqual},
	} {
		here, s, err := journal.ReadLineage("PRD-009", m, tt.paths)
		checkpointtest.Must(t, err)
		if s.Seq != last.Seq || here.Seq != last.Seq || here.Session != "S1" {
			t.Errorf("%s: the session %s ends with commit %d, its lineage with %d", name, here.Session, s.Seq, here.Seq)
		}
		if got := journal.Relate(upTo(tt.of), here); got != tt.want {
			t.Errorf("%s: the relation is %s, want %s", name, got, tt.want)
		}
	}
	if l, s, err := journal.ReadLineage("PRD-009", m, []string{"/none.jsonl"}); l != nil || s != nil || err != nil {
		t.Errorf("without a journal: %v, %v, %v", l, s, err)
	}
	if _, _, err := journal.ReadLineage("PRD-009", m, []string{damaged}); !errors.As(err, new(*state.DamagedError)) {
		t.Errorf("a damaged journal: %v", err)
	}
}

// TestTooLargeEvents: an event that does not fit in a line is refused before it is written,
// and a line that is too long afterwards.
func TestTooLargeEvents(t *testing.T) {
	t.Parallel()
	event := func(size int) state.Event {
		return state.PhaseStarted{Phase: strings.Repeat("x", size-len(`{"phase":""}`))}
	}
	const most = journal.MaxEvents - journal.EventRoom
	if err := journal.Recordable(event(most)); err != nil {
		t.Errorf("an event that just fits: %v", err)
	}
	var large *journal.TooLargeError
	if err := journal.Recordable(event(most + 1)); !errors.As(err, &large) || large.Bytes != journal.MaxEvents+1 {
		t.Errorf("an event that is one byte too long: %v", err)
	}
	line := make([]byte, store.MaxRecord+1)
	if err := journal.CheckSize(&state.Commit{}, line[1:]); err != nil {
		t.Errorf("a line that just fits: %v", err)
	}
	if err := journal.CheckSize(&state.Commit{}, line); err == nil {
		t.Error("a line that is one byte too long was accepted")
	}
}
