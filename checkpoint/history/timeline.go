package history

import (
	"slices"
	"time"

	"prdrunner/checkpoint/state"
)

// Timeline is when something ran in a session. The zero value is ready to use.
type Timeline struct {
	Runs     []Run
	Attempts []Attempt

	running map[string]int // the indexes of attempts without an end, by name
	on      bool           // the last run has no end yet
}

// Run is a run of a session. If its end is not on record, To is when something last began or ended in it.
type Run struct {
	From, To time.Time
	Result   state.Status // "": its end is not on record
}

// Attempt is an attempt at a workstream or a judgement of a gate.
type Attempt struct {
	Kind   Kind   // Workstream or Gate
	Name   string // of the workstream, or the label of the gate
	Number int    // from 1
	From   time.Time
	To     time.Time        // zero: its end is not on record
	Result state.StepStatus // Running: its end is not on record; Waiting: a gate asks a person
}

// Commit takes note of a commit of the session. Journals may come in any order.
func (t *Timeline) Commit(c state.Commit) {
	for i, e := range c.Events {
		t.session(c.At(i), e)
		t.step(c.At(i), e)
	}
}

// session takes note of an event of a run.
func (t *Timeline) session(at time.Time, e state.Event) {
	var result state.Status
	switch e.(type) {
	case state.SessionStarted, state.SessionResumed:
		t.running = nil // the runner was killed: how long what ran then took is not on record
		t.Runs, t.on = append(t.Runs, Run{From: at, To: at}), true
		return
	case state.SessionPaused, state.SessionInterrupted:
		result = state.StatusPaused
	case state.SessionFailed:
		result = state.StatusFailed
	case state.SessionCompleted:
		result = state.StatusComplete
	}
	if result != "" {
		t.extend(at, result)
		t.on = false
	}
}

// extend has the run that is on last at least until a time.
func (t *Timeline) extend(to time.Time, result state.Status) {
	if t.on {
		run := &t.Runs[len(t.Runs)-1]
		run.To, run.Result = to, result
	}
}

// step takes note of an event of a workstream or gate.
func (t *Timeline) step(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.WorkstreamStarted:
		t.begin(Attempt{Workstream, e.Workstream, e.Attempt, at, time.Time{}, state.Running})
	case state.WorkstreamAttemptFailed:
		t.end(e.Workstream, at, state.Failed)
	case state.WorkstreamSucceeded:
		t.end(e.Workstream, at, state.Completed)
	case state.WorkstreamCompleted:
		t.end(e.Workstream, at, state.Completed)
	case state.WorkstreamFailed:
		t.end(e.Workstream, at, state.Failed)
	case state.WorkstreamInterrupted:
		t.end(e.Workstream, at, state.Interrupted)
	case state.WorkstreamUncertain:
		t.end(e.Workstream, at, state.Uncertain)
	case state.GateStarted:
		t.begin(Attempt{Gate, e.Gate, e.Attempt, at, time.Time{}, state.Running})
	case state.GatePassed:
		t.end(e.Gate, at, state.Passed)
	case state.GateFailed:
		t.end(e.Gate, at, state.Failed)
	case state.GateAsked: // from now on a person is waited for
		t.end(e.Gate, at, state.Waiting)
	}
}

func (t *Timeline) begin(a Attempt) {
	if t.running == nil {
		t.running = map[string]int{}
	}
	t.running[a.Name] = len(t.Attempts)
	t.Attempts = append(t.Attempts, a)
	t.extend(a.From, "")
}

func (t *Timeline) end(name string, at time.Time, result state.StepStatus) {
	i, runs := t.running[name]
	if !runs {
		return
	}
	delete(t.running, name)
	t.Attempts[i].To, t.Attempts[i].Result = at, result
	t.extend(at, "")
}

type interval struct{ from, to time.Time }

// byOwner returns when something ran whose end is on record, by workstream; a phase has its own gates.
func (t *Timeline) byOwner() map[string][]interval {
	ran := map[string][]interval{}
	for _, a := range t.Attempts {
		if a.To.IsZero() {
			continue
		}
		name := a.Name
		if _, owner, gate := state.CutLabel(name); gate {
			name = owner
		}
		ran[name] = append(ran[name], interval{a.From, a.To})
	}
	return ran
}

// covered returns the time that intervals cover together.
func covered(all []interval) time.Duration {
	slices.SortFunc(all, func(a, b interval) int { return a.from.Compare(b.from) })
	var sum time.Duration
	var until time.Time
	for _, i := range all {
		from := i.from
		if from.Before(until) {
			from = until
		}
		if i.to.After(from) {
			sum, until = sum+i.to.Sub(from), i.to
		}
	}
	return sum
}
