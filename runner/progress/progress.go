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
	"fmt"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
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
	hooks   state.HooksDue // that run at the end
	pausing bool           // a person asked for a pause
	failed  bool           // a workstream, and the pipeline does not allow it
	halted  bool           // after a failure, nothing new starts in this phase
	over    bool           // the end of the run is on record, and only hooks run

	pipeline     func() *pipeline.Pipeline // nil: not known
	parallel     int                       // how many processes may run at once; 0: not known
	keepGoing    bool
	pauseAtGates bool
	waits        *waitList       // nil: not known since the last event
	approvals    approvals       // of the current phase
	answered     map[string]bool // by the label of a gate: no person is asked at it any more
}

// Phase is a phase of the run.
type Phase struct {
	Name      string
	Number    int  // from 1
	Ahead     bool // the run has not come to it
	Late      bool // it runs also after a failure, or only then
	Began     time.Time
	Took      time.Duration // in this run, of a phase that has ended; 0: it had ended before
	Iteration int           // of a phase that repeats, from 2; 0 for the first
	Counts

	afterFailure bool // it runs only after a failure
	passed       bool // it is complete
	broken       bool // a gate of the phase itself has failed
	steps        []*step
	from         int // no workstream before it in steps is pending
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
func (c Counts) Settled() int { return c.Passed() + c.Failed }

// Passed returns the number of workstreams that have ended as the pipeline allows.
func (c Counts) Passed() int { return c.Done + c.Reused + c.Allowed + c.Skipped }

// Plus returns the sums of these numbers and others.
func (c Counts) Plus(other Counts) Counts {
	return Counts{
		Total: c.Total + other.Total, Done: c.Done + other.Done, Reused: c.Reused + other.Reused, Failed: c.Failed + other.Failed,
		Allowed: c.Allowed + other.Allowed, Skipped: c.Skipped + other.Skipped, Running: c.Running + other.Running,
		Waiting: c.Waiting + other.Waiting, Asking: c.Asking + other.Asking,
	}
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
	name   string
	phase  *Phase
	status status
	cached bool // its work was taken from the cache
	idle   bool // by the plan, it takes no time: see takesNoTime
	busy   busy
}

// New returns the progress of a run that begins.
func New(b runner.Beginning) *Progress {
	p := &Progress{
		steps: map[string]*step{}, active: map[string]*Active{}, answered: map[string]bool{},
		pipeline: b.Pipeline, parallel: b.Parallel, keepGoing: b.KeepGoing, pauseAtGates: b.PauseAtGates,
	}
	if b.Plan == nil {
		return p
	}
	for _, planned := range b.Plan.Phases {
		phase := &Phase{
			Name: planned.Name, Number: planned.Number,
			Late: planned.RunOn != "" && planned.RunOn != pipeline.RunOnSucceeded, afterFailure: planned.RunOn == pipeline.RunOnFailed,
		}
		p.phases = append(p.phases, phase)
		for _, s := range planned.Steps {
			p.addStep(phase, s)
		}
		phase.Ahead = phase.Ahead || phase.Total == 0 || phase.Settled() < phase.Total
		phase.passed = !phase.Ahead && phase.Skipped < phase.Total
	}
	return p
}

func (p *Progress) addStep(phase *Phase, s plan.Step) {
	if s.Kind == plan.GateStep {
		if holds := (s.Decision == plan.Reuse || s.Decision == plan.Skipped) && !s.Review; holds {
			p.answered[s.Name] = true
		} else {
			phase.Ahead = true
		}
	}
	if s.Kind != plan.WorkstreamStep {
		return
	}
	p.addWorkstream(phase, s.Name).idle = takesNoTime(s.Decision)
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
	s := &step{name: name, phase: phase}
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
		sum = sum.Plus(phase.Counts)
	}
	return sum
}

// Commit takes note of the events of a commit.
func (p *Progress) Commit(c state.Commit) {
	p.waits = nil
	for i, e := range c.Events {
		p.apply(c.At(i), e)
	}
}

func (p *Progress) apply(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.PhaseStarted:
		p.enter(p.phaseNamed(e.Phase), at)
	case state.PhaseCompleted:
		p.complete(p.phaseNamed(e.Phase), e.DurationMS)
	case state.PhaseSkipped:
		p.skip(p.phaseNamed(e.Phase))
	case state.PhaseExpanded:
		p.expand(e)
		p.findApprovals()
	case state.PhaseRepeated:
		p.repeat(p.phaseNamed(e.Phase), e.Iteration)
		p.findApprovals()
	default:
		if !p.applyToGate(at, e) && !p.applyToOther(at, e) {
			p.applyToWorkstream(at, e)
		}
	}
}

