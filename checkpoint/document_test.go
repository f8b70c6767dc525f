package checkpoint

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func fixtures(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
	must(t, err)
	if len(paths) == 0 {
		t.Fatalf("no fixtures in %s", dir)
	}
	return paths
}

func TestValidDocuments(t *testing.T) {
	t.Parallel()
	for _, path := range fixtures(t, "valid") {
		data, err := os.ReadFile(path)
		must(t, err)
		d, err := DecodeDocument(data)
		must(t, err)
		if err := d.Validate(nil); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		again, err := d.Encode()
		must(t, err)
		var got, want any
		must(t, json.Unmarshal(again, &got))
		must(t, json.Unmarshal(data, &want))
		same(t, path, got, want)

		x := inMemory(t).lock()
		e := started("S1", cashier())
		e.Imported = &d
		if err := x.Start(e); err != nil {
			t.Errorf("%s: import: %v", path, err)
		}
		must(t, x.Close())
	}
}

func TestInvalidDocuments(t *testing.T) {
	t.Parallel()
	for _, path := range fixtures(t, "invalid") {
		data, err := os.ReadFile(path)
		must(t, err)
		var broken struct {
			Rule string `json:"_rule"`
		}
		must(t, json.Unmarshal(data, &broken))
		var fields map[string]json.RawMessage
		must(t, json.Unmarshal(data, &fields))
		delete(fields, "_rule")
		data, err = json.Marshal(fields)
		must(t, err)
		d, err := DecodeDocument(data)
		must(t, err)
		err = d.Validate(nil)
		if !errors.Is(err, ErrDocument) || !strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""), broken.Rule) {
			t.Errorf("%s: %v, want %q", path, err, broken.Rule)
		}
	}
}

func TestDocumentPattern(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(fixtures(t, "valid")[0])
	must(t, err)
	d, err := DecodeDocument(data)
	must(t, err)
	for pattern, want := range map[string]bool{`PRD-\d{3}`: true, `[A-Z]+-00`: false, `009|PRD-009`: true, `FEAT-\d+`: false} {
		if err := d.Validate(regexp.MustCompile(pattern)); (err == nil) != want {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestDocumentFields(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.run()
	must(t, x.Close())
	got := string(f.read("PRD-009.json"))
	at := 0
	for _, field := range []string{"prd", "prd_title", "current_phase", "status", "completed_workstreams", "in_progress_workstreams",
		"pending_workstreams", "artifacts", "gates_passed", "gates_pending", "timestamp", "runner"} {
		i := strings.Index(got, "\n  \""+field+"\":")
		if i < at {
			t.Errorf("%s is missing or out of order in\n%s", field, got)
		}
		at = i
	}
}

// TestDocumentAtMoments pins what stands in the document where it is not
// simply the state.
func TestDocumentAtMoments(t *testing.T) {
	t.Parallel()
	shape := Shape{Phases: []PhaseShape{
		{Name: "services", Gates: []string{"sign-off"}, Workstreams: []WorkstreamShape{
			{Name: "A", Batch: 1, Gates: []string{"lint"}}, {Name: "B", Batch: 2},
		}},
		{Name: "tests", Workstreams: []WorkstreamShape{{Name: "C", Batch: 1}}},
	}}
	label := "sign-off (services)"
	done := func(name string) WorkstreamCompleted {
		return WorkstreamCompleted{Workstream: name, Work: &Work{Artifacts: []Artifact{{Path: Text(name + ".go")}}}}
	}
	steps := []struct {
		event     Event
		status    Status
		completed string
		active    string
		pending   string
		artifacts int
	}{
		{PhaseStarted{Phase: "services"}, StatusInProgress, "", "A", "B C", 0},
		{WorkstreamStarted{Workstream: "A", Attempt: 1}, StatusInProgress, "", "A", "B C", 0},
		{WorkstreamSucceeded{Workstream: "A"}, StatusInProgress, "", "A", "B C", 0},
		{GatePassed{Verdict: Verdict{Gate: "lint (A)"}}, StatusInProgress, "", "A", "B C", 0},
		{done("A"), StatusInProgress, "A", "B", "C", 1},
		{WorkstreamStarted{Workstream: "B", Attempt: 1}, StatusInProgress, "A", "B", "C", 1},
		{WorkstreamFailed{Workstream: "B", Error: Failure{Message: "no"}}, StatusInProgress, "A", "B", "C", 1},
		{SessionFailed{Error: Failure{Workstream: "B", Message: "no"}}, StatusFailed, "A", "", "B C", 1},
		{SessionResumed{}, StatusInProgress, "A", "B", "C", 1},
		{done("B"), StatusInProgress, "", "A B", "C", 0},
		{GateStarted{Gate: label}, StatusInProgress, "", "A B", "C", 0},
		{GateAsked{Verdict: Verdict{Gate: label}}, StatusInProgress, "", "A B", "C", 0},
		{SessionPaused{Reason: PauseApproval, Gates: []string{label}}, StatusPaused, "A B", "", "C", 2},
		{GateApproved{Verdict: Verdict{Gate: label}}, StatusPaused, "A B", "", "C", 2},
		{SessionResumed{}, StatusInProgress, "", "A B", "C", 0},
		{PhaseCompleted{Phase: "services"}, StatusInProgress, "A B", "C", "", 2},
		{PhaseStarted{Phase: "tests"}, StatusInProgress, "A B", "C", "", 2},
		{WorkstreamStarted{Workstream: "C", Attempt: 1}, StatusInProgress, "A B", "C", "", 2},
		{SessionInterrupted{Signal: "SIGINT"}, StatusPaused, "A B", "", "C", 2},
		{SessionResumed{}, StatusInProgress, "A B", "C", "", 2},
		{WorkstreamSkipped{Workstream: "C"}, StatusInProgress, "", "A B", "", 0},
		{PhaseCompleted{Phase: "tests"}, StatusInProgress, "", "A B", "", 0},
		{SessionCompleted{}, StatusComplete, "A B", "", "", 2},
	}
	s := &State{}
	must(t, s.Apply(Commit{Seq: 1, Events: []Event{started("S1", shape)}}))
	for i, step := range steps {
		must(t, s.Apply(Commit{Seq: uint64(i + 2), Events: []Event{step.event}}))
		d := NewDocument(s)
		got := []string{string(d.Status), strings.Join(d.Completed, " "), strings.Join(d.InProgress, " "), strings.Join(d.Pending, " ")}
		want := []string{string(step.status), step.completed, step.active, step.pending}
		same(t, string(step.event.Kind()), got, want)
		if len(d.Artifacts) != step.artifacts {
			t.Errorf("%s: artifacts %v", step.event.Kind(), d.Artifacts)
		}
	}
}

// TestDocumentObeysItsRules drives random runs and checks every commit.
func TestDocumentObeysItsRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{t: t, s: &State{}, at: clock()}
		m.apply(started("S1", m.shape()))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			events := m.legal()
			if len(events) == 0 {
				return
			}
			m.apply(rapid.SampledFrom(events).Draw(t, "event"))
		}
	})
}

