package runner

// Tracer gives a run and its processes their places in a trace.
type Tracer interface {
	// Root places the root span of the run, and returns it as a traceparent of W3C Trace Context,
	// "" if the run is not to be found in a trace. previous is the root span of the run before,
	// "" if there is none; the run goes on in its trace if it resumes the same session. Runner
	// calls Root once, before the run begins.
	Root(previous string, resumes bool) string
	// Environment returns the variables by which a process continues the trace: below the span of
	// an attempt at what has this name, or below the root span for the name "".
	Environment(name string, attempt int) map[string]string
}

// placeInTrace returns the root span of the run, for its record. before is the root span of the
// run before.
func (l *loop) placeInTrace(before string, resumes bool) string {
	if l.opts.Tracer == nil {
		return ""
	}
	return l.opts.Tracer.Root(before, resumes)
}

// joinTrace has a task continue the trace below the span of an attempt, or below the root span
// for the name "". What the pipeline declares for the task takes precedence.
func (l *loop) joinTrace(env, declared map[string]string, name string, attempt int) {
	if l.opts.Tracer == nil {
		return
	}
	for variable, value := range l.opts.Tracer.Environment(name, attempt) {
		if _, ok := declared[variable]; !ok {
			env[variable] = value
		}
	}
}