// applyToGate takes note of an event of a gate, and reports false for any other event.
func (p *Progress) applyToGate(at time.Time, e state.Event) bool {
	switch e := e.(type) {
	case state.GateStarted:
		p.activate(e.Gate, Active{Activity: Judging, Attempt: e.Attempt, Since: at})
		if _, owner, _ := state.CutLabel(e.Gate); p.steps[owner] != nil && p.steps[owner].status == failed { // it is judged again
			p.setStatus(owner, running)
		}
	case state.GatePassed:
		p.deactivate(e.Gate, at)
		p.answer(e.Gate, !e.Review)
	case state.GateFailed:
		p.deactivate(e.Gate, at)
		p.setOwnerStatus(e.Gate, failed)
		if _, owner, _ := state.CutLabel(e.Gate); p.steps[owner] != nil {
			p.recordDuration(p.steps[owner])
		}
	case state.GateAsked:
		p.ask(e.Gate, string(e.Message), at)
	case state.GateApproved:
		p.deactivate(e.Gate, at)
		p.answer(e.Gate, true)
		p.setOwnerStatus(e.Gate, running)
	case state.GateReviewed:
		p.deactivate(e.Gate, at)
		p.answer(e.Gate, true)
		p.setOwnerStatus(e.Gate, running)
	case state.GateRejected:
		p.deactivate(e.Gate, at)
		p.setOwnerStatus(e.Gate, failed)
	case state.GateSkipped:
		p.deactivate(e.Gate, at)
		p.answer(e.Gate, true)
	case state.GateVoided:
		p.deactivate(e.Gate, at)
		p.answer(e.Gate, false)
	default:
		return false
	}
	return true
}

// applyToOther takes note of an event of the review, of a service, of hooks, or of the session, and
// reports false for any other event.
func (p *Progress) applyToOther(at time.Time, e state.Event) bool {
	switch e := e.(type) {
	case state.ReviewStarted:
		p.activate(runner.ReviewLog, Active{Name: "review", Activity: Reviewing, Attempt: e.Run, Since: at})
	case state.ReviewJudged, state.ReviewFailed, state.ReviewInterrupted:
		p.deactivate(runner.ReviewLog, at)
	case state.ServiceStarted:
		p.activate(disk.ServiceLog(e.Service), Active{Name: "service " + e.Service, Activity: Starting, Attempt: e.Attempt, Since: at})
	case state.ServiceReady:
		p.activate(disk.ServiceLog(e.Service), Active{Name: "service " + e.Service, Activity: Serving, Attempt: e.Attempt, Since: at})
	case state.ServiceEnded:
		p.deactivate(disk.ServiceLog(e.Service), at)
	case state.PauseAsked:
		p.pausing = true
	case state.SessionPaused, state.SessionFailed, state.SessionInterrupted, state.SessionCompleted:
		p.over = true
	case state.HooksDue:
		p.hooks = e
		p.runHook(1, at)
	case state.HookEnded:
		p.deactivate(disk.HookLog(e.Event, e.Hook), at)
		p.runHook(e.Hook+1, at)
	default:
		return false
	}
	return true
}

// runHook takes note that a hook begins, if there is one with this number.
func (p *Progress) runHook(number int, at time.Time) {
	if number <= p.hooks.Hooks {
		name := fmt.Sprintf("hook %d for %s", number, p.hooks.Event)
		p.activate(disk.HookLog(p.hooks.Event, number), Active{Name: name, Activity: Hooking, Since: at})
	}
}

// Await takes note of a question that an earlier run has asked and that the run waits for.
func (p *Progress) Await(q runner.Awaited) {
	p.waits = nil
	p.ask(q.Gate, q.Message, q.Since)
}

func (p *Progress) ask(gate, message string, at time.Time) {
	p.activate(gate, Active{Activity: Asking, Since: at, Message: message})
	p.setOwnerStatus(gate, asking)
}

// Pausing reports whether a person asked for a pause, so that nothing new starts.
func (p *Progress) Pausing() bool { return p.pausing }

// Failed reports whether a workstream has failed, and the pipeline does not allow it. No phase starts then but those
// that are Late.
func (p *Progress) Failed() bool { return p.failed }