// machine plays the engine: it knows which events are legal next.
type machine struct {
	t  *rapid.T
	s  *State
	at func() time.Time
}

func (m *machine) shape() Shape {
	gates := func(label string) []string {
		return []string{"g1", "g2"}[:rapid.IntRange(0, 2).Draw(m.t, label)]
	}
	var shape Shape
	for p := range rapid.IntRange(1, 3).Draw(m.t, "phases") {
		phase := PhaseShape{Name: string(rune('p' + p)), Gates: gates("phase gates")}
		for w := range rapid.IntRange(1, 3).Draw(m.t, "workstreams") {
			name := phase.Name + string(rune('1'+w))
			phase.Workstreams = append(phase.Workstreams, WorkstreamShape{
				Name: name, Batch: rapid.IntRange(1, 2).Draw(m.t, "batch"), Gates: gates("gates"),
			})
		}
		shape.Phases = append(shape.Phases, phase)
	}
	return shape
}

func (m *machine) apply(e Event) {
	c := Commit{Seq: m.s.Seq + 1, Time: m.at(), Events: []Event{e}, Prev: genesis}
	line, err := newEncoder().line(&c)
	if err != nil {
		m.t.Fatal(err)
	}
	f, err := parseFrame(line[:len(line)-1], "")
	if err != nil {
		m.t.Fatal(err)
	}
	if c, err = f.commit(); err != nil {
		m.t.Fatal(err)
	}
	before, err := json.Marshal(m.s)
	if err != nil {
		m.t.Fatal(err)
	}
	clone := m.s.Clone()
	if err := clone.Apply(c); err != nil {
		m.t.Fatal(err)
	}
	if after, err := json.Marshal(m.s); err != nil || string(after) != string(before) {
		m.t.Fatalf("%s on a clone changed the original (%v)", e.Kind(), err)
	}
	if err := m.s.Apply(c); err != nil {
		m.t.Fatal(err)
	}
	d := NewDocument(m.s)
	data, err := d.Encode()
	if err != nil {
		m.t.Fatal(err)
	}
	decoded, err := DecodeDocument(data)
	if err != nil || !decoded.Intact() {
		m.t.Fatalf("after %s the document is not what was written: %v", e.Kind(), err)
	}
	if err := errors.Join(decoded.Validate(nil), decoded.Matches(m.s)); err != nil {
		m.t.Fatalf("after %s: %v\n%s", e.Kind(), err, data)
	}
}

