package page_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/page"
	"prdrunner/runner/plan"
	"prdrunner/runner/why"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

func at(second int) time.Time { return time.Date(2025, 12, 11, 10, 0, second, 0, time.UTC) }

func pointer[T any](value T) *T { return &value }

// hostile is a text that would run if it were not escaped, with letters that must stay.
const hostile = `<script>alert("x")</script> & 'é'`

// overview returns an overview of a session in which everything is there that a page shows.
func overview() *info.Overview {
	failure := state.Failure{Workstream: "WS2", Message: hostile, File: "a<b>.go", Line: 7, Log: "WS2.2.log"}
	st := &state.State{
		PRD: "PRD-009", Session: "0123456789abcdef", Title: "Cashier " + hostile, Status: state.StatusFailed, CreatedAt: at(0), UpdatedAt: at(50), Seq: 50, CurrentPhase: 2, Resumes: 1,
		Pipeline: state.FileRef{Path: "PRD-009.hcl"}, Error: &failure,
		Metrics:  map[string]state.Metric{"coverage": {Value: 91.5, Workstream: "WS1"}, "grade": {Value: "b", Workstream: "WS1"}},
		Baseline: map[string]state.Metric{"coverage": {Value: 90.0}},
		Phases: []*state.Phase{
			{Name: "database", Title: "Database", Status: state.Completed, Workstreams: []*state.Workstream{
				{
					Name: "WS1", Title: hostile, Batch: 1, Status: state.Completed, Attempts: 1, DurationMS: 12_000, WorkSeq: 3, Metrics: []string{"coverage", "grade"},
					Outputs: map[string]state.Text{"url": hostile}, Gates: []*state.Gate{{Label: "lint (WS1)", Status: state.Passed}},
				},
			}, Gates: []*state.Gate{{Label: "coverage (database)", Status: state.Passed, Value: 91.5}}},
			{Name: "services", Status: state.Running, Workstreams: []*state.Workstream{
				{Name: "WS2", Title: "WS2", Batch: 1, Status: state.Failed, Attempts: 2, StartedAt: pointer(at(40)), EndedAt: pointer(at(49)), Error: &failure},
				{Name: "old", Title: "old", Batch: 1, Status: state.Completed, Session: "fedcba9876543210", EndedAt: pointer(at(0))},
			}, Gates: []*state.Gate{{Label: "sign-off (services)", Status: state.Waiting, Message: "Ship?\n" + hostile, Approvers: []string{"ana"}}}},
		},
		Checkpoints: []*state.CheckpointRef{
			{ID: "CP-1", Step: 1, StepName: "WS1", Trigger: state.TriggerPhaseTransition, Phase: "database", CreatedAt: at(20), Valid: true},
			{ID: "CP-2", Step: 1, Trigger: state.TriggerFailure, Phase: "services", CreatedAt: at(49), Valid: true},
		},
		Current:   "CP-2",
		Rollbacks: []state.RollbackRecord{{At: at(21), FromStep: 2, ToStep: 1, To: "CP-1", Scope: state.RollbackAll, Reason: hostile}},
	}
	for i := range 13 {
		name := fmt.Sprintf("part[%q]", fmt.Sprint("k", i))
		st.Phases[1].Workstreams = append(st.Phases[1].Workstreams, &state.Workstream{Name: name, Title: name, Batch: 1, Status: state.Pending})
	}
	return overviewOf(st, timeline(), failure)
}

// timeline returns two runs: the runner of the first one was killed.
func timeline() history.Timeline {
	var t history.Timeline
	for _, c := range []state.Commit{
		{Time: at(0), Events: []state.Event{state.SessionStarted{}, state.WorkstreamStarted{Workstream: "WS1", Attempt: 1}}},
		{Time: at(12), Events: []state.Event{state.WorkstreamSucceeded{Workstream: "WS1"}, state.GateStarted{Gate: "lint (WS1)", Attempt: 1}}},
		{Time: at(15), Events: []state.Event{state.GatePassed{Verdict: state.Verdict{Gate: "lint (WS1)"}}, state.WorkstreamCompleted{Workstream: "WS1"}}},
		{Time: at(16), Events: []state.Event{state.WorkstreamStarted{Workstream: "WS2", Attempt: 1}}},
		{Time: at(40), Events: []state.Event{state.SessionResumed{}, state.WorkstreamStarted{Workstream: "WS2", Attempt: 2}}},
		{Time: at(49), Events: []state.Event{state.WorkstreamFailed{Workstream: "WS2"}, state.SessionFailed{}}},
	} {
		t.Commit(c)
	}
	return t
}

