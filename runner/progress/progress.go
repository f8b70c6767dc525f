// Package progress follows a run from its events: what is done, what runs and what waits.
//
// It holds what every display of a run in progress needs, and nothing of how it looks: no text,
// no colour, no width. Nothing here reads a clock or a file; times are those of the events.
// Package view draws it.
//
// Begin with Progress. Progress.Commit costs the same for each event, however many workstreams
// the run has.
package progress

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// Progress is how far a run has come. New returns one; the zero value must not be used. It is not safe
// for use by several goroutines.
type Progress struct {
	phases  []*Phase
	current *Phase
	steps   map[string]*step // by the name of the workstream
	active  map[string]*Active
	order   int // of the starts
	slowest []Took
}

// Took is how long a workstream took in this run: all its attempts, with their pauses and gates.
type Took struct {
	Name string
	Time time.Duration
}

// maxSlowest is how many of the slowest workstreams are known.
const maxSlowest = 3

// Phase is a phase of the run.
type Phase struct {
	Name      string
	Number    int  // from 1
	Ahead     bool // the run has not come to it
	Began     time.Time
	Iteration int // of a phase that repeats, from 2; 0 for the first
	Counts

	steps []*step
}

// Counts are numbers of workstreams.
type Counts struct {
	Total   int // those of the phase
	Done    int // completed in this run
	Reused  int // done before this run, or taken from the cache
	Failed  int // they failed, or a gate of them did
	Allowed int // failed, which the pipeline allows
	Skipped int
	Running int // an attempt runs, or a gate judges it
	Waiting int // the next attempt waits
	Asking  int // a gate waits for an approval
}

// Settled returns the number of workstreams that have ended.
func (c Counts) Settled() int { return c.Done + c.Reused + c.Failed + c.Allowed + c.Skipped }

// Activity is what an active step does.
type Activity int

// The activities.
const (
	Working  Activity = iota // an attempt at a workstream runs
	Judging                  // a gate is being judged
	Retrying                 // the next attempt waits until Active.Until
	Asking                   // a gate waits for an approval
)

// Active is a workstream or a gate that runs or waits.
type Active struct {
	Name     string // of the workstream, or the label of the gate
	Log      string // the name of its logs
	Block    string // the workstream that it, or the owner of the gate, is an instance of; "": of none
	Activity Activity
	Attempt  int
	Since    time.Time // when the activity began
	Until    time.Time // when the next attempt begins, for Retrying
	Message  string    // what an approval asks, or why the attempt before failed

	order int
}

// status is the status of a workstream in this run.
type status int

const (
	pending status = iota
	running
	waiting
	asking
	done
	reused
	failed
	allowed
	skipped
)

// step is a workstream of the run.
type step struct {
	phase  *Phase
	status status
	began  time.Time // the first attempt of this run
	cached bool      // its work was taken from the cache
}

// New returns the progress of a run that begins.
func New(b runner.Beginning) *Progress {
	p := &Progress{steps: map[string]*step{}, active: map[string]*Active{}}
	if b.Plan == nil {
		return p
	}
	for _, planned := range b.Plan.Phases {
		phase := &Phase{Name: planned.Name, Number: planned.Number}
		p.phases = append(p.phases, phase)
		for _, s := range planned.Steps {
			p.addStep(phase, s)
		}
		phase.Ahead = phase.Total == 0 || phase.Settled() < phase.Total
	}
	return p
}

func (p *Progress) addStep(phase *Phase, s plan.Step) {
	if s.Kind != plan.WorkstreamStep {
		return
	}
	p.addWorkstream(phase, s.Name)
	switch s.Decision {
	case plan.Reuse:
		if s.Failed {
			p.setStatus(s.Name, allowed)
			return
		}
		p.setStatus(s.Name, reused)
	case plan.Skipped:
		p.setStatus(s.Name, skipped)
	case plan.Run, plan.Rerun, plan.Cached, plan.Judge, plan.Depends, plan.Blocked, plan.Uncertain:
	}
}

func (p *Progress) addWorkstream(phase *Phase, name string) *step {
	s := &step{phase: phase}
	p.steps[name] = s
	phase.steps = append(phase.steps, s)
	phase.Total++
	return s
}

// Phases returns the phases of the run, in their order. The caller must not change them.
func (p *Progress) Phases() []*Phase { return p.phases }

// Current returns the phase that runs, nil if none does.
func (p *Progress) Current() *Phase { return p.current }