// legal returns the events that may come next.
func (m *machine) legal() []Event {
	s := m.s
	if s.Status == StatusComplete {
		return nil
	}
	if s.RunningAt == nil {
		return append(m.answers(), SessionResumed{})
	}
	events := []Event{
		SessionResumed{}, // the runner was killed
		SessionFailed{Error: Failure{Workstream: "p1", Message: "no"}},
		SessionFailed{Error: Failure{Gate: "g1 (p)"}},
		SessionPaused{Reason: PauseRequested},
		SessionInterrupted{Signal: "SIGINT"},
	}
	for _, p := range s.Phases {
		if p.Status == Completed || p.Status == Skipped {
			continue
		}
		if p.Status == Pending {
			return append(events, PhaseStarted{Phase: p.Name}, PhaseSkipped{Phase: p.Name})
		}
		return append(events, m.inPhase(p)...)
	}
	return append(events, SessionCompleted{})
}

// answers are what people do while nothing runs.
func (m *machine) answers() []Event {
	var events []Event
	for _, p := range m.s.Phases {
		for _, g := range p.Gates {
			if g.Status == Waiting {
				events = append(events, GateApproved{Verdict: Verdict{Gate: g.Label}}, GateRejected{Verdict: Verdict{Gate: g.Label}})
			}
		}
	}
	return events
}

func (m *machine) inPhase(p *Phase) []Event {
	var events []Event
	done := true
	for _, w := range p.Workstreams {
		switch w.Status {
		case Completed, Skipped:
			events = append(events, WorkstreamInvalidated{Workstream: w.Name})
			continue
		case Running:
			events = append(events, m.ends(w)...)
		case Succeeded:
			if gates, passed := m.judge(w.Gates); passed {
				events = append(events, WorkstreamCompleted{Workstream: w.Name})
			} else {
				events = append(events, gates...)
			}
		default:
			events = append(events, WorkstreamStarted{Workstream: w.Name, Attempt: w.Attempts + 1}, WorkstreamSkipped{Workstream: w.Name})
		}
		done = false
	}
	if !done {
		return events
	}
	gates, passed := m.judge(p.Gates)
	if passed {
		return append(events, PhaseCompleted{Phase: p.Name})
	}
	return append(events, gates...)
}

func (m *machine) ends(w *Workstream) []Event {
	done := Work{Attempt: w.Attempts, Artifacts: []Artifact{{Path: Text(w.Name + "\xff.go")}}, Metrics: map[string]any{"m": 1.5}}
	events := []Event{
		WorkstreamFailed{Workstream: w.Name, Error: Failure{Message: "no"}},
		WorkstreamInterrupted{Workstream: w.Name},
		WorkstreamUncertain{Workstream: w.Name},
		WorkstreamAttemptFailed{Workstream: w.Name},
		WorkstreamSucceeded{Workstream: w.Name, Work: done},
	}
	if len(w.Gates) == 0 {
		events = append(events, WorkstreamCompleted{Workstream: w.Name, Work: &done})
	}
	return events
}

// judge returns what may happen to gates, and whether all have passed.
func (m *machine) judge(gates []*Gate) ([]Event, bool) {
	var events []Event
	passed := true
	for _, g := range gates {
		v := Verdict{Gate: g.Label}
		switch g.Status {
		case Passed:
			events = append(events, GateVoided{Gate: g.Label})
			continue
		case Skipped:
			continue
		case Running:
			events = append(events, GatePassed{Verdict: v}, GateFailed{Verdict: v, Error: Failure{Message: "no"}}, GateAsked{Verdict: v})
		case Waiting:
			events = append(events, GateApproved{Verdict: v}, GateRejected{Verdict: v})
		default:
			events = append(events, GateStarted{Gate: g.Label}, GateSkipped{Gate: g.Label})
		}
		passed = false
	}
	return events, passed
}
