package document_test

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

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
)

func fixtures(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
	checkpointtest.Must(t, err)
	if len(paths) == 0 {
		t.Fatalf("no fixtures in %s", dir)
	}
	return paths
}

func TestValidDocuments(t *testing.T) {
	t.Parallel()
	for _, path := range fixtures(t, "valid") {
		data, err := os.ReadFile(path)
		checkpointtest.Must(t, err)
		d, err := document.Decode(data)
		checkpointtest.Must(t, err)
		if err := d.Validate(nil); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		again, err := d.Encode()
		checkpointtest.Must(t, err)
		var got, want any
		checkpointtest.Must(t, json.Unmarshal(again, &got))
		checkpointtest.Must(t, json.Unmarshal(data, &want))
		checkpointtest.Same(t, path, got, want)

		x := checkpointtest.InMemory(t).Lock()
		e := checkpointtest.Started("S1", checkpointtest.Cashier())
		e.Imported = &d.Document
		if err := x.Start(e); err != nil {
			t.Errorf("%s: import: %v", path, err)
		}
		checkpointtest.Must(t, x.Close())
	}
}

func TestInvalidDocuments(t *testing.T) {
	t.Parallel()
	for _, path := range fixtures(t, "invalid") {
		data, err := os.ReadFile(path)
		checkpointtest.Must(t, err)
		var broken struct {
			Rule string `json:"_rule"`
		}
		checkpointtest.Must(t, json.Unmarshal(data, &broken))
		var fields map[string]json.RawMessage
		checkpointtest.Must(t, json.Unmarshal(data, &fields))
		delete(fields, "_rule")
		data, err = json.Marshal(fields)
		checkpointtest.Must(t, err)
		d, err := document.Decode(data)
		checkpointtest.Must(t, err)
		err = d.Validate(nil)
		if !errors.Is(err, document.ErrRules) || !strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""), broken.Rule) {
			t.Errorf("%s: %v, want %q", path, err, broken.Rule)
		}
	}
}