// Counts returns the numbers of the workstreams of all phases.
func (p *Progress) Counts() Counts {
	var sum Counts
	for _, phase := range p.phases {
		sum.Total += phase.Total
		sum.Done += phase.Done
		sum.Reused += phase.Reused
		sum.Failed += phase.Failed
		sum.Allowed += phase.Allowed
		sum.Skipped += phase.Skipped
		sum.Running += phase.Running
		sum.Waiting += phase.Waiting
		sum.Asking += phase.Asking
	}
	return sum
}

// Slowest returns the three workstreams that took longest in this run, the slowest first.
func (p *Progress) Slowest() []Took { return p.slowest }

// Active returns the workstreams and gates that run or wait, in the order in which they began to.
func (p *Progress) Active() []Active {
	all := make([]Active, 0, len(p.active))
	for _, a := range p.active {
		all = append(all, *a)
	}
	slices.SortFunc(all, func(a, b Active) int { return cmp.Compare(a.order, b.order) })
	return all
}

// Commit takes note of the events of a commit.
func (p *Progress) Commit(c state.Commit) {
	for _, e := range c.Events {
		p.apply(c.Time, e)
	}
}

func (p *Progress) apply(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.PhaseStarted:
		p.current = p.phaseNamed(e.Phase)
		p.current.Ahead, p.current.Began = false, at
	case state.PhaseCompleted:
		p.complete(p.phaseNamed(e.Phase))
	case state.PhaseSkipped:
		p.skip(p.phaseNamed(e.Phase))
	case state.PhaseExpanded:
		p.expand(e)
	case state.PhaseRepeated:
		p.repeat(p.phaseNamed(e.Phase), e.Iteration)
	case state.GateStarted:
		p.activate(e.Gate, Active{Activity: Judging, Attempt: e.Attempt, Since: at})
		if _, owner, _ := state.CutLabel(e.Gate); p.steps[owner] != nil && p.steps[owner].status == failed { // it is judged again
			p.setStatus(owner, running)
		}
	case state.GatePassed:
		delete(p.active, e.Gate)
	case state.GateFailed:
		delete(p.active, e.Gate)
		p.setOwnerStatus(e.Gate, failed)
	case state.GateAsked:
		p.activate(e.Gate, Active{Activity: Asking, Since: at, Message: string(e.Message)})
		p.setOwnerStatus(e.Gate, asking)
	case state.GateApproved:
		delete(p.active, e.Gate)
		p.setOwnerStatus(e.Gate, running)
	case state.GateRejected:
		delete(p.active, e.Gate)
		p.setOwnerStatus(e.Gate, failed)
	case state.GateSkipped:
		delete(p.active, e.Gate)
	case state.GateVoided:
		delete(p.active, e.Gate)
	default:
		p.applyToWorkstream(at, e)
	}
}

func (p *Progress) applyToWorkstream(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.WorkstreamStarted:
		p.activate(e.Workstream, Active{Activity: Working, Attempt: e.Attempt, Since: at})
		if s := p.setStatus(e.Workstream, running); s != nil && s.began.IsZero() {
			s.began = at
		}
	case state.WorkstreamAttemptFailed:
		until := at.Add(time.Duration(e.RetryInMS) * time.Millisecond)
		p.activate(e.Workstream, Active{Activity: Retrying, Attempt: e.Attempt + 1, Since: at, Until: until, Message: string(e.Error.Message)})
		p.setStatus(e.Workstream, waiting)
	case state.WorkstreamSucceeded: // its gates come next
		p.leave(e.Workstream, running)
		if s := p.steps[e.Workstream]; s != nil {
			s.cached = e.Work.Cached != nil
		}
	case state.WorkstreamCompleted:
		if s := p.steps[e.Workstream]; e.Work != nil && e.Work.Cached != nil || s != nil && s.cached {
			p.leave(e.Workstream, reused)
			return
		}
		p.recordDuration(e.Workstream, at)
		p.leave(e.Workstream, done)
	case state.WorkstreamFailed:
		p.recordDuration(e.Workstream, at)
		if e.Allowed {
			p.leave(e.Workstream, allowed)
			return
		}
		p.leave(e.Workstream, failed)
	case state.WorkstreamSkipped:
		p.leave(e.Workstream, skipped)
	case state.WorkstreamInterrupted:
		p.leave(e.Workstream, pending)
	case state.WorkstreamUncertain:
		p.leave(e.Workstream, pending)
	case state.WorkstreamInvalidated:
		p.leave(e.Workstream, pending)
	case state.WorkstreamResolved:
		if e.Resolution == state.ResolvedDone {
			p.leave(e.Workstream, done)
		}
	}
}