// Halted reports whether nothing new starts in the current phase, after a failure.
func (p *Progress) Halted() bool { return p.halted }

// Over reports whether the end of the run is on record, so that only its hooks still run.
func (p *Progress) Over() bool { return p.over }

func (p *Progress) applyToWorkstream(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.WorkstreamStarted:
		if s := p.setStatus(e.Workstream, running); s != nil {
			s.idle = false
		}
		p.activate(e.Workstream, Active{Activity: Working, Attempt: e.Attempt, Since: at})
	case state.WorkstreamAttemptFailed:
		until := at.Add(time.Duration(e.RetryInMS) * time.Millisecond)
		p.activate(e.Workstream, Active{Activity: Retrying, Attempt: e.Attempt + 1, Since: at, Until: until, Message: string(e.Error.Message)})
		p.setStatus(e.Workstream, waiting)
	case state.WorkstreamSucceeded: // its gates come next
		p.leave(e.Workstream, running, at)
		if s := p.steps[e.Workstream]; s != nil {
			s.cached = e.Work.Cached != nil
		}
	case state.WorkstreamCompleted:
		if s := p.steps[e.Workstream]; e.Work != nil && e.Work.Cached != nil || s != nil && s.cached {
			p.leave(e.Workstream, reused, at)
			return
		}
		p.leave(e.Workstream, done, at)
		p.endWork(e.Workstream)
	case state.WorkstreamFailed:
		end := failed
		if e.Allowed {
			end = allowed
		}
		p.leave(e.Workstream, end, at)
		p.endWork(e.Workstream)
		p.failed = p.failed || !e.Allowed
		p.halted = p.halted || !e.Allowed && p.failsFast(e.Workstream)
	case state.WorkstreamSkipped:
		p.leave(e.Workstream, skipped, at)
	case state.WorkstreamInterrupted:
		p.leave(e.Workstream, pending, at)
	case state.WorkstreamUncertain:
		p.leave(e.Workstream, pending, at)
	case state.WorkstreamInvalidated:
		p.leave(e.Workstream, pending, at)
	case state.WorkstreamResolved:
		if e.Resolution == state.ResolvedDone {
			p.leave(e.Workstream, done, at)
		}
	}
}

// failsFast reports whether a failure of a workstream keeps others from starting.
func (p *Progress) failsFast(workstream string) bool {
	known := p.knownPipeline()
	if p.keepGoing || known == nil {
		return false
	}
	ws := known.Workstream(workstream)
	return ws != nil && ws.FailFast
}

// complete ends a phase that took so many milliseconds. Workstreams about which nothing was recorded were found
// unchanged.
func (p *Progress) complete(phase *Phase, tookMS int64) {
	phase.Ahead, phase.passed, p.current = false, true, nil
	if !phase.Began.IsZero() {
		phase.Took = time.Duration(tookMS) * time.Millisecond
	}
	for _, s := range phase.steps {
		if s.status == pending {
			s.changeStatus(reused)
		}
	}
}

// repeat begins another iteration of a phase, in which all its workstreams run.
func (p *Progress) repeat(phase *Phase, iteration int) {
	phase.Iteration, phase.broken = iteration, false
	for label := range p.approvals.byLabel {
		delete(p.answered, label)
	}
	for _, s := range phase.steps {
		s.changeStatus(pending)
		s.busy, s.cached, s.idle = busy{}, false, false
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
		phase.Counts, phase.steps, phase.from = Counts{}, nil, 0
		for _, ws := range shape.Workstreams {
			had := p.steps[ws.Name]
			s := p.addWorkstream(phase, ws.Name)
			if had != nil {
				s.busy, s.idle = had.busy, had.idle
				s.changeStatus(had.status)
			}
		}
	}
}

// leave ends the activity of a workstream.
func (p *Progress) leave(name string, to status, at time.Time) {
	p.deactivate(name, at)
	p.setStatus(name, to)
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
	p.approvals.settle(name, to > asking)
	return s
}

// setOwnerStatus gives another status to the workstream that a gate belongs to, or takes note of a phase whose gate
// has failed.
func (p *Progress) setOwnerStatus(gate string, to status) {
	_, owner, _ := state.CutLabel(gate)
	switch {
	case p.steps[owner] != nil:
		p.setStatus(owner, to)
	case p.current != nil && p.current.Name == owner:
		p.current.broken = to == failed
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
	if to == pending {
		s.phase.from = 0
	}
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
