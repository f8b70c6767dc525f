package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// collectorVariable names the program of .ci/collector, an OpenTelemetry Collector. .ci/pipeline
// builds it.
const collectorVariable = "TEST_COLLECTOR"

// realCollector is a collector that the test has started.
type realCollector struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
	url   string
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func startCollector(t *testing.T) *realCollector {
	t.Helper()
	program := os.Getenv(collectorVariable)
	if program == "" {
		skipUnlessCI(t, collectorVariable+" must name the collector: go build -C .ci/collector -o FILE .")
	}
	c := &realCollector{t: t, cmd: exec.Command(program)}
	stdin, err := c.cmd.StdinPipe()
	noError(t, err)
	stdout, err := c.cmd.StdoutPipe()
	noError(t, err)
	c.cmd.Stderr = os.Stderr
	noError(t, c.cmd.Start())
	c.stdin, c.lines = stdin, bufio.NewScanner(stdout)
	c.lines.Buffer(nil, 1<<20)
	if !c.lines.Scan() {
		t.Fatal("the collector has ended: ", c.lines.Err())
	}
	c.url = c.lines.Text()
	return c
}

// receivedSpan is a span that the collector has received.
type receivedSpan struct {
	Trace      string `json:"traceId"`
	ID         string `json:"spanId"`
	Parent     string `json:"parentSpanId"`
	State      string `json:"traceState"`
	Name       string
	Start      string `json:"startTimeUnixNano"`
	End        string `json:"endTimeUnixNano"`
	Attributes []receivedAttribute
	Events     []struct{ Name string }
	Links      []struct {
		Trace string `json:"traceId"`
		ID    string `json:"spanId"`
	}
	Status struct {
		Code    int
		Message string
	}
}

type receivedAttribute struct {
	Key   string
	Value map[string]any
}

// attribute returns the value of an attribute of a span, "" if it has none.
func (s *receivedSpan) attribute(key string) string {
	for _, a := range s.Attributes {
		for _, v := range a.Value {
			if a.Key == key {
				return fmt.Sprint(v)
			}
		}
	}
	return ""
}

// end ends the collector, and returns the spans that it has received, by the order of their start.
func (c *realCollector) end() []*receivedSpan {
	c.t.Helper()
	noError(c.t, c.stdin.Close())
	var all []*receivedSpan
	for c.lines.Scan() {
		var request struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []*receivedSpan }
			}
		}
		noError(c.t, json.Unmarshal(c.lines.Bytes(), &request))
		for _, r := range request.ResourceSpans {
			for _, s := range r.ScopeSpans {
				all = append(all, s.Spans...)
			}
		}
	}
	noError(c.t, c.lines.Err())
	noError(c.t, c.cmd.Wait())
	slices.SortStableFunc(all, func(a, b *receivedSpan) int { return strings.Compare(a.Start, b.Start) })
	return all
}

// describeSpans returns the tree of spans, one a line.
func describeSpans(all []*receivedSpan, below string, depth int) []string {
	var lines []string
	for _, s := range all {
		if s.Parent != below {
			continue
		}
		line := strings.Repeat("  ", depth) + s.Name
		for _, key := range []string{"runner.attempt", "cicd.pipeline.result", "cicd.pipeline.task.run.result", "error.type", "process.exit.code"} {
			if value := s.attribute(key); value != "" {
				line += " " + key[strings.LastIndex(key, ".")+1:] + "=" + value
			}
		}
		if s.Status.Code == 2 {
			line += " error: " + s.Status.Message
		}
		for _, e := range s.Events {
			line += " (" + e.Name + ")"
		}
		lines = append(append(lines, line), describeSpans(all, s.ID, depth+1)...)
	}
	return lines
}

const tracedPipeline = `pipeline "PRD-001" {
  phase "build" {
    workstream "flaky" {
      script = <<-E
        echo $TRACEPARENT > flaky.$RUNNER_ATTEMPT
        test $RUNNER_ATTEMPT -gt 1
      E
      retry {
        attempts         = 2
        initial_interval = "1ms"
      }
      gate "fixed" { command = ["sh", "-c", "echo $TRACEPARENT > gate; test -e fixed"] }
    }
  }
  phase "release" {
    workstream "publish" { script = "echo $TRACEPARENT $TRACESTATE > publish" }
    gate "sure" {
      approval { message = "Sure?" }
    }
  }
}
`

// TestTrace traces a pipeline with a retry, a gate that fails, and a resume after that, for a real
// OpenTelemetry Collector, and looks at what arrived there.
func TestTrace(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http/protobuf", "http/json"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			traceWith(t, protocol)
		})
	}
}

