package trace

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

func start() time.Time { return time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC) }

// newTracer returns a Tracer that sends to a collector. Its random ids are counted.
func newTracer(t *testing.T, c *collector, variables map[string]string) *Tracer {
	t.Helper()
	settings, problems := Read(c.process(variables))
	if settings == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	var n byte
	return New(settings, Options{PRD: "PRD-009", Version: "1.0", Now: start, Random: func(b []byte) {
		n++
		clear(b)
		b[len(b)-1] = n
	}})
}

// story is a run in which there is one of everything that spans tell.
func story() []state.Commit {
	failed := func(outcome, message string) state.Failure {
		return state.Failure{Outcome: outcome, Message: state.Text(message), ExitCode: 3, Log: "x.1.log"}
	}
	verdict := func(gate string) state.Verdict { return state.Verdict{Gate: gate} }
	work := func() *state.Work { return &state.Work{} }
	events := [][]state.Event{
		{state.ReviewStarted{Attempt: 1, Run: 1}},
		{state.ReviewJudged{Verdict: state.VerdictShipWithGates}},
		{state.PhaseStarted{Phase: "build"}, state.ServiceStarted{Service: "db", Attempt: 1}, state.WorkstreamStarted{Workstream: "flaky", Attempt: 1}},
		{state.ServiceReady{Service: "db", Attempt: 1}, state.WorkstreamAttemptFailed{Workstream: "flaky", Attempt: 1, Error: failed("timed_out", "no answer\xff")}},
		{state.WorkstreamStarted{Workstream: "flaky", Attempt: 2}, state.WorkstreamStarted{Workstream: "cached", Attempt: 1}},
		{state.WorkstreamSucceeded{Workstream: "flaky"}, state.WorkstreamCompleted{Workstream: "cached", Work: &state.Work{Cached: &state.Cached{}}}},
		{state.GateStarted{Gate: "lint (flaky)", Attempt: 1}},
		{state.GatePassed{Verdict: verdict("lint (flaky)")}, state.WorkstreamCompleted{Workstream: "flaky"}},
		{state.GateAsked{Verdict: verdict("ask (build)")}},
		{state.GateApproved{Verdict: verdict("ask (build)")}, state.GatePassed{Verdict: verdict("metric (build)"), DurationMS: 500}, state.ServiceEnded{Service: "db", Attempt: 1}, state.PhaseCompleted{Phase: "build"}},
		{state.PhaseSkipped{Phase: "nothing"}, state.PhaseStarted{Phase: "loop"}, state.WorkstreamStarted{Workstream: "again", Attempt: 1}},
		{state.WorkstreamCompleted{Workstream: "again", Work: work()}, state.GateStarted{Gate: "enough (loop)", Attempt: 1}},
		{state.GateFailed{Verdict: verdict("enough (loop)"), Error: failed("exited", "not yet")}, state.PhaseRepeated{Phase: "loop", Iteration: 2}, state.WorkstreamStarted{Workstream: "again", Attempt: 2}},
		{state.WorkstreamSucceeded{Workstream: "again"}, state.GateRejected{Verdict: verdict("earlier (loop)")}, state.GateStarted{Gate: "bad (again)", Attempt: 1}, state.GateStarted{Gate: "stopped (again)", Attempt: 1}},
		{state.GateFailed{Verdict: verdict("bad (again)"), Error: failed("exited", strings.Repeat("é", maxText))}, state.GateVoided{Gate: "stopped (again)"}},
		{state.WorkstreamFailed{Workstream: "allowed", Error: failed("not_found", "no such program"), Allowed: true}, state.WorkstreamStarted{Workstream: "once", Attempt: 1}, state.WorkstreamStarted{Workstream: "calls", Attempt: 1}},
		{state.WorkstreamUncertain{Workstream: "once", Error: failed("signaled", "killed")}, state.WorkstreamInterrupted{Workstream: "calls", WaitsFor: "x"}, state.WorkstreamStarted{Workstream: "stopped", Attempt: 1}},
		{state.WorkstreamInterrupted{Workstream: "stopped"}, state.GateAsked{Verdict: verdict("open (loop)")}, state.PauseAsked{}, state.WorkstreamStarted{Workstream: "cut off", Attempt: 1}},
		{state.SessionFailed{}, state.HookEnded{Event: "failed", Hook: 1, Error: "no mail"}},
	}
	commits := make([]state.Commit, len(events))
	for i, e := range events {
		commits[i] = state.Commit{Seq: uint64(i + 1), Time: start().Add(time.Duration(i+1) * time.Second), Events: e}
	}
	return commits
}

