package main

import (
	"context"
	"fmt"

	"prdrunner/cmd/runner/cli"
	"prdrunner/runner/trace"
	"prdrunner/runner/view"
)

// openTracer makes what traces the run, if the variables of OpenTelemetry ask for that.
func (b *build) openTracer() {
	settings, problems := trace.Read(trace.Process{Lookup: b.env.Lookup, ReadFile: cli.ReadFile})
	for _, problem := range problems {
		fmt.Fprintln(b.env.Stderr, "Warning:", view.OneLine(problem))
	}
	if settings != nil {
		b.tracer = trace.New(settings, trace.Options{PRD: b.Pipeline.ID, Version: b.env.Version, Now: b.env.Now})
	}
}

// closeTracer sends the last spans, and tells which were lost. The session is closed before, so
// that a slow collector does not keep it from others. A signal ends it.
func (b *build) closeTracer(ctx context.Context) {
	if b.tracer == nil {
		return
	}
	if err := b.tracer.Close(ctx); err != nil {
		fmt.Fprintf(b.env.Stderr, "Warning: the run was not affected, but %s; OTEL_SDK_DISABLED=true turns traces off\n", view.OneLine(err.Error()))
	}
}