func TestDocumentPattern(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(fixtures(t, "valid")[0])
	checkpointtest.Must(t, err)
	d, err := document.Decode(data)
	checkpointtest.Must(t, err)
	for pattern, want := range map[string]bool{`PRD-\d{3}`: true, `[A-Z]+-00`: false, `009|PRD-009`: true, `FEAT-\d+`: false} {
		if err := d.Validate(regexp.MustCompile(pattern)); (err == nil) != want {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestDocumentFields(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	checkpointtest.Must(t, x.Close())
	got := string(f.Read("PRD-009.json"))
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

// TestDocumentAtMoments checks the fields of the document after each event, in particular
// where they differ from the state.
func TestDocumentAtMoments(t *testing.T) {
	t.Parallel()
	shape := state.Shape{Phases: []state.PhaseShape{
		{Name: "services", Gates: []string{"sign-off"}, Workstreams: []state.WorkstreamShape{
			{Name: "A", Batch: 1, Gates: []string{"lint"}}, {Name: "B", Batch: 2},
		}},
		{Name: "tests", Workstreams: []state.WorkstreamShape{{Name: "C", Batch: 1}}},
	}}
	label := "sign-off (services)"
	done := func(name string) state.WorkstreamCompleted {
		return state.WorkstreamCompleted{Workstream: name, Work: &state.Work{Artifacts: []state.Artifact{{Path: state.Text(name + ".go")}}}}
	}
	steps := []struct {
		event     state.Event
		status    state.Status
		completed string
		active    string
		pending   string
		artifacts int
	}{
		{state.PhaseStarted{Phase: "services"}, state.StatusInProgress, "", "A", "B C", 0},
		{state.WorkstreamStarted{Workstream: "A", Attempt: 1}, state.StatusInProgress, "", "A", "B C", 0},
		{state.WorkstreamSucceeded{Workstream: "A"}, state.StatusInProgress, "", "A", "B C", 0},
		{state.GatePassed{Verdict: state.Verdict{Gate: "lint (A)"}}, state.StatusInProgress, "", "A", "B C", 0},
		{done("A"), state.StatusInProgress, "A", "B", "C", 1},
		{state.WorkstreamStarted{Workstream: "B", Attempt: 1}, state.StatusInProgress, "A", "B", "C", 1},
		{state.WorkstreamFailed{Workstream: "B", Error: state.Failure{Message: "no"}}, state.StatusInProgress, "A", "B", "C", 1},
		{state.SessionFailed{Error: state.Failure{Workstream: "B", Message: "no"}}, state.StatusFailed, "A", "", "B C", 1},
		{state.SessionResumed{}, state.StatusInProgress, "A", "B", "C", 1},
		{done("B"), state.StatusInProgress, "", "A B", "C", 0},
		{state.GateStarted{Gate: label}, state.StatusInProgress, "", "A B", "C", 0},
		{state.GateAsked{Verdict: state.Verdict{Gate: label}}, state.StatusInProgress, "", "A B", "C", 0},
		{state.SessionPaused{Reason: state.PauseApproval, Gates: []string{label}}, state.StatusPaused, "A B", "", "C", 2},
		{state.GateApproved{Verdict: state.Verdict{Gate: label}}, state.StatusPaused, "A B", "", "C", 2},
		{state.SessionResumed{}, state.StatusInProgress, "", "A B", "C", 0},
		{state.PhaseCompleted{Phase: "services"}, state.StatusInProgress, "A B", "C", "", 2},
		{state.PhaseStarted{Phase: "tests"}, state.StatusInProgress, "A B", "C", "", 2},
		{state.WorkstreamStarted{Workstream: "C", Attempt: 1}, state.StatusInProgress, "A B", "C", "", 2},
		{state.SessionInterrupted{Signal: "SIGINT"}, state.StatusPaused, "A B", "", "C", 2},
		{state.SessionResumed{}, state.StatusInProgress, "A B", "C", "", 2},
		{state.WorkstreamSkipped{Workstream: "C"}, state.StatusInProgress, "", "A B", "", 0},
		{state.PhaseCompleted{Phase: "tests"}, state.StatusInProgress, "", "A B", "", 0},
		{state.SessionCompleted{}, state.StatusComplete, "A B", "", "", 2},
	}
	s := &state.State{}
	checkpointtest.Must(t, s.Apply(state.Commit{Seq: 1, Events: []state.Event{checkpointtest.Started("S1", shape)}}))
	for i, step := range steps {
		checkpointtest.Must(t, s.Apply(state.Commit{Seq: uint64(i + 2), Events: []state.Event{step.event}}))
		d := document.New(s)
		got := []string{string(d.Status), strings.Join(d.Completed, " "), strings.Join(d.InProgress, " "), strings.Join(d.Pending, " ")}
		want := []string{string(step.status), step.completed, step.active, step.pending}
		checkpointtest.Same(t, string(step.event.Kind()), got, want)
		if len(d.Artifacts) != step.artifacts {
			t.Errorf("%s: artifacts %v", step.event.Kind(), d.Artifacts)
		}
	}
}

// TestDocumentObeysItsRules drives random runs and checks the document after every
// commit.
func TestDocumentObeysItsRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{t: t, s: &state.State{}, at: checkpointtest.Clock()}
		m.apply(checkpointtest.Started("S1", m.shape()))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			events := m.legal()
			if len(events) == 0 {
				return
			}
			m.apply(rapid.SampledFrom(events).Draw(t, "event"))
		}
	})
}

// machine plays the engine. It knows which events are legal next.
type machine struct {
	t  *rapid.T
	s  *state.State
	at func() time.Time
}

func (m *machine) shape() state.Shape {
	gates := func(label string) []string {
		return []string{"g1", "g2"}[:rapid.IntRange(0, 2).Draw(m.t, label)]
	}
	var shape state.Shape
	for p := range rapid.IntRange(1, 3).Draw(m.t, "phases") {
		phase := state.PhaseShape{Name: string(rune('p' + p)), Gates: gates("phase gates")}
		for w := range rapid.IntRange(1, 3).Draw(m.t, "workstreams") {
			name := phase.Name + string(rune('1'+w))
			phase.Workstreams = append(phase.Workstreams, state.WorkstreamShape{
				Name: name, Batch: rapid.IntRange(1, 2).Draw(m.t, "batch"), Gates: gates("gates"),
			})
		}
		shape.Phases = append(shape.Phases, phase)
	}
	return shape
}

