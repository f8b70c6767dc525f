package sink

import (
	"cmp"
	"slices"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
)

// account is what a run has done, step by step.
type account struct {
	runner.Beginning

	phases     []*phase
	current    *phase           // the last one that has begun; not in phases before the first has
	steps      map[string]*step // by the name of the workstream, or the label of the gate
	checkpoint string           // id of the last one
	ending     runner.Ending
}

// phase is a phase of a run, with its workstreams and gates in the order of the plan.
type phase struct {
	name, title string
	skipped     state.Text // why it was passed over
	steps       []*step
}

// step is a workstream or a gate.
type step struct {
	name    string
	gate    bool
	owner   string // of a gate: the workstream or the phase that it belongs to; "": it is a workstream
	status  status
	reason  string // why its result was reused, it was skipped, or it waits
	cached  string // the earlier run whose result the work is
	attempt int    // number of the last attempt, as in the name of its log
	failure state.Failure
	failed  []attempt // the failed attempts before the last one
	took    time.Duration
	began   time.Time
}

// attempt is a failed attempt that was repeated.
type attempt struct {
	number  int
	failure state.Failure
}

// status is how far a step has come in the run.
type status int

const (
	pending status = iota
	started
	passed
	reused
	failed
	allowed // failed, which the pipeline allows
	skipped
	waiting // for a person
)

func newAccount(b runner.Beginning) *account {
	a := &account{Beginning: b, current: &phase{}, steps: map[string]*step{}}
	if b.Plan == nil {
		return a
	}
	for _, planned := range b.Plan.Phases {
		p := a.phaseNamed(planned.Name)
		p.title = planned.Title
		for _, s := range planned.Steps {
			step := a.add(p, s.Name)
			switch s.Decision {
			case plan.Reuse:
				step.status, step.reason = reused, string(s.Reason)
				if s.Failed {
					step.status = allowed
				}
			case plan.Skipped:
				step.status, step.reason = skipped, string(s.Reason)
			case plan.Run, plan.Rerun, plan.Cached, plan.Judge, plan.Depends, plan.Blocked, plan.Uncertain:
			}
		}
	}
	return a
}

// phaseNamed returns a phase by its name. One that the plan does not have is added.
func (a *account) phaseNamed(name string) *phase {
	for _, p := range a.phases {
		if p.name == name {
			return p
		}
	}
	p := &phase{name: name}
	a.phases = append(a.phases, p)
	return p
}

func (a *account) add(p *phase, name string) *step {
	s := &step{name: name}
	if _, owner, ok := state.CutLabel(name); ok {
		s.gate, s.owner = true, owner
	}
	a.steps[name] = s
	p.steps = append(p.steps, s)
	return s
}

// step returns a step by its name. One that the plan does not have is added to the phase that
// runs.
func (a *account) step(name string) *step {
	if s := a.steps[name]; s != nil {
		return s
	}
	return a.add(a.current, name)
}

// apply takes note of an event.
func (a *account) apply(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.PhaseStarted:
		a.current = a.phaseNamed(e.Phase)
	case state.PhaseSkipped:
		a.skip(a.phaseNamed(e.Phase), e.Reason)
	case state.PhaseExpanded:
		a.expand(e)
	case state.PhaseRepeated:
		for _, s := range a.phaseNamed(e.Phase).steps {
			*s = step{name: s.name, gate: s.gate, owner: s.owner}
		}
	case state.CheckpointCreated:
		a.checkpoint = e.ID
	default:
		if !a.applyToWorkstream(at, e) {
			a.applyToGate(at, e)
		}
	}
}

func (a *account) applyToWorkstream(at time.Time, e state.Event) bool {
	switch e := e.(type) {
	case state.WorkstreamStarted:
		a.step(e.Workstream).start(at, e.Attempt)
	case state.WorkstreamAttemptFailed:
		s := a.step(e.Workstream)
		s.end(at, started, "")
		s.failed = append(s.failed, attempt{e.Attempt, e.Error})
	case state.WorkstreamSucceeded:
		s := a.step(e.Workstream) // its gates come next, and take their own time
		s.succeed(e.Work)
		s.end(at, passed, "")
	case state.WorkstreamCompleted:
		s := a.step(e.Workstream)
		if e.Work != nil {
			s.succeed(*e.Work)
		}
		s.end(at, passed, "")
		if s.cached != "" {
			s.status, s.reason = reused, s.cached
		}
	case state.WorkstreamFailed:
		s, ended := a.step(e.Workstream), failed
		if e.Allowed {
			ended = allowed
		}
		s.end(at, ended, "")
		s.failure = e.Error
	case state.WorkstreamSkipped:
		a.step(e.Workstream).end(at, skipped, string(e.Reason))
	case state.WorkstreamInterrupted:
		a.step(e.Workstream).end(at, pending, cmp.Or(string(e.Reason), "interrupted"))
	case state.WorkstreamUncertain:
		a.step(e.Workstream).end(at, waiting, string(e.Error.Message))
	case state.WorkstreamInvalidated:
		a.step(e.Workstream).end(at, pending, string(e.Reason))
	case state.WorkstreamResolved:
		if e.Resolution == state.ResolvedDone {
			a.step(e.Workstream).end(at, passed, string(e.Reason))
		}
	default:
		return false
	}
	return true
}

