package sink_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/sink"
	"prdrunner/runner/view"
)

var update = flag.Bool("update", false, "write the golden files anew")

func start() time.Time { return time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// beginning is a run of three phases, in which some workstreams were done before.
func beginning() runner.Beginning {
	step := func(name string, d plan.Decision, reason state.Text) plan.Step {
		kind := plan.WorkstreamStep
		if strings.Contains(name, " (") {
			kind = plan.GateStep
		}
		return plan.Step{Kind: kind, Name: name, Decision: d, Reason: reason}
	}
	return runner.Beginning{PRD: "PRD-009", Title: "Pay <b>*now*</b>", Session: "0123456789", Plan: &plan.Plan{Phases: []plan.Phase{
		{Name: "build", Title: "Build | all", Number: 1, Steps: []plan.Step{
			step("unchanged", plan.Reuse, "unchanged"), step("left out", plan.Skipped, "when is false"), step("cached", plan.Cached, ""),
			step("flaky", plan.Run, ""), step("lint", plan.Run, ""), step("style (lint)", plan.Run, ""),
		}},
		{Name: "test", Number: 2, Steps: []plan.Step{
			step("unit", plan.Run, ""), step("tried twice", plan.Run, ""), step("optional", plan.Run, ""), step("never", plan.Blocked, ""), step("sign-off (test)", plan.Run, ""),
		}},
		{Name: "late", Number: 3, Steps: []plan.Step{step("depends", plan.Depends, ""), step("held (depends)", plan.Depends, ""), step("judged", plan.Run, ""), step("bad (judged)", plan.Run, "")}},
		{Name: "only if", Number: 4, Steps: []plan.Step{step("x", plan.Depends, "")}},
	}}}
}

func story() []state.Commit {
	work := func(attempt int) state.Work { return state.Work{Attempt: attempt, DurationMS: 1000} }
	broken := state.Failure{Workstream: "unit", Outcome: "exited", Message: "undefined: x\n``` <script>", File: "pay/a b.go", Line: 3, Column: 7, Log: "unit.1.log"}
	events := [][]state.Event{
		{state.PhaseStarted{Phase: "build"}, state.WorkstreamStarted{Workstream: "cached", Attempt: 1}, state.WorkstreamStarted{Workstream: "flaky", Attempt: 1}},
		{state.WorkstreamCompleted{Workstream: "cached", Work: &state.Work{Cached: &state.Cached{Session: "abcdef0123456789"}}}},
		{state.WorkstreamAttemptFailed{Workstream: "flaky", Attempt: 1, Error: state.Failure{Workstream: "flaky", Outcome: "timed_out", Message: "no answer"}}},
		{state.WorkstreamStarted{Workstream: "flaky", Attempt: 2}, state.WorkstreamStarted{Workstream: "lint", Attempt: 1}},
		{state.WorkstreamCompleted{Workstream: "flaky", Work: ptr(work(2))}, state.WorkstreamSucceeded{Workstream: "lint", Work: work(1)}, state.GateStarted{Gate: "style (lint)", Attempt: 1}},
		{state.GatePassed{Verdict: state.Verdict{Gate: "style (lint)"}}, state.WorkstreamCompleted{Workstream: "lint"}, state.PhaseCompleted{Phase: "build"}},
		{state.PhaseStarted{Phase: "test"}, state.WorkstreamStarted{Workstream: "unit", Attempt: 1}, state.WorkstreamStarted{Workstream: "tried twice", Attempt: 1}},
		{
			state.WorkstreamAttemptFailed{Workstream: "tried twice", Attempt: 1, Error: state.Failure{Message: "first"}},
			state.WorkstreamStarted{Workstream: "tried twice", Attempt: 2}, state.WorkstreamStarted{Workstream: "optional", Attempt: 1},
		},
		{
			state.WorkstreamFailed{Workstream: "tried twice", Error: state.Failure{Workstream: "tried twice", Outcome: "exited", Message: "second", Log: "tried twice.2.log"}},
			state.WorkstreamFailed{Workstream: "optional", Error: state.Failure{Workstream: "optional", Message: "not there", File: "b.go"}, Allowed: true},
		},
		{state.WorkstreamFailed{Workstream: "unit", Error: broken}, state.GateAsked{Verdict: state.Verdict{Gate: "sign-off (test)"}, Message: "Ship it?"}},
		{state.WorkstreamStarted{Workstream: "judged", Attempt: 1}},
		{state.WorkstreamSucceeded{Workstream: "judged", Work: work(1)}, state.GateStarted{Gate: "bad (judged)", Attempt: 1}},
		{state.GateFailed{Verdict: state.Verdict{Gate: "bad (judged)"}, Error: state.Failure{Workstream: "judged", Gate: "bad (judged)", Message: "it is bad", File: "/usr/include/x.h"}}},
		{state.CheckpointCreated{ID: "CP-test-1"}, state.PhaseSkipped{Phase: "only if", Reason: "a phase failed"}},
	}
	commits := make([]state.Commit, len(events))
	for i, e := range events {
		commits[i] = state.Commit{Seq: uint64(i + 1), Time: start().Add(time.Duration(i) * time.Second), Events: e}
	}
	return commits
}

func ptr[T any](v T) *T { return &v }

func ending() runner.Ending {
	c := story()
	unit, twice, optional := c[9].Events[0].(state.WorkstreamFailed), c[8].Events[0].(state.WorkstreamFailed), c[8].Events[1].(state.WorkstreamFailed)
	return runner.Ending{
		Status: state.StatusFailed, Error: &unit.Error, Failed: []state.Failure{twice.Error, unit.Error, c[12].Events[0].(state.GateFailed).Error, {Message: "the condition of phase late: no such variable"}}, Allowed: []state.Failure{optional.Error},
		Pause: &state.Pause{Reason: state.PauseApproval, Gates: []string{"sign-off (test)"}}, Duration: 10 * time.Second, Next: []state.Text{"runner approve PRD-009"},
	}
}

func options(t *testing.T) sink.Options {
	t.Helper()
	logs := t.TempDir()
	must(t, os.WriteFile(filepath.Join(logs, "unit.1.log"), []byte("```\n\x1b[31mred\x1b[0m & <b>\n::error::x\n]]>\x00\n"), 0o600))
	return sink.Options{
		Now: start, Logs: view.Logs{Dir: logs}, Below: "services/pay",
		State: func() *state.State {
			return &state.State{
				Phases: []*state.Phase{{Name: "late", Workstreams: []*state.Workstream{
					{Name: "depends", Status: state.Completed, Gates: []*state.Gate{{Label: "held (depends)", Status: state.Passed}}},
				}}},
				Metrics:  map[string]state.Metric{"coverage": {Value: 81}, "new|one": {Value: "<i>"}},
				Baseline: map[string]state.Metric{"coverage": {Value: 79}},
			}
		},
		Questions: func() []sink.Question {
			return []sink.Question{
				{
					Gate: "sign-off (test)", Message: "Ship it?\n  # It *goes* to\x1b[31m production\n", Facts: []string{"Files: 2 modified, +3 −1 lines since CP-1 (before test began)", "Metrics: a_b 3"},
					Files: []string{"~ a.go (modified, +3 −1)", "~ b\n.go (modified)"}, More: "runner checkpoint diff PRD-009 CP-1 workspace --files",
					Answers: []string{"runner approve PRD-009 'sign-off (test)'", "runner reject PRD-009 'sign-off (test)' -m REASON"},
				},
				{Gate: "too late (test)"},
			}
		},
	}
}

func play(t *testing.T, s view.View) {
	t.Helper()
	s.Begin(beginning())
	for _, c := range story() {
		s.Commit(c)
	}
	s.End(ending())
	s.Close()
	must(t, s.Err())
}

// TestForms compares what is written of a run with golden files.
func TestForms(t *testing.T) {
	t.Parallel()
	for kind, golden := range map[sink.Kind]string{sink.JUnit: "junit.xml", sink.SARIF: "sarif.json", sink.Summary: "summary.md", sink.Result: "result.env", sink.Exports: "exports.sh"} {
		path := filepath.Join(t.TempDir(), "made", "for it", "file")
		s, err := sink.Open(kind, path, options(t))
		must(t, err)
		play(t, s)
		got, err := os.ReadFile(path)
		must(t, err)
		golden = filepath.Join("testdata", golden)
		if *update {
			must(t, os.WriteFile(golden, got, 0o600))
		}
		want, err := os.ReadFile(golden)
		must(t, err)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		again, err := sink.Open(kind, path, options(t)) // it may replace what it wrote
		must(t, err)
		play(t, again)
	}
}

// TestEventsFile holds that events are in the file as soon as they are durable, and that one
// of an earlier run is replaced.
func TestEventsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	for range 2 {
		s, err := sink.Open(sink.Events, path, options(t))
		must(t, err)
		s.Begin(beginning())
		s.Commit(story()[0])
		data, err := os.ReadFile(path)
		must(t, err)
		if lines := strings.Count(string(data), "\n"); lines != 4 || !strings.Contains(string(data), `"kind":"phase.started"`) {
			t.Errorf("%d lines: %s", lines, data)
		}
		s.Close()
		must(t, s.Err())
	}
}