func overviewOf(st *state.State, t history.Timeline, failed ...state.Failure) *info.Overview {
	var cmdline advice.CommandLine
	now := at(59)
	earlier := &state.State{PRD: st.PRD, Session: "fedcba9876543210", Status: state.StatusComplete, CreatedAt: at(0).AddDate(0, 0, -1), Metrics: map[string]state.Metric{"coverage": {Value: 90.0}, "grade": {Value: "a"}}}
	past := []info.PastSession{
		{StoredSession: reader.StoredSession{PRD: st.PRD, Place: disk.PlaceHistory, Dir: "/ws/a", State: earlier}},
		{StoredSession: reader.StoredSession{PRD: st.PRD, Place: disk.PlaceHistory, Dir: "/ws/b", Err: errors.New("garbage")}},
		{StoredSession: reader.StoredSession{PRD: st.PRD, Place: disk.PlaceCurrent, Dir: "/ws/c", State: st}, Timeline: t},
	}
	o := &info.Overview{
		Now: now, State: st, Timeline: t, Graph: info.NewGraph(st, nil),
		Status:      info.NewSessionStatus(cmdline, now, st.PRD, &checkpoint.Snapshot{Current: reader.Current{State: st}}),
		Checkpoints: info.NewListReport(cmdline, []reader.StoredSession{past[2].StoredSession}),
		Outputs:     info.NewOutputsReport(st, func(string) bool { return true }),
		History:     info.NewHistoryReport(cmdline, now, st.PRD, past), Metrics: info.NewMetricTrends(past),
	}
	o.Critical = info.CriticalPath(o.Timeline, o.Graph)
	o.Reasons = map[string]*why.Run{"WS2": {Cause: &why.Cause{Name: "WS2", Does: "ran again", Reason: hostile, Changes: []why.Change{{Change: plan.Change{Component: "inputs", Name: "a.go"}}}}}}
	for _, f := range failed {
		o.Failures = append(o.Failures, info.FailedStep{Failure: f, Log: "a line\n" + hostile + "\n"})
	}
	return o
}

func render(t *testing.T, o *info.Overview) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Report(&b, advice.CommandLine{}, o, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPhaseWhoseGateFailed: the sign of a phase counts its gates, too.
func TestPhaseWhoseGateFailed(t *testing.T) {
	t.Parallel()
	st := &state.State{PRD: "PRD-001", Session: "0123456789abcdef", Status: state.StatusFailed, Phases: []*state.Phase{{
		Name: "one", Workstreams: []*state.Workstream{{Name: "a", Status: state.Completed}}, Gates: []*state.Gate{{Label: "g (one)", Status: state.Failed}},
	}}}
	if text := render(t, overviewOf(st, history.Timeline{})); !strings.Contains(text, `<span class="sign bad">✗</span>1 one`) {
		t.Error("the phase has the sign of success")
	}
}

// TestBarOfARunningStep: the bar of a step that runs has the class of that. If the runner is gone, the end of the step is not known.
func TestBarOfARunningStep(t *testing.T) {
	t.Parallel()
	var times history.Timeline
	times.Commit(state.Commit{Time: at(0), Events: []state.Event{state.SessionStarted{}, state.WorkstreamStarted{Workstream: "a", Attempt: 1}}})
	times.Commit(state.Commit{Time: at(20), Events: []state.Event{state.WorkstreamStarted{Workstream: "b", Attempt: 1}}})
	st := &state.State{PRD: "PRD-001", Session: "0123456789abcdef", Status: state.StatusInProgress, Phases: []*state.Phase{{
		Name: "one", Status: state.Running, Workstreams: []*state.Workstream{{Name: "a", Status: state.Running, StartedAt: pointer(at(0))}, {Name: "b", Status: state.Running, StartedAt: pointer(at(20))}},
	}}}
	o := overviewOf(st, times)
	if text := render(t, o); strings.Contains(text, `<rect class="run"`) || strings.Count(text, "its end is not on record") != 2 {
		t.Error("the bars of steps whose runner is gone are not said to be lost")
	}
	o.Status = info.NewSessionStatus(advice.CommandLine{}, at(59), st.PRD, &checkpoint.Snapshot{Current: reader.Current{State: st}, Owner: &disk.Holder{Actor: state.Actor{User: "ana", Host: "h", PID: 1}}})
	if text := render(t, o); strings.Count(text, `<rect class="run"`) != 2 || strings.Contains(text, "its end is not on record") {
		t.Error("the bars of running steps are not shown as such")
	}
}

// TestChangesInTheCardOfAGate: the card of a gate that waits lists the files that have changed.
func TestChangesInTheCardOfAGate(t *testing.T) {
	t.Parallel()
	o := overview()
	changed := &compare.Comparison{From: compare.Point{ID: "CP-1"}, Files: []compare.FileChange{{Path: "new<1>.txt", Kind: workspace.Added}}}
	o.Status.Waiting[0].Judged = &info.Judged{Files: info.NewFilesSince(changed, "before services began")}
	if text := render(t, o); !strings.Contains(text, "new&lt;1&gt;.txt") {
		t.Error("the card does not name the file")
	}
}

// TestClosedPhases: of a session with many workstreams, a report lists those of phases that need attention.
func TestClosedPhases(t *testing.T) {
	t.Parallel()
	st := &state.State{PRD: "PRD-001", Session: "0123456789abcdef", Status: state.StatusFailed}
	for i, status := range []state.StepStatus{state.Completed, state.Failed, state.Pending} {
		p := &state.Phase{Name: fmt.Sprint("p", i), Status: status}
		for k := range 150 {
			p.Workstreams = append(p.Workstreams, &state.Workstream{Name: fmt.Sprintf("w%d-%d", i, k), Status: status})
		}
		st.Phases = append(st.Phases, p)
	}
	text := render(t, overviewOf(st, history.Timeline{}))
	if strings.Contains(text, `<tspan class="ok">✓</tspan> ◆`) {
		t.Error("a workstream is marked that decided nothing")
	}
	if closed, open := strings.Count(text, `<details class="phase">`), strings.Count(text, `<details class="phase" open>`); closed != 1 || open != 2 {
		t.Errorf("%d phases are closed and %d open", closed, open)
	}
}

// TestReport compares a report with a file in testdata, which browsers show.
func TestReport(t *testing.T) {
	t.Parallel()
	got := render(t, overview())
	golden := filepath.Join("testdata", "report.html")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}

// TestReportIsMarkup: every element is closed, no two have the same id, and every link leads to one.
func TestReportIsMarkup(t *testing.T) {
	t.Parallel()
	text := regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(render(t, overview()), "")
	ids, links := map[string]bool{}, []string{}
	dec := xml.NewDecoder(strings.NewReader(text))
	dec.Strict, dec.AutoClose, dec.Entity = false, []string{"meta", "col", "input", "br"}, xml.HTMLEntity
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e, is := token.(xml.StartElement)
		if !is {
			continue
		}
		for _, a := range e.Attr {
			switch a.Name.Local {
			case "id":
				if ids[a.Value] {
					t.Errorf("two elements have the id %s", a.Value)
				}
				ids[a.Value] = true
			case "href":
				links = append(links, a.Value)
			}
		}
	}
	for _, link := range links {
		if to, inside := strings.CutPrefix(link, "#"); !inside || !ids[to] {
			t.Errorf("%s leads nowhere", link)
		}
	}
}