func (a *account) applyToGate(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.GateStarted:
		a.step(e.Gate).start(at, e.Attempt)
	case state.GatePassed:
		a.step(e.Gate).end(at, passed, "")
	case state.GateFailed:
		s := a.step(e.Gate)
		s.end(at, failed, "")
		s.failure = e.Error
	case state.GateAsked:
		a.step(e.Gate).end(at, waiting, string(e.Message))
	case state.GateApproved:
		a.step(e.Gate).end(at, passed, string(e.Comment))
	case state.GateRejected:
		s := a.step(e.Gate)
		s.end(at, failed, "")
		s.failure = state.Failure{Gate: e.Gate, Message: "rejected: " + e.Reason}
	case state.GateSkipped:
		a.step(e.Gate).end(at, skipped, string(e.Reason))
	case state.GateVoided:
		a.step(e.Gate).end(at, pending, string(e.Reason))
	}
}

// reconcile gives the steps of which no event told the end the status that they have in the
// state of the session at the end of the run: those that nothing had to be done for, and gates
// whose workstream runs again.
func (a *account) reconcile(st *state.State) {
	if st == nil {
		return
	}
	if n := len(st.Checkpoints); a.checkpoint == "" && n > 0 {
		a.checkpoint = st.Checkpoints[n-1].ID
	}
	for _, s := range a.steps {
		if gate := st.Gate(s.name); s.gate && gate != nil {
			s.reconcileGate(gate)
		}
		if rec := st.Workstream(s.name); !s.gate && rec != nil {
			s.reconcileWorkstream(rec)
		}
	}
}

func (s *step) reconcileWorkstream(rec *state.Workstream) {
	switch {
	case s.status == allowed && s.failure.Message == "" && rec.Error != nil: // it failed in an earlier run
		s.failure = *rec.Error
	case s.status != pending && s.status != started:
	case rec.Status == state.Skipped:
		s.status = skipped
	case rec.Done():
		s.status, s.reason = reused, "unchanged"
	}
}

func (s *step) reconcileGate(rec *state.Gate) {
	switch {
	case rec.Status == state.Pending && (s.status == passed || s.status == reused):
		s.status, s.reason = pending, ""
	case s.status != pending && s.status != started:
	case rec.Status == state.Skipped:
		s.status = skipped
	case rec.Status == state.Passed:
		s.status, s.reason = reused, "unchanged"
	case rec.Status == state.Waiting:
		s.status, s.reason = waiting, "waits for an approval"
	}
}

// skip passes over a phase.
func (a *account) skip(p *phase, why state.Text) {
	p.skipped = why
	for _, s := range p.steps {
		s.status, s.reason = skipped, string(why)
	}
}

// expand gives a phase the instances that it has now, each followed by its gates.
func (a *account) expand(e state.PhaseExpanded) {
	for _, shape := range e.Shape.Phases {
		if shape.Name != e.Phase {
			continue
		}
		p := a.phaseNamed(e.Phase)
		p.steps = nil
		keep := func(name string) {
			if had := a.steps[name]; had != nil {
				p.steps = append(p.steps, had)
				return
			}
			a.add(p, name)
		}
		for _, ws := range shape.Workstreams {
			keep(ws.Name)
			for _, gate := range ws.Gates {
				keep(state.Label(gate, ws.Name))
			}
		}
		for _, gate := range shape.Gates {
			keep(state.Label(gate, shape.Name))
		}
	}
}

func (s *step) start(at time.Time, number int) {
	s.status, s.began, s.attempt = started, at, number
	s.reason, s.cached, s.failure = "", "", state.Failure{}
}

// end ends an attempt at a step, and counts the time that it took.
func (s *step) end(at time.Time, to status, reason string) {
	if !s.began.IsZero() {
		s.took += max(0, at.Sub(s.began))
	}
	s.status, s.reason, s.began = to, reason, time.Time{}
}

// succeed takes note of how the work of a workstream was made.
func (s *step) succeed(w state.Work) {
	if c := w.Cached; c != nil {
		s.cached = "result of session " + state.ShortSession(c.Session)
	}
}

// unplacedFailures returns the failures of the run that are those of no step: of a condition,
// the review, or a pipeline as a whole.
func (a *account) unplacedFailures() []state.Failure {
	return slices.DeleteFunc(slices.Clone(a.ending.Failures()), func(f state.Failure) bool {
		s := a.steps[view.FailedStep(f)]
		return s != nil && (s.status == failed || s.status == allowed)
	})
}

// slowest returns the workstreams that took longest in this run, at most n of them.
func (a *account) slowest(n int) []*step {
	var all []*step
	for _, p := range a.phases {
		for _, s := range p.steps {
			if s.took > 0 && !s.gate && s.status != reused {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *step) int { return cmp.Compare(b.took, a.took) })
	return all[:min(n, len(all))]
}