// TestNoFileOfAnEarlierRun holds that a file says while a run goes on that the run has not ended: if
// it is killed, nobody takes the file of an earlier run for its result.
func TestNoFileOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	for kind, want := range map[sink.Kind]string{
		sink.JUnit:   `<failure type="unended" message="the run has not ended: it goes on, or was killed">`,
		sink.SARIF:   `"results":[]`,
		sink.Summary: "&lt;/b&gt;: not ended",
		sink.Result:  "status=in_progress\n",
	} {
		path := filepath.Join(t.TempDir(), "file")
		s, err := sink.Open(kind, path, options(t))
		must(t, err)
		play(t, s)
		before, err := os.ReadFile(path)
		must(t, err)
		s, err = sink.Open(kind, path, options(t))
		must(t, err)
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, before) {
			t.Errorf("%s: before the run begins: %s, %v", kind, now, err)
		}
		s.Begin(beginning())
		if now, err := os.ReadFile(path); err != nil || !strings.Contains(string(now), want) {
			t.Errorf("%s: while the run goes on: %s, %v", kind, now, err)
		}
	}
}

// TestOtherFilesStay holds that no file is replaced that no sink of the kind wrote.
func TestOtherFilesStay(t *testing.T) {
	t.Parallel()
	for _, kind := range []sink.Kind{sink.Events, sink.JUnit, sink.SARIF, sink.Summary, sink.Result} {
		for _, content := range []string{"pipeline \"PRD-009\" {}\n", "x", xml.Header + "<testsuites></testsuites>", `{"format_version":"1.0"`[:10], "# Notes\n"} {
			path := filepath.Join(t.TempDir(), "file")
			must(t, os.WriteFile(path, []byte(content), 0o600))
			_, err := sink.Open(kind, path, options(t))
			var foreign *sink.ForeignError
			if !errors.As(err, &foreign) {
				t.Errorf("%s would replace %q: %v", kind, content, err)
			}
		}
	}
}

