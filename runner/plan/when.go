package plan

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
)

// When is what the `when` of a workstream or a phase says before the workstream comes
// next. Nothing is known of a condition that uses results which are not final yet.
type When struct {
	skip    string          // why it is not enabled, "" when it is, or when that is not known
	broken  string          // why that can't be evaluated, whatever will be made; "" when it can
	Diags   hcl.Diagnostics // likewise
	open    []string        // workstreams that will give what the `when` uses
	blocked []string        // those of them that cannot complete
}

// and is what two conditions say of what both of them must enable.
func (e When) and(o When) When {
	if e.skip == "" && e.broken == "" {
		e.skip, e.broken, e.Diags = o.skip, o.broken, o.Diags
	}
	e.open, e.blocked = Join(e.open, o.open), Join(e.blocked, o.blocked)
	return e
}

// enabledPhase is what the `when` of a phase says.
func (pl *Planner) enabledPhase(phase *pipeline.Phase) When {
	return pl.enabling(phase.Enabled, true, phase.WhenMetrics(), "the when of its phase")
}

// enabled is what the `when` of a workstream says.
func (pl *Planner) enabled(ws *pipeline.Workstream) When {
	return pl.enabling(ws.Enabled, ws.NeedsResults(), ws.WhenMetrics(), "its when")
}

// enabling evaluates a `when`, and looks at whose results it uses. One that
// can't be evaluated fails the run when its turn comes, unless what will be made
// until then helps.
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

// watched are results that tell whose of them an expression uses, in the
// moment in which it does; of the metrics that it refers to they do so at once.
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
		} else if len(pl.running) > 0 { // any of them may set it; one is enough
			uses(pl.running[0])
		}
	}
	return r
}

// Judge takes in what a `when` comes to for certain.
func (e *When) Judge(what string, enabled bool, diags hcl.Diagnostics) {
	switch {
	case diags.HasErrors():
		e.broken, e.Diags = what+" can't be evaluated: "+firstError(diags), diags
	case !enabled:
		e.skip = what + " is false"
	}
}

// uses notes that a `when` uses a result of a workstream.
func (e *When) uses(pl *Planner, name string) {
	switch runs, blocked := pl.upstream(name); {
	case blocked:
		e.blocked = Join(e.blocked, []string{name})
	case runs:
		e.open = Join(e.open, []string{name})
	}
}

// Join adds to a list what it does not have.
func Join(list, more []string) []string {
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append(slices.Clip(list), name)
		}
	}
	return list
}

// decideOpen decides a workstream of which nobody knows yet whether it is
// enabled. That it was chosen to run again is certain: its record is taken back.
func decideOpen(s subject, step Step, done bool) Step {
	step.On = s.enabled.open
	if done && s.forced != "" && s.ws.Effect != pipeline.Once {
		return step.with(Rerun, "%s, if it is enabled, which depends on the result of %s", s.forced, List(s.enabled.open))
	}
	return step.with(Depends, "whether it runs depends on the result of %s", List(s.enabled.open))
}

// decideBroken decides a workstream whose `when` cannot be evaluated: the workstream
// fails when it comes next, and its record stays. If it was chosen to run again, its
// record is taken back in any case.
func decideBroken(s subject, step Step, done bool) Step {
	if done && s.forced != "" && s.ws.Effect != pipeline.Once {
		return step.with(Rerun, "%s, but %s", s.forced, s.enabled.broken)
	}
	return step.with(Run, "%s", s.enabled.broken)
}

// open reports whether nobody knows yet whether a workstream is enabled, and
// that matters: what may have happened already is asked about in any case.
func (s subject) open() bool { return len(s.enabled.open) > 0 && !s.cut() }

// cut reports whether a step that must happen only once was started, and its
// end never recorded.
func (s subject) cut() bool {
	return s.record != nil && s.record.Status == checkpoint.Running && s.ws.Effect == pipeline.Once
}
