package watch

import (
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
)

// runs are the runs of a session, as its journal has them. Commits between two runs, such as an
// approval, belong to the run before.
type runs struct {
	fold *journal.Fold
	all  []*sessionRun
}

func newRuns() *runs { return &runs{fold: journal.NewFold()} }

// state returns the state after the last commit, nil before the first.
func (r *runs) state() *state.State { return r.fold.State }

// last returns the last run.
func (r *runs) last() *sessionRun { return r.all[len(r.all)-1] }

// commit adds a commit.
func (r *runs) commit(c state.Commit) error {
	begins := beginsRun(c)
	if begins && len(r.all) > 0 {
		r.last().ended = r.fold.State.Clone()
	}
	if err := r.fold.Apply(c); err != nil {
		return err
	}
	if begins {
		r.begin(r.fold.State)
	}
	r.last().add(c)
	return nil
}

// begin begins a run of a session in the given state.
func (r *runs) begin(st *state.State) {
	if r.fold.State == nil {
		r.fold.State = st
	}
	r.all = append(r.all, &sessionRun{number: st.Resumes + 1, began: st.UpdatedAt, prd: st.PRD, shown: beginning(st)})
}

// beginsRun reports whether a commit begins a run, or the journal: a compacted one begins with a state.
func beginsRun(c state.Commit) bool {
	return c.State != nil || slices.ContainsFunc(c.Events, func(e state.Event) bool {
		switch e.(type) {
		case state.SessionStarted, state.SessionResumed:
			return true
		}
		return false
	})
}

// sessionRun is one run of a session.
type sessionRun struct {
	number  int // of the runs of the session, from 1
	prd     string
	began   time.Time
	shown   runner.Beginning
	given   map[string]string // the values of variables, as JSON
	commits []state.Commit
	failed  []state.Failure
	over    bool          // its end is on record
	took    time.Duration // 0: not on record
	lastAt  time.Time     // of the last commit until the run was over
	ended   *state.State  // before the next run began; nil for the last run
}

// beginning describes a run that begins in a state.
func beginning(st *state.State) runner.Beginning {
	p := &plan.Plan{FormatVersion: plan.FormatVersion, PRD: st.PRD, Title: st.Title, Session: st.Session, Seq: st.Seq}
	for i, phase := range st.Phases {
		planned := plan.Phase{Name: phase.Name, Title: phase.Title, Number: i + 1}
		for _, w := range phase.Workstreams {
			planned.Steps = append(planned.Steps, plan.Step{Kind: plan.WorkstreamStep, Name: w.Name, Title: w.Title, Decision: decision(w), Failed: w.FailureAllowed()})
			if decision(w) == plan.Run {
				planned.Steps = append(planned.Steps, gateSteps(w.Gates)...)
			}
		}
		planned.Steps = append(planned.Steps, gateSteps(phase.Gates)...)
		p.Phases = append(p.Phases, planned)
	}
	return runner.Beginning{PRD: st.PRD, Title: st.Title, Session: st.Session, Plan: p}
}

// gateSteps returns the steps of gates: a run leaves those alone that have passed, unless a later event says that they
// are judged again.
func gateSteps(gates []*state.Gate) (steps []plan.Step) {
	for _, g := range gates {
		s := plan.Step{Kind: plan.GateStep, Name: g.Label, Decision: plan.Run}
		switch g.Status {
		case state.Passed:
			s.Decision = plan.Reuse
		case state.Skipped:
			s.Decision = plan.Skipped
		default:
		}
		steps = append(steps, s)
	}
	return steps
}

// set takes note of how the run works.
func (r *sessionRun) set(s *state.RunSettings, variables map[string]string) {
	r.given = variables
	if s != nil {
		r.shown.Parallel, r.shown.KeepGoing, r.shown.PauseAtGates = s.Parallel, s.KeepGoing, s.PauseAtGates
	}
}

// decision returns what a run does with a workstream as far as the state tells: it leaves alone what is
// done, unless a later event says that it runs again.
func decision(w *state.Workstream) plan.Decision {
	switch {
	case w.Status == state.Skipped:
		return plan.Skipped
	case w.Finished():
		return plan.Reuse
	}
	return plan.Run
}

// add adds a commit to the run.
func (r *sessionRun) add(c state.Commit) {
	r.commits = append(r.commits, c)
	if !r.over {
		r.lastAt = c.At(max(0, len(c.Events)-1))
	}
	for _, e := range c.Events {
		switch e := e.(type) {
		case state.SessionStarted:
			r.set(e.Settings, e.Variables)
		case state.SessionResumed:
			r.set(e.Settings, e.Variables)
		case state.WorkstreamFailed:
			if !e.Allowed {
				r.addFailure(e.Error)
			}
		case state.GateFailed:
			r.addFailure(e.Error)
		case state.SessionFailed:
			r.end(e.RanMS)
			r.addFailure(e.Error)
		case state.SessionPaused:
			r.end(e.RanMS)
		case state.SessionInterrupted:
			r.end(e.RanMS)
		case state.SessionCompleted:
			r.end(e.RanMS)
		case state.HooksDue:
			if r.took == 0 {
				r.took = time.Duration(e.RanMS) * time.Millisecond
			}
		}
	}
}

func (r *sessionRun) end(ranMS int64) {
	r.over, r.took = true, time.Duration(ranMS)*time.Millisecond
}

func (r *sessionRun) addFailure(f state.Failure) {
	if !slices.ContainsFunc(r.failed, func(had state.Failure) bool { return view.Summary(had) == view.Summary(f) }) {
		r.failed = append(r.failed, f)
	}
}

// show shows what is on record of the run.
func (r *sessionRun) show(v view.View, planned bool) {
	b := r.shown
	if !planned {
		b.Plan, b.Resumed = nil, r.number > 1
	}
	v.Begin(b)
	for _, c := range r.commits {
		v.Commit(c)
	}
}

// ending describes how the run ended, with the session in the given state.
func (r *sessionRun) ending(st *state.State) runner.Ending {
	e := runner.Ending{
		Status: st.Status, Error: st.Error, Allowed: state.AllowedFailures(st.Phases), Pause: st.Pause, Signal: st.Interrupted, Duration: r.took,
	}
	if e.Duration == 0 {
		e.Duration = max(0, r.lastAt.Sub(r.began))
	}
	if st.Status == state.StatusFailed {
		e.Failed = slices.DeleteFunc(slices.Clone(r.failed), func(f state.Failure) bool { return hasPassed(st, f) })
	}
	return e
}

// hasPassed reports whether what failed has passed since, or its failure is allowed.
func hasPassed(st *state.State, f state.Failure) bool {
	w := st.Workstream(f.Workstream)
	if w != nil && w.FailureAllowed() {
		return true
	}
	if g := st.Gate(f.Gate); g != nil {
		return g.Status == state.Passed
	}
	return w != nil && w.Status == state.Completed
}

// describe says which run is watched.
func (r *sessionRun) describe(now time.Time, pid int, host string) string {
	return fmt.Sprintf("Watching run %d of %s, begun %s (pid %d on %s). Ctrl+C ends only the watching.", r.number, r.prd, view.Ago(now, r.began), pid, host)
}