// TestMadeMeanwhile holds that a file stays that something else writes while the run goes on.
func TestMadeMeanwhile(t *testing.T) {
	t.Parallel()
	for _, kind := range []sink.Kind{sink.Events, sink.JUnit} {
		path := filepath.Join(t.TempDir(), "file")
		s, err := sink.Open(kind, path, options(t))
		must(t, err)
		if kind == sink.JUnit {
			s.Begin(beginning())
		}
		must(t, os.WriteFile(path, []byte("made by a workstream"), 0o600))
		if kind == sink.Events {
			s.Begin(beginning())
		}
		s.End(ending())
		s.Close()
		var foreign *sink.ForeignError
		if data, err := os.ReadFile(path); string(data) != "made by a workstream" || !errors.As(s.Err(), &foreign) {
			t.Errorf("%s: %q, %v, %v", kind, data, err, s.Err())
		}
	}
}

// TestLinksStay writes through a symbolic link, and refuses what is not a regular file: a pipe that
// nobody reads would hold up the run.
func TestLinksStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Skip("no links here: ", err)
	}
	s, err := sink.Open(sink.Result, filepath.Join(dir, "link"), options(t))
	must(t, err)
	play(t, s)
	if data, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !strings.HasPrefix(string(data), "status=") {
		t.Errorf("behind the link: %q, %v", data, err)
	}
	must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	for path, what := range map[string]string{
		dir: "a directory", filepath.Join(dir, "dangling"): "a link to something that does not exist", os.DevNull: "a pipe or a device",
		"/dev/stdout": "a place for streams", "/dev/fd/1": "a place for streams", "/proc/self/fd/1": "a place for streams",
	} {
		var foreign *sink.ForeignError
		if _, err := sink.Open(sink.Result, path, options(t)); !errors.As(err, &foreign) || err.Error() != path+" is "+what+", and no file" {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestUnwritable holds that a sink that can't be written says so, and no more.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	if _, err := sink.Open(sink.JUnit, filepath.Join(dir, "file", "below"), options(t)); err == nil {
		t.Error("a file is no directory")
	}
	for _, kind := range []sink.Kind{sink.Events, sink.JUnit} {
		path := filepath.Join(dir, string(kind), "file")
		s, err := sink.Open(kind, path, options(t))
		must(t, err)
		if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a sink that has written nothing made a directory: %v", kind, err)
		}
		must(t, os.WriteFile(filepath.Dir(path), nil, 0o600))
		s.Begin(beginning())
		s.End(ending())
		s.Close()
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "write "+path) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestAppend adds to a file that another program reads.
func TestAppend(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "output")
	must(t, os.WriteFile(path, []byte("other=1"), 0o600))
	o := options(t)
	o.Append = true
	s, err := sink.Open(sink.Result, path, o)
	must(t, err)
	play(t, s)
	data, err := os.ReadFile(path)
	must(t, err)
	if !strings.HasPrefix(string(data), "other=1\nstatus=failed\n") {
		t.Errorf("%s", data)
	}
}