func play(tr *Tracer, commits []state.Commit, e runner.Ending) error {
	tr.Begin(runner.Beginning{PRD: "PRD-009", Session: "5b2f", Resumed: true, Git: &state.Git{Branch: "main", Commit: "abcd"}, Plan: &plan.Plan{Phases: []plan.Phase{{Steps: []plan.Step{{Decision: plan.Reuse}, {Decision: plan.Run}}}}}})
	for _, c := range commits {
		tr.Commit(c)
	}
	tr.o.Now = func() time.Time { return start().Add(time.Minute) }
	tr.End(e)
	return tr.Close(context.Background())
}

// TestSpans compares the spans of a run with a golden file, in both encodings.
func TestSpans(t *testing.T) {
	t.Parallel()
	golden := filepath.Join("testdata", "spans.json")
	for _, protocol := range []string{protocolJSON, protocolProtobuf} {
		for _, compression := range []string{"none", "gzip"} {
			c := newCollector(t)
			tr := newTracer(t, c, map[string]string{
				"OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_COMPRESSION": compression, "OTEL_EXPORTER_OTLP_HEADERS": "key=secret", "OTEL_RESOURCE_ATTRIBUTES": "team=a",
				"TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "TRACESTATE": "a=b",
			})
			tr.Root("00-0000000000000000000000000000000f-000000000000000e-01", true)
			must(t, play(tr, story(), runner.Ending{Status: state.StatusFailed, Error: &state.Failure{Outcome: "exited", ExitCode: 3, Message: "it is bad"}}))
			if *update && protocol == protocolJSON {
				must(t, os.WriteFile(golden, []byte(c.sent()), 0o600))
			}
			want, err := os.ReadFile(golden)
			must(t, err)
			if diff := cmp.Diff(string(want), c.sent()); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", protocol, compression, diff)
			}
			if _, h := c.received(); h.Get("Key") != "secret" || h.Get("User-Agent") != "runner/1.0" {
				t.Errorf("%s: headers %v", protocol, h)
			}
		}
	}
}

