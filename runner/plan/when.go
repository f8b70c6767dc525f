package plan

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
)

// When is the outcome of the `when` of a workstream or a phase before the workstream
// starts. A condition that uses results which are not final yet has no outcome.
type When struct {
	skipReason string          // why the workstream is not enabled; "" if it is, or if that is not known
	evalError  string          // why the condition cannot be evaluated, whatever the results will be; "" if it can
	Diags      hcl.Diagnostics // the errors that evalError summarizes
	pending    []string        // workstreams whose results the condition uses and that will change
	blocked    []string        // workstreams whose results the condition uses and that cannot complete
}

// Blocked returns the workstreams because of which the workstream can't run, unless it is skipped
// in any case.
func (e When) Blocked() []string {
	if e.skipReason != "" {
		return nil
	}
	return e.blocked
}

// combine returns the outcome of two conditions that must both be true. It is for a first
// condition that is true, or not known yet.
func (e When) combine(o When) When {
	e.skipReason, e.evalError, e.Diags = o.skipReason, o.evalError, o.Diags
	e.pending, e.blocked = appendNew(e.pending, o.pending), appendNew(e.blocked, o.blocked)
	return e
}

// evaluatePhaseWhen evaluates the `when` of a phase.
func (pl *Planner) evaluatePhaseWhen(phase *pipeline.Phase) When {
	return pl.evaluateWhen(phase.Enabled, true, phase.WhenMetrics(), "the when of its phase")
}

// evaluateWorkstreamWhen evaluates the `when` of a workstream.
func (pl *Planner) evaluateWorkstreamWhen(ws *pipeline.Workstream) When {
	return pl.evaluateWhen(ws.Enabled, ws.NeedsResults(), ws.WhenMetrics(), "its when")
}

// evaluateWhen evaluates a `when` and notes the workstreams whose results it uses. A
// condition that cannot be evaluated fails the run when the run comes to it, unless
// results that other workstreams give until then make it valid.
func (pl *Planner) evaluateWhen(when func(pipeline.Results) (bool, hcl.Diagnostics), needsResults bool, metrics []string, what string) (e When) {
	enabled, diags := when(pl.watchedResults(needsResults, metrics, func(name string) { e.noteUse(pl, name) }))
	certain := len(e.pending)+len(e.blocked) == 0
	for _, name := range metrics {
		if _, set := MetricOf(pl.st, pl.p, name); !set && len(pl.rerunning) == 0 && pl.anyBlocked {
			certain = false
		}
	}
	if certain {
		e.SetOutcome(what, enabled, diags)
	}
	return e
}

// watchedResults returns results that call uses with the name of a workstream or the label
// of a gate when an expression uses its result. For the metrics that the expression refers
// to, it calls uses at once.
func (pl *Planner) watchedResults(needed bool, metrics []string, uses func(name string)) pipeline.Results {
	r := pl.Results(needed, 0)
	if known := r.Workstream; known != nil {
		r.Workstream = func(name string) (pipeline.Result, bool) {
			uses(name)
			return known(name)
		}
	}
	if known := r.Answer; known != nil {
		r.Answer = func(label string) (pipeline.Answer, bool) {
			uses(label)
			return known(label)
		}
	}
	for _, name := range metrics {
		if m, set := MetricOf(pl.st, pl.p, name); set {
			uses(m.Workstream)
		} else if len(pl.rerunning) > 0 { // any running workstream may set the metric; naming one is enough
			uses(pl.rerunning[0])
		}
	}
	return r
}

// SetOutcome sets the outcome of a condition that is known for certain.
func (e *When) SetOutcome(what string, enabled bool, diags hcl.Diagnostics) {
	switch {
	case diags.HasErrors():
		e.evalError, e.Diags = what+" can't be evaluated: "+firstError(diags), diags
	case !enabled:
		e.skipReason = what + " is false"
	}
}

// noteUse notes that the condition uses a result of a workstream.
func (e *When) noteUse(pl *Planner, name string) {
	switch runs, blocked := pl.upstreamOutcome(name); {
	case blocked:
		e.blocked = appendNew(e.blocked, []string{name})
	case runs:
		e.pending = appendNew(e.pending, []string{name})
	}
}

// appendNew returns list extended by the names in more that it lacks. It does not change
// list.
func appendNew(list, more []string) []string {
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append(slices.Clip(list), name)
		}
	}
	return list
}

// decideOpen decides a workstream while it is not known whether it is enabled. If the
// user chose it to run again, its record is taken back in any case.
func decideOpen(s subject, step Step) Step {
	step.On = s.when.pending
	if s.record.Done() && s.forced != "" && s.ws.Effect != pipeline.Once {
		return step.withDecision(Rerun, "%s, if it is enabled, which depends on the result of %s", s.forced, text.Enumerate(s.when.pending))
	}
	return step.withDecision(Depends, "whether it runs depends on the result of %s", text.Enumerate(s.when.pending))
}

// decideBroken decides a workstream whose `when` cannot be evaluated. It fails when the
// run comes to it, and its record stays. If the user chose it to run again, its record is
// taken back in any case.
func decideBroken(s subject, step Step) Step {
	if s.record.Done() && s.forced != "" && s.ws.Effect != pipeline.Once {
		return step.withDecision(Rerun, "%s, but %s", s.forced, s.when.evalError)
	}
	return step.withDecision(Run, "%s", s.when.evalError)
}

// enabledUnknown reports whether the decision waits until it is known whether the
// workstream is enabled. It does not wait for a once step that may have happened: Runner
// asks about it in any case.
func (s subject) enabledUnknown() bool { return len(s.when.pending) > 0 && !s.endUnknown() }

// endUnknown reports whether a once step was started and its end was never recorded.
func (s subject) endUnknown() bool {
	return s.record.Status == state.Running && s.ws.Effect == pipeline.Once
}