// TestWithoutPlan writes steps that no plan named, of an iteration and of instances that came
// up in the run.
func TestWithoutPlan(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "junit.xml")
	o := options(t)
	o.State = func() *state.State {
		return &state.State{Phases: []*state.Phase{{Name: "all", Workstreams: []*state.Workstream{
			{Name: `each["a"]`, Status: state.Uncertain, Gates: []*state.Gate{{Label: `lint (each["a"])`, Status: state.Pending}}},
		}}}}
	}
	s, err := sink.Open(sink.JUnit, path, o)
	must(t, err)
	s.Begin(runner.Beginning{PRD: "PRD-009"})
	for _, e := range []state.Event{
		state.PhaseStarted{Phase: "all"}, state.WorkstreamStarted{Workstream: "first", Attempt: 1},
		state.WorkstreamFailed{Workstream: "first", Error: state.Failure{Message: "once"}},
		state.PhaseRepeated{Phase: "all", Iteration: 2},
		state.WorkstreamStarted{Workstream: "first", Attempt: 2}, state.WorkstreamCompleted{Workstream: "first"},
		state.PhaseExpanded{Phase: "all", Shape: state.Shape{Phases: []state.PhaseShape{{Name: "all", Gates: []string{"ok"}, Workstreams: []state.WorkstreamShape{
			{Name: "first"}, {Name: `each["a"]`, Gates: []string{"lint"}},
		}}}}},
		state.WorkstreamStarted{Workstream: `each["a"]`, Attempt: 1}, state.GatePassed{Verdict: state.Verdict{Gate: `lint (each["a"])`}}, state.WorkstreamUncertain{Workstream: `each["a"]`, Error: state.Failure{Message: "who knows"}},
		state.GateRejected{Verdict: state.Verdict{Gate: "ok (all)"}, Reason: "no"},
	} {
		s.Commit(state.Commit{Time: start(), Events: []state.Event{e}})
	}
	s.End(runner.Ending{Status: state.StatusFailed})
	must(t, s.Err())
	data, err := os.ReadFile(path)
	must(t, err)
	for _, want := range []string{
		`tests="4" failures="1"`, `<testcase name="first" classname="PRD-009.all" time="0.000"></testcase>`, `<skipped message="who knows">`, `<skipped message="not done">`, `message="rejected: no"`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in\n%s", want, data)
		}
	}
}

// TestTimesInOneCommit: events of one commit have their own times.
func TestTimesInOneCommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "junit.xml")
	s, err := sink.Open(sink.JUnit, path, options(t))
	must(t, err)
	s.Begin(runner.Beginning{PRD: "PRD-009"})
	s.Commit(state.Commit{Time: start(), AfterMS: []int64{0, 0, 2000}, Events: []state.Event{
		state.PhaseStarted{Phase: "all"}, state.WorkstreamStarted{Workstream: "first", Attempt: 1}, state.WorkstreamCompleted{Workstream: "first"},
	}})
	s.End(runner.Ending{Status: state.StatusComplete})
	must(t, s.Err())
	data, err := os.ReadFile(path)
	must(t, err)
	if want := `<testcase name="first" classname="PRD-009.all" time="2.000">`; !strings.Contains(string(data), want) {
		t.Errorf("no %s in\n%s", want, data)
	}
}