// TestRoot holds which trace a run is in, and which run before it has a link to.
func TestRoot(t *testing.T) {
	t.Parallel()
	const parent, before = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0", "00-000000000000000000000000000000ab-00000000000000cd-01"
	for name, c := range map[string]struct {
		variables map[string]string
		previous  string
		resumes   bool
		want      string // the traceparent of the run; "": it is not sent
		link      bool
	}{
		"first":                       {want: "00-00000000000000000000000000000001-0000000000000002-01"},
		"below another":               {variables: map[string]string{"TRACEPARENT": parent + "1"}, want: "00-0af7651916cd43dd8448eb211c80319c-0000000000000001-01"},
		"below another, not sampled":  {variables: map[string]string{"TRACEPARENT": parent + "0"}},
		"resumed":                     {previous: before, resumes: true, want: "00-000000000000000000000000000000ab-0000000000000001-01", link: true},
		"resumed below another":       {variables: map[string]string{"TRACEPARENT": parent + "1"}, previous: before, resumes: true, want: "00-0af7651916cd43dd8448eb211c80319c-0000000000000001-01", link: true},
		"after a complete session":    {previous: before, want: "00-00000000000000000000000000000001-0000000000000002-01", link: true},
		"resumed, but not traced yet": {resumes: true, want: "00-00000000000000000000000000000001-0000000000000002-01"},
		"a damaged record":            {previous: "x", resumes: true, want: "00-00000000000000000000000000000001-0000000000000002-01"},
	} {
		receiver := newCollector(t)
		tr := newTracer(t, receiver, c.variables)
		if got := tr.Root(c.previous, c.resumes); got != c.want || (len(tr.links) > 0) != c.link {
			t.Errorf("%s: %q, want %q; %d links", name, got, c.want, len(tr.links))
		}
		must(t, play(tr, story(), runner.Ending{Status: state.StatusComplete}))
		if n, _ := receiver.received(); n > 0 != (c.want != "") {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

// TestEnvironment holds what a process gets, so that its spans are below that of its attempt.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	parent := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
	below := func(flags string) string {
		root := spanContext{trace: traceID{0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c}, span: spanID{7: 1}}
		return fmt.Sprintf("00-%x-%x-%s", root.trace, root.below("WS1", 2).span, flags)
	}
	for name, c := range map[string]struct {
		variables map[string]string
		want      map[string]string
	}{
		"sampled":                      {map[string]string{"TRACEPARENT": parent + "01"}, map[string]string{"TRACEPARENT": below("01")}},
		"not sampled":                  {map[string]string{"TRACEPARENT": parent + "00"}, map[string]string{"TRACEPARENT": below("00")}},
		"with a state":                 {map[string]string{"TRACEPARENT": parent + "01", "TRACESTATE": "a=b"}, map[string]string{"TRACEPARENT": below("01"), "TRACESTATE": "a=b"}},
		"other ways to hand on":        {map[string]string{"TRACEPARENT": parent + "01", "OTEL_PROPAGATORS": "b3"}, nil},
		"a state that belongs to none": {map[string]string{"TRACESTATE": "a=b"}, map[string]string{"TRACEPARENT": "", "TRACESTATE": ""}},
	} {
		tr := newTracer(t, newCollector(t), c.variables)
		tr.Root("", false)
		got := tr.Environment("WS1", 2)
		if c.want["TRACEPARENT"] == "" && got != nil {
			got["TRACEPARENT"] = ""
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	tr := newTracer(t, newCollector(t), nil)
	root := tr.Root("", false)
	if got := tr.Environment("", 0)["TRACEPARENT"]; got != root {
		t.Errorf("what is no attempt is below %s, want %s", got, root)
	}
}

// TestResults holds the result of a run for each way in which it ends.
func TestResults(t *testing.T) {
	t.Parallel()
	failed := &state.Failure{Message: "m"}
	for want, e := range map[string]runner.Ending{
		"success":      {Status: state.StatusComplete},
		"failure m":    {Status: state.StatusFailed, Error: failed},
		"cancellation": {Status: state.StatusPaused, Signal: "SIGINT", Error: failed},
		"paused":       {Status: state.StatusPaused, Pause: &state.Pause{Reason: state.PauseApproval}},
		"timeout":      {Status: state.StatusPaused, Pause: &state.Pause{Reason: state.PauseTimeout}},
		"failure the run could not be recorded to its end": {Status: state.StatusInProgress},
	} {
		got, f := resultOfRun(e)
		if f != nil {
			got += " " + string(f.Message)
		}
		if got != want {
			t.Errorf("%+v: %s, want %s", e, got, want)
		}
	}
	if got, _ := resultOfRun(runner.Ending{Status: state.StatusPaused, Pause: &state.Pause{Reason: state.PauseChosen}}); got != success {
		t.Errorf("what was chosen is done: %s", got)
	}
}

// TestLost holds what the user is told, which has no secret in it, and that other requests that a
// collector answers with are not made.
func TestLost(t *testing.T) {
	t.Parallel()
	redirected := newCollector(t)
	for name, c := range map[string]struct {
		answer    http.HandlerFunc
		variables map[string]string
		want      string // "": nothing is lost
	}{
		"taken":   {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }},
		"no body": {answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("what?")) }},
		"denied":  {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, want: "2 of 2 spans did not reach ADDRESS: it answers 401 Unauthorized"},
		"busy": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, want: "2 of 2 spans did not reach ADDRESS: it answers 503 Service Unavailable"},
		"elsewhere": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", redirected.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, want: "2 of 2 spans did not reach ADDRESS: it answers 307 Temporary Redirect"},
		"rejected": {answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("\x0a\x09\x08\x01\x12\x05no \xff!"))
		}, want: "1 of 2 spans did not reach ADDRESS: it rejects them: no �!"},
		"rejected, in JSON": {
			answer: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "no"}}`))
			},
			variables: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": protocolJSON}, want: "2 of 2 spans did not reach ADDRESS: it rejects them: no",
		},
		"gone": {answer: func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, want: "2 of 2 spans did not reach ADDRESS: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(t)
			collector.answer = c.answer
			variables := map[string]string{commonEndpoint: strings.Replace(collector.URL, "http://", "http://user:secret@", 1) + "?key=secret"}
			for name, value := range c.variables {
				variables[name] = value
			}
			tr := newTracer(t, collector, variables)
			tr.Root("", false)
			err := play(tr, []state.Commit{{Events: []state.Event{state.PhaseStarted{Phase: "p"}}}}, runner.Ending{Status: state.StatusComplete})
			got := ""
			if lost := (*Error)(nil); errors.As(err, &lost) {
				got = strings.ReplaceAll(err.Error(), collector.URL+"/v1/traces", "ADDRESS")
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			_, headers := collector.received()
			if user, password, _ := (&http.Request{Header: headers}).BasicAuth(); user != "user" || password != "secret" {
				t.Errorf("the credentials of the address did not arrive: %v", headers)
			}
		})
	}
	t.Cleanup(func() {
		if n, _ := redirected.received(); n > 0 {
			t.Error("it followed a redirection")
		}
	})
}

// TestNotBegun: a run that does not begin sends nothing, and leaves nothing behind.
func TestNotBegun(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	tr := newTracer(t, c, nil)
	tr.Root("", false)
	tr.End(runner.Ending{})
	must(t, tr.Close(t.Context()))
	if n, _ := c.received(); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// TestManyEvents: a span has a bounded number of events, and says how many it has not.
func TestManyEvents(t *testing.T) {
	t.Parallel()
	s := &span{}
	for range maxEvents + 3 {
		s.event(start(), "x")
	}
	if len(s.Events) != maxEvents || s.DroppedEvents != 3 {
		t.Errorf("%d events, %d dropped", len(s.Events), s.DroppedEvents)
	}
}