// complete ends a phase. Workstreams about which nothing was recorded were found unchanged.
func (p *Progress) complete(phase *Phase) {
	phase.Ahead, p.current = false, nil
	for _, s := range phase.steps {
		if s.status == pending {
			s.changeStatus(reused)
		}
	}
}

// repeat begins another iteration of a phase, in which all its workstreams run.
func (p *Progress) repeat(phase *Phase, iteration int) {
	phase.Iteration = iteration
	for _, s := range phase.steps {
		s.changeStatus(pending)
		s.began, s.cached = time.Time{}, false
	}
}

// skip passes over a phase with all its workstreams.
func (p *Progress) skip(phase *Phase) {
	phase.Ahead = false
	if p.current == phase {
		p.current = nil
	}
	for _, s := range phase.steps {
		s.changeStatus(skipped)
	}
}

// phaseNamed returns a phase by its name. One that the plan does not have is added.
func (p *Progress) phaseNamed(name string) *Phase {
	for _, phase := range p.phases {
		if phase.Name == name {
			return phase
		}
	}
	phase := &Phase{Name: name, Number: len(p.phases) + 1}
	p.phases = append(p.phases, phase)
	return phase
}

// expand adds the instances that a phase has now.
func (p *Progress) expand(e state.PhaseExpanded) {
	phase := p.phaseNamed(e.Phase)
	for _, shape := range e.Shape.Phases {
		if shape.Name != e.Phase {
			continue
		}
		phase.Counts, phase.steps = Counts{}, nil
		for _, ws := range shape.Workstreams {
			had := p.steps[ws.Name]
			s := p.addWorkstream(phase, ws.Name)
			if had != nil {
				s.began = had.began
				s.changeStatus(had.status)
			}
		}
	}
}

// activate makes a step active.
func (p *Progress) activate(name string, a Active) {
	p.order++
	a.Name, a.Log, a.Block, a.order = name, name, blockOf(name), p.order
	if _, owner, ok := state.CutLabel(name); ok {
		a.Log, a.Block = disk.GateLog(name), blockOf(owner)
	}
	p.active[name] = &a
}

// leave ends the activity of a workstream.
func (p *Progress) leave(name string, to status) {
	delete(p.active, name)
	p.setStatus(name, to)
}

// recordDuration takes note of how long a workstream took that has ended.
func (p *Progress) recordDuration(name string, at time.Time) {
	s := p.steps[name]
	if s == nil || s.began.IsZero() {
		return
	}
	took := Took{name, at.Sub(s.began)}
	s.began = time.Time{}
	p.slowest = slices.DeleteFunc(p.slowest, func(t Took) bool { return t.Name == name }) // it ran earlier in this run, too
	i, _ := slices.BinarySearchFunc(p.slowest, took, func(a, b Took) int { return cmp.Compare(b.Time, a.Time) })
	p.slowest = slices.Insert(p.slowest, i, took)
	p.slowest = p.slowest[:min(len(p.slowest), maxSlowest)]
}

// setStatus gives a workstream another status, counts it there, and returns it, nil if the run does not
// have it.
func (p *Progress) setStatus(name string, to status) *step {
	s := p.steps[name]
	switch {
	case s == nil && p.current == nil:
		return nil
	case s == nil:
		s = p.addWorkstream(p.current, name)
	}
	s.changeStatus(to)
	return s
}

// setOwnerStatus gives another status to the workstream that a gate belongs to. That of a phase has none.
func (p *Progress) setOwnerStatus(gate string, to status) {
	if _, owner, _ := state.CutLabel(gate); p.steps[owner] != nil {
		p.setStatus(owner, to)
	}
}

// changeStatus gives a workstream another status, and counts it there.
func (s *step) changeStatus(to status) {
	if n := s.phase.counter(s.status); n != nil {
		*n--
	}
	if n := s.phase.counter(to); n != nil {
		*n++
	}
	s.status = to
}

// counter returns the field that counts the workstreams with a status, nil for pending ones.
func (c *Counts) counter(of status) *int {
	switch of {
	case running:
		return &c.Running
	case waiting:
		return &c.Waiting
	case asking:
		return &c.Asking
	case done:
		return &c.Done
	case reused:
		return &c.Reused
	case failed:
		return &c.Failed
	case allowed:
		return &c.Allowed
	case skipped:
		return &c.Skipped
	case pending:
	}
	return nil
}

// blockOf returns the name of the workstream that an instance belongs to, "" if the name is not that of
// an instance.
func blockOf(name string) string {
	if base, _, ok := strings.Cut(name, "["); ok && strings.HasSuffix(name, "]") {
		return base
	}
	return ""
}
