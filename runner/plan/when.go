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
	skip    string          // why the workstream is not enabled; "" if it is, or if that is not known
	broken  string          // why the condition cannot be evaluated, whatever the results will be; "" if it can
	Diags   hcl.Diagnostics // the errors that broken summarizes
	open    []string        // workstreams whose results the condition uses and that will change
	blocked []string        // workstreams whose results the condition uses and that cannot complete
}

// and combines two conditions that must both be true.
func (e When) and(o When) When {
	if e.skip == "" && e.broken == "" {
		e.skip, e.broken, e.Diags = o.skip, o.broken, o.Diags
	}
	e.open, e.blocked = join(e.open, o.open), join(e.blocked, o.blocked)
	return e
}

// enabledPhase evaluates the `when` of a phase.
func (pl *Planner) enabledPhase(phase *pipeline.Phase) When {
	return pl.enabling(phase.Enabled, true, phase.WhenMetrics(), "the when of its phase")
}

// enabled evaluates the `when` of a workstream.
func (pl *Planner) enabled(ws *pipeline.Workstream) When {
	return pl.enabling(ws.Enabled, ws.NeedsResults(), ws.WhenMetrics(), "its when")
}

// enabling evaluates a `when` and notes the workstreams whose results it uses. A condition
// that cannot be evaluated fails the run when the run comes to it, unless results that
// other workstreams give until then make it valid.
func (pl *Planner) enabling(when func(pipeline.Results) (bool, hcl.Diagnostics), needsResults bool, metrics []string, what string) (e When) {
	enabled, diags := when(pl.watched(needsResults, metrics, func(name string) { e.uses(pl, name) }))
	certain := len(e.open)+len(e.blocked) == 0
	for _, name := range metrics {
		if _, set := MetricOf(pl.st, pl.p, name); !set && len(pl.running) == 0 && pl.stuck {
			certain = false
		}
	}
	if certain {
		e.Judge(what, enabled, diags)
	}
	return e
}

// watched returns results that call uses with the name of a workstream when an expression
// uses that workstream's result. For the metrics that the expression refers to, watched
// calls uses at once.
func (pl *Planner) watched(needed bool, metrics []string, uses func(workstream string)) pipeline.Results {
	r := pl.Results(needed, 0)
	if known := r.Workstream; known != nil {
		r.Workstream = func(name string) (pipeline.Result, bool) {
			uses(name)
			return known(name)
		}
	}
	for _, name := range metrics {
		if m, set := MetricOf(pl.st, pl.p, name); set {
			uses(m.Workstream)
		} else if len(pl.running) > 0 { // any running workstream may set the metric; naming one is enough
			uses(pl.running[0])
		}
	}
	return r
}

// Judge sets the outcome of a condition that is known for certain.
func (e *When) Judge(what string, enabled bool, diags hcl.Diagnostics) {
	switch {
	case diags.HasErrors():
		e.broken, e.Diags = what+" can't be evaluated: "+firstError(diags), diags
	case !enabled:
		e.skip = what + " is false"
	}
}

// uses notes that the condition uses a result of a workstream.
func (e *When) uses(pl *Planner, name string) {
	switch runs, blocked := pl.upstream(name); {
	case blocked:
		e.blocked = join(e.blocked, []string{name})
	case runs:
		e.open = join(e.open, []string{name})
	}
}

// join returns list with the names of more that it does not have. It does not change list.
func join(list, more []string) []string {
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append(slices.Clip(list), name)
		}
	}
	return list
}

// decideOpen decides a workstream while it is not known whether it is enabled. If the user
// chose it to run again, that is certain: its record is taken back.
func decideOpen(s subject, step Step, done bool) Step {
	step.On = s.enabled.open
	if done && s.forced != "" && s.ws.Effect != pipeline.Once {
		return step.with(Rerun, "%s, if it is enabled, which depends on the result of %s", s.forced, text.Enumerate(s.enabled.open))
	}
	return step.with(Depends, "whether it runs depends on the result of %s", text.Enumerate(s.enabled.open))
}

// decideBroken decides a workstream whose `when` cannot be evaluated. It fails when the
// run comes to it, and its record stays. If the user chose it to run again, its record is
// taken back in any case.
func decideBroken(s subject, step Step, done bool) Step {
	if done && s.forced != "" && s.ws.Effect != pipeline.Once {
		return step.with(Rerun, "%s, but %s", s.forced, s.enabled.broken)
	}
	return step.with(Run, "%s", s.enabled.broken)
}

// open reports whether it matters that a workstream may turn out not to be enabled. It
// does not for a once step that may have happened: Runner asks about it in any case.
func (s subject) open() bool { return len(s.enabled.open) > 0 && !s.endUnknown() }

// endUnknown reports whether a once step was started and its end was never recorded.
func (s subject) endUnknown() bool {
	return s.record != nil && s.record.Status == state.Running && s.ws.Effect == pipeline.Once
}