// TestNothingInAReportRuns: what comes from outside is text wherever it stands, and the file asks for nothing.
func TestNothingInAReportRuns(t *testing.T) {
	t.Parallel()
	text := render(t, overview())
	if strings.Count(text, "<script>") != 1 || strings.Contains(text, "<script>alert") {
		t.Error("a text became a script")
	}
	if n := strings.Count(text, "alert("); n < 8 || n != strings.Count(text, "&lt;script&gt;alert(") {
		t.Errorf("of %d texts from outside, some are not escaped", n)
	}
	if found := regexp.MustCompile(`(?i)(src|action|srcset|poster)=|@import|url\(|https?://`).FindAllString(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), -1); found != nil {
		t.Errorf("the report asks for something: %q", found)
	}
}

// TestReportOfManyWorkstreams: a report stays small.
func TestReportOfManyWorkstreams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		workstreams, most int
		instances         bool
	}{{1000, 1_000_000, false}, {1000, 1_000_000, true}, {10_000, 8_000_000, true}} {
		st := &state.State{PRD: "PRD-001", Session: "s", Title: "Many", Status: state.StatusComplete, CreatedAt: at(0), UpdatedAt: at(50), Phases: []*state.Phase{{Name: "one", Status: state.Completed}}}
		var times history.Timeline
		times.Commit(state.Commit{Time: at(0), Events: []state.Event{state.SessionStarted{}}})
		for i := range tt.workstreams {
			name := fmt.Sprint("workstream-", i)
			if tt.instances {
				name = fmt.Sprintf("workstream[%q]", fmt.Sprint("sample-", i))
			}
			w := &state.Workstream{
				Name: name, Title: "A title of " + name, Batch: 1, Status: state.Completed, Attempts: 1, DurationMS: 900, WorkSeq: 1,
				Outputs: map[string]state.Text{"result": "/data/results/" + state.Text(name)}, Gates: []*state.Gate{{Label: "lint (" + name + ")", Status: state.Passed}},
			}
			st.Phases[0].Workstreams = append(st.Phases[0].Workstreams, w)
			times.Commit(state.Commit{Time: at(i % 50), Events: []state.Event{state.WorkstreamStarted{Workstream: name, Attempt: 1}}})
			times.Commit(state.Commit{Time: at(i%50 + 1), Events: []state.Event{state.WorkstreamSucceeded{Workstream: name}, state.GateStarted{Gate: w.Gates[0].Label, Attempt: 1}}})
			times.Commit(state.Commit{Time: at(i%50 + 2), Events: []state.Event{state.GatePassed{Verdict: state.Verdict{Gate: w.Gates[0].Label}}, state.WorkstreamCompleted{Workstream: name}}})
		}
		times.Commit(state.Commit{Time: at(52), Events: []state.Event{state.SessionCompleted{}}})
		size := len(render(t, overviewOf(st, times)))
		t.Logf("%d workstreams, instances %v: %d bytes", tt.workstreams, tt.instances, size)
		if size > tt.most {
			t.Errorf("the report of %d workstreams has %d bytes", tt.workstreams, size)
		}
	}
}