func traceWith(t *testing.T, protocol string) {
	collector := startCollector(t)
	binary, dir := buildBinary(t), t.TempDir()
	noError(t, os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte(tracedPipeline), 0o600))
	build := func(code int, variables []string, arguments ...string) {
		t.Helper()
		cmd := exec.Command(binary, append([]string{"build", "PRD-001"}, arguments...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.url, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol, "OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "TRACEPARENT=", "TRACESTATE=")
		cmd.Env = append(cmd.Env, variables...)
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code || strings.Contains(string(out), "Warning") {
			t.Fatalf("exit code %d instead of %d: %v\n%s", got, code, err, out)
		}
	}
	const job, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	build(1, nil)
	noError(t, os.WriteFile(filepath.Join(dir, "fixed"), nil, 0o600))
	build(3, nil, "--resume")
	build(3, []string{"TRACEPARENT=00-" + job + "-" + span + "-01", "TRACESTATE=vendor=1"}, "--resume", "--invalidate", "publish")
	all := collector.end()

	runs := slices.DeleteFunc(slices.Clone(all), func(s *receivedSpan) bool { return s.attribute("runner.kind") != "run" })
	if len(runs) != 3 {
		t.Fatalf("%d runs", len(runs))
	}
	tree := append(describeSpans(all, "", 0), describeSpans(all, span, 0)...)
	want := []string{
		"RUN PRD-001 result=failure type=exited code=1 error: exit code 1",
		"  phase build result=failure error: exit code 1",
		"    workstream flaky result=failure type=exited code=1 error: exit code 1",
		"      attempt flaky attempt=1 result=failure type=exited code=1 error: exit code 1",
		"      attempt flaky attempt=2 result=success",
		"        gate fixed attempt=1 result=failure type=exited code=1 error: exit code 1",
		"RUN PRD-001 result=paused (session.paused)",
		"  phase build result=success",
		"    workstream flaky result=success",
		"      gate fixed attempt=2 result=success",
		"  phase release result=paused",
		"    workstream publish result=success",
		"      attempt publish attempt=1 result=success",
		"    gate sure result=waiting (gate.asked)",
		"RUN PRD-001 result=paused (session.paused)",
		"  phase build result=success",
		"    workstream flaky result=success",
		"      gate fixed attempt=3 result=success",
		"  phase release result=paused",
		"    workstream publish result=success",
		"      attempt publish attempt=2 result=success",
		"    gate sure result=waiting (gate.asked)",
	}
	if diff := cmp.Diff(want, tree); diff != "" {
		t.Errorf("the tree (-want +got):\n%s", diff)
	}
	checkTraces(t, all, runs, job)
	checkProcesses(t, all, dir)
}

// checkTraces checks that the resume is in the trace of the run before, that a run below another
// span is in the trace of that span, and that each has a link to the run before.
func checkTraces(t *testing.T, all, runs []*receivedSpan, job string) {
	t.Helper()
	if runs[1].Trace != runs[0].Trace || runs[2].Trace != job {
		t.Errorf("the runs are in the traces %s, %s and %s", runs[0].Trace, runs[1].Trace, runs[2].Trace)
	}
	for i, run := range runs {
		switch {
		case i == 0 && len(run.Links) > 0:
			t.Errorf("the first run has the links %v", run.Links)
		case i > 0 && (len(run.Links) != 1 || run.Links[0].ID != runs[i-1].ID || run.Links[0].Trace != runs[i-1].Trace):
			t.Errorf("run %d has the links %v", i+1, run.Links)
		}
	}
	for _, s := range all {
		if (s.State == "vendor=1") != (s.Trace == job) || s.End < s.Start {
			t.Errorf("%s: trace state %q, from %s to %s", s.Name, s.State, s.Start, s.End)
		}
	}
}

// checkProcesses checks that each process got the span of its attempt.
func checkProcesses(t *testing.T, all []*receivedSpan, dir string) {
	t.Helper()
	for file, want := range map[string]struct{ name, attempt, state string }{
		"flaky.1": {"attempt flaky", "1", ""}, "flaky.2": {"attempt flaky", "2", ""}, "gate": {"gate fixed", "3", ""}, "publish": {"attempt publish", "2", " vendor=1"},
	} {
		got, err := os.ReadFile(filepath.Join(dir, file))
		noError(t, err)
		found := slices.ContainsFunc(all, func(s *receivedSpan) bool {
			return s.Name == want.name && s.attribute("runner.attempt") == want.attempt && strings.TrimSpace(string(got)) == strings.TrimSpace("00-"+s.Trace+"-"+s.ID+"-01"+want.state)
		})
		if !found {
			t.Errorf("%s got %s, which is not the span of its attempt", file, got)
		}
	}
}
