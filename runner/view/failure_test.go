package view_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

// folds is the markup of a CI system that folds its log.
type folds struct{}

func (folds) Fold(title string, failed bool) (begin, end string) {
	return fmt.Sprintf("[%t %s", failed, title), "]"
}
func (folds) Annotate(view.Severity, state.Failure) string { return "" }
func (folds) Neutral(text string) string                   { return text }

// TestOutputIsToldOnce holds that no line that a failed step has printed is shown twice, and that the
// end of its output is shown to a reader who has not seen it.
func TestOutputIsToldOnce(t *testing.T) {
	t.Parallel()
	long := ""
	for i := range 30 {
		long += fmt.Sprintf("line %d\n", i)
	}
	of := func(log string) state.Failure {
		return state.Failure{Workstream: "lint", Message: "undefined: x", File: "main.go", Line: 3, Log: state.Text(log)}
	}
	const head, log = "  ✗ lint failed\n      undefined: x\n      at main.go:3\n", "      log: logs/lint.2.log\n"
	bar := func(from, to int) (s string) {
		for i := from; i < to; i++ {
			s += fmt.Sprintf("      │ line %d\n", i)
		}
		return s
	}
	streamed := strings.ReplaceAll(bar(0, 30), "      │", "lint │")
	for name, test := range map[string]struct {
		o      view.Options
		output string
		error  state.Failure
		want   string
	}{
		"plain":             {view.Options{}, long, of("lint.2.log"), head + log + bar(10, 30)},
		"streamed":          {view.Options{Stream: true}, long, of("lint.2.log"), streamed + head + log},
		"folded":            {view.Options{Markup: folds{}}, long, of("lint.2.log"), head + log + "[true the output before these lines: logs/lint.2.log\n" + bar(0, 10) + "]\n" + bar(10, 30)},
		"short":             {view.Options{Markup: folds{}}, "line 0\nline 1\n", of("lint.2.log"), head + log + bar(0, 2)},
		"overwritten":       {view.Options{Stream: true}, "10%\r50%\r100%\r\ndone\n", of("lint.2.log"), "lint │ 100%\nlint │ done\n" + head + log},
		"both":              {view.Options{Stream: true, Markup: folds{}}, long, of("lint.2.log"), streamed + head + log},
		"nothing":           {view.Options{Stream: true}, "", of("lint.2.log"), head + "      it printed nothing\n"},
		"another":           {view.Options{Stream: true}, "", of("lint.1.log"), head + "      log: logs/lint.1.log\n      │ of the first attempt\n"},
		"before it watched": {view.Options{Stream: true, Past: 2}, long, of("lint.2.log"), head + log + bar(10, 30)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for log, text := range map[string]string{"lint.1.log": "of the first attempt\n", "lint.2.log": test.output} {
				if err := os.WriteFile(filepath.Join(dir, log), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				test.o.Out, test.o.Now, test.o.Logs = &out, time.Now, view.Logs{Dir: dir, Name: "logs"}
				v := view.New(view.Plain, test.o)
				v.Begin(runner.Beginning{PRD: "PRD-009"})
				v.Commit(state.Commit{Seq: 1, Time: time.Now(), Events: []state.Event{state.WorkstreamStarted{Workstream: "lint", Attempt: 2}}})
				if test.o.Past > 0 { // what the attempt printed was not shown
					v.Commit(state.Commit{Seq: 2, Time: time.Now(), Events: []state.Event{state.WorkstreamInterrupted{Workstream: "lint", Attempt: 2}}})
				}
				out.Reset()
				v.Commit(state.Commit{Seq: 3, Events: []state.Event{state.WorkstreamFailed{Workstream: "lint", Error: test.error}}})
				v.Close()
				if got := strings.Replace(out.String(), " failed after 0s", " failed", 1); got != filepath.FromSlash(test.want) {
					t.Errorf("printed:\n%s\nwant:\n%s", got, test.want)
				}
			})
		})
	}
}

// TestSummaryIsBounded: in one line, a long message is cut, and the step stays.
func TestSummaryIsBounded(t *testing.T) {
	t.Parallel()
	got := view.Summary(state.Failure{Workstream: "w", Message: state.Text(strings.Repeat("x", 2000))})
	if want := "w: " + strings.Repeat("x", 399) + "…"; got != want {
		t.Errorf("got %q", got)
	}
}

// TestPlainTimesAndSignals: each event of a commit has its own time, and without a terminal a signal has its own name.
func TestPlainTimesAndSignals(t *testing.T) {
	t.Parallel()
	began := time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	v := view.New(view.Plain, view.Options{Out: &out, Now: func() time.Time { return began }})
	v.Begin(runner.Beginning{PRD: "PRD-009"})
	v.Commit(state.Commit{Seq: 1, Time: began, AfterMS: []int64{0, 2000}, Events: []state.Event{
		state.WorkstreamStarted{Workstream: "w", Attempt: 1}, state.WorkstreamFailed{Workstream: "w", Error: state.Failure{Message: "no"}},
	}})
	v.Stop(runner.Stopping{Signal: "SIGINT"})
	v.Close()
	for _, want := range []string{"w failed after 2s\n", "! SIGINT: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
