// Package trace sends what a run does as OpenTelemetry traces, by OTLP over HTTP.
//
//	variables → Read → Settings → New → Tracer → exporter → collector
//
// A Tracer is a runner.View: it makes spans from events (spans.go), which are durable. It is also
// the runner.Tracer that places the run in a trace, and its processes in the run. The exporter
// sends spans in batches while the run goes on (exporter.go, http.go). A collector that is slow or
// gone holds up no run and fails none; Close says which spans were lost.
//
// The requests are encoded here (otlp.go, protobuf.go), because the SDK of OpenTelemetry would
// make the program a third larger, and the start of every command slower.
//
// Begin with Tracer. What a span holds of a new event belongs in spans.go.
package trace

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// interruptedGrace is how long the last spans of a run that a signal has ended may take.
const interruptedGrace = time.Second

// Options say what a Tracer needs besides its settings. PRD, Now and Version are required.
type Options struct {
	PRD     string
	Version string // of Runner
	Now     func() time.Time
	// Random fills bytes with random ones; nil: as package crypto/rand does.
	Random func([]byte)
}

// Tracer makes the spans of a run, and sends them. Root begins them, and Close ends them.
type Tracer struct {
	settings *Settings
	o        Options
	root     spanContext
	links    []link
	began    time.Time
	spans    *spans    // nil before Begin, and if the trace is not sampled
	exporter *exporter // as spans
	client   *client
	grace    time.Duration // that Close has
}

// New returns a Tracer. It sends nothing before Begin.
func New(s *Settings, o Options) *Tracer {
	if o.Random == nil {
		o.Random = func(b []byte) { _, _ = rand.Read(b) } // it never fails
	}
	return &Tracer{settings: s, o: o, grace: s.timeout}
}

// Root implements runner.Tracer. The root span is below the span that TRACEPARENT names. Without
// one it has no parent, and is in the trace of the run before if it resumes that session. It has a
// link to the root span of the run before.
func (t *Tracer) Root(previous string, resumes bool) string {
	before, known := parseTraceparent(previous)
	t.began = t.o.Now()
	t.root.state = t.settings.parent.state
	switch {
	case t.settings.parent.span != (spanID{}):
		t.root.trace = t.settings.parent.trace
	case known && resumes:
		t.root.trace = before.trace
	default:
		t.o.Random(t.root.trace[:])
	}
	t.o.Random(t.root.span[:])
	t.root.sampled = t.settings.sampler.samples(t.root.trace, t.settings.parent)
	if known {
		t.links = []link{{TraceID: before.trace, SpanID: before.span, Attributes: []attribute{text("runner.link", "previous run")}}}
	}
	if !t.root.sampled {
		return ""
	}
	return t.root.traceparent()
}

// Environment implements runner.Tracer.
func (t *Tracer) Environment(name string, attempt int) map[string]string {
	if !t.settings.propagate {
		return nil
	}
	at := t.root
	if name != "" {
		at = t.root.below(name, attempt)
	}
	env := map[string]string{"TRACEPARENT": at.traceparent()}
	if t.settings.hasState { // one that belongs to no valid TRACEPARENT is emptied
		env["TRACESTATE"] = at.state
	}
	return env
}

// Begin implements runner.View.
func (t *Tracer) Begin(b runner.Beginning) {
	if !t.root.sampled {
		return
	}
	resource := resource{append(t.settings.resource,
		text("service.version", t.o.Version), text("cicd.pipeline.name", t.o.PRD), text("cicd.pipeline.run.id", b.Session))}
	t.client = newClient(t.settings, resource, scope{Name: "runner", Version: t.o.Version})
	t.exporter = newExporter(t.client.send, t.settings.delay, t.settings.timeout)
	t.spans = newSpans(t, b)
}

// Commit implements runner.View.
func (t *Tracer) Commit(c state.Commit) {
	if t.spans == nil {
		return
	}
	for i, e := range c.Events {
		t.spans.apply(c.At(i), e)
	}
}

// Warn implements runner.View.
func (t *Tracer) Warn(string) {}

// Stop implements runner.View.
func (t *Tracer) Stop(runner.Stopping) {}

// Await implements runner.View.
func (t *Tracer) Await(runner.Awaited) {}

// End implements runner.View.
func (t *Tracer) End(e runner.Ending) {
	if e.Signal != "" {
		t.grace = min(t.grace, interruptedGrace)
	}
	if t.spans != nil {
		t.spans.end(t.o.Now(), e)
	}
}

// Close sends the last spans. It waits for the collector as long as the settings say, less if a
// signal has ended the run, and no longer than ctx. It returns an *Error if spans were lost.
func (t *Tracer) Close(ctx context.Context) error {
	if t.exporter == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.grace)
	defer cancel()
	err := t.exporter.close(ctx)
	t.client.http.CloseIdleConnections()
	if lost := (*Error)(nil); errors.As(err, &lost) {
		lost.To = withoutCredentials(t.settings.endpoint)
	}
	return err
}

// withoutCredentials returns a URL without the parts that may hold a password or a token.
func withoutCredentials(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