func (m *machine) apply(e state.Event) {
	c := state.Commit{Seq: m.s.Seq + 1, Time: m.at(), Events: []state.Event{e}, Prev: journal.Genesis}
	line, err := journal.NewEncoder().Line(&c)
	if err != nil {
		m.t.Fatal(err)
	}
	f, err := journal.ParseFrame(line[:len(line)-1], "")
	if err != nil {
		m.t.Fatal(err)
	}
	if c, err = f.Commit(); err != nil {
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
	d := document.New(m.s)
	data, err := d.Encode()
	if err != nil {
		m.t.Fatal(err)
	}
	decoded, err := document.Decode(data)
	if err != nil || !decoded.Intact() {
		m.t.Fatalf("after %s the document that was read is not intact: %v", e.Kind(), err)
	}
	if err := errors.Join(decoded.Validate(nil), decoded.Matches(m.s)); err != nil {
		m.t.Fatalf("after %s: %v\n%s", e.Kind(), err, data)
	}
}

// legal returns the events that may come next.
func (m *machine) legal() []state.Event {
	s := m.s
	if s.Status == state.StatusComplete {
		return nil
	}
	if s.RunningAt == nil {
		return append(m.answers(), state.SessionResumed{})
	}
	events := []state.Event{
		state.SessionResumed{}, // the runner was killed
		state.SessionFailed{Error: state.Failure{Workstream: "p1", Message: "no"}},
		state.SessionFailed{Error: state.Failure{Gate: "g1 (p)"}},
		state.SessionPaused{Reason: state.PauseRequested},
		state.SessionInterrupted{Signal: "SIGINT"},
	}
	for _, p := range s.Phases {
		if p.Status == state.Completed || p.Status == state.Skipped {
			continue
		}
		if p.Status == state.Pending {
			return append(events, state.PhaseStarted{Phase: p.Name}, state.PhaseSkipped{Phase: p.Name})
		}
		return append(events, m.inPhase(p)...)
	}
	return append(events, state.SessionCompleted{})
}

// answers returns the answers that users may give while nothing runs.
func (m *machine) answers() []state.Event {
	var events []state.Event
	for _, p := range m.s.Phases {
		for _, g := range p.Gates {
			if g.Status == state.Waiting {
				events = append(events, state.GateApproved{Verdict: state.Verdict{Gate: g.Label}}, state.GateRejected{Verdict: state.Verdict{Gate: g.Label}})
			}
		}
	}
	return events
}

func (m *machine) inPhase(p *state.Phase) []state.Event {
	var events []state.Event
	done := true
	for _, w := range p.Workstreams {
		switch w.Status {
		case state.Completed, state.Skipped:
			events = append(events, state.WorkstreamInvalidated{Workstream: w.Name})
			continue
		case state.Running:
			events = append(events, m.ends(w)...)
		case state.Succeeded:
			if gates, passed := m.judge(w.Gates); passed {
				events = append(events, state.WorkstreamCompleted{Workstream: w.Name})
			} else {
				events = append(events, gates...)
			}
		default:
			events = append(events, state.WorkstreamStarted{Workstream: w.Name, Attempt: w.Attempts + 1}, state.WorkstreamSkipped{Workstream: w.Name})
		}
		done = false
	}
	if !done {
		return events
	}
	gates, passed := m.judge(p.Gates)
	if passed {
		return append(events, state.PhaseCompleted{Phase: p.Name})
	}
	return append(events, gates...)
}

func (m *machine) ends(w *state.Workstream) []state.Event {
	done := state.Work{Attempt: w.Attempts, Artifacts: []state.Artifact{{Path: state.Text(w.Name + "\xff.go")}}, Metrics: map[string]any{"m": 1.5}}
	events := []state.Event{
		state.WorkstreamFailed{Workstream: w.Name, Error: state.Failure{Message: "no"}},
		state.WorkstreamInterrupted{Workstream: w.Name},
		state.WorkstreamUncertain{Workstream: w.Name},
		state.WorkstreamAttemptFailed{Workstream: w.Name},
		state.WorkstreamSucceeded{Workstream: w.Name, Work: done},
	}
	if len(w.Gates) == 0 {
		events = append(events, state.WorkstreamCompleted{Workstream: w.Name, Work: &done})
	}
	return events
}

// judge returns what may happen to gates, and whether all have passed.
func (m *machine) judge(gates []*state.Gate) ([]state.Event, bool) {
	var events []state.Event
	passed := true
	for _, g := range gates {
		v := state.Verdict{Gate: g.Label}
		switch g.Status {
		case state.Passed:
			events = append(events, state.GateVoided{Gate: g.Label})
			continue
		case state.Skipped:
			continue
		case state.Running:
			events = append(events, state.GatePassed{Verdict: v}, state.GateFailed{Verdict: v, Error: state.Failure{Message: "no"}}, state.GateAsked{Verdict: v})
		case state.Waiting:
			events = append(events, state.GateApproved{Verdict: v}, state.GateRejected{Verdict: v})
		default:
			events = append(events, state.GateStarted{Gate: g.Label}, state.GateSkipped{Gate: g.Label})
		}
		passed = false
	}
	return events, passed
}
