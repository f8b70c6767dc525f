package plan

import (
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// A workstream runs on what has become of the workstreams that it depends on. By default they
// must have completed. With run_on it may also run because one has failed, or in any case.

// SetEnded tells the planner that a workstream has failed, or could not start because of a
// failure, and does not run again in this run.
func (pl *Planner) SetEnded(workstream string, as pipeline.Status) {
	step := pl.steps[workstream]
	step.Kind, step.Name, step.Ended = WorkstreamStep, workstream, as
	pl.steps[workstream] = step
}

// BlockedByFailure reports whether one of the workstreams that a blocked step needs has failed
// in this run, or could not start because of a failure.
func (pl *Planner) BlockedByFailure(s Step) bool {
	for _, name := range s.On {
		if pl.steps[name].Ended != "" {
			return true
		}
	}
	return false
}

// statusOf returns what has become of a decided workstream: in this run, or, if it does not run
// again, according to its record. It returns "" if that is not known yet.
func (pl *Planner) statusOf(name string) pipeline.Status {
	step := pl.steps[name]
	switch {
	case step.Ended != "":
		return step.Ended
	case step.Decision == Skipped:
		return pipeline.StatusSkipped
	case step.Failed:
		return pipeline.StatusFailed
	case step.Decision == Reuse:
		return pipeline.StatusCompleted
	}
	return ""
}

// withEnded extends a function that returns results by the workstreams that failed in this run,
// or could not start because of a failure.
func (pl *Planner) withEnded(known func(string) (pipeline.Result, bool)) func(string) (pipeline.Result, bool) {
	return func(name string) (pipeline.Result, bool) {
		if ended := pl.steps[name].Ended; ended != "" {
			return pipeline.Result{Status: ended}, true
		}
		r, ok := known(name)
		if !ok && pl.failed {
			return pipeline.Result{Status: pipeline.StatusBlocked}, true
		}
		return r, ok
	}
}

// SetFailed tells the planner that a phase of this run has failed and that later ones run all the
// same. Whatever has not ended until then counts as blocked by the failure.
func (pl *Planner) SetFailed() { pl.failed = true }

// failureStands reports whether a failure on record is a result like another, because the
// pipeline allows it.
func failureStands(ws *pipeline.Workstream, rec *state.Workstream) bool {
	return ws != nil && ws.AllowFailure && rec != nil && rec.FailureAllowed()
}

// failedGateChanged says how the gate changed by which a workstream failed, where its failure is
// allowed. It returns "" if the gate did not change, or if no gate failed.
func (pl *Planner) failedGateChanged(ws *pipeline.Workstream, rec *state.Workstream) string {
	if !failureStands(ws, rec) || rec.Error == nil || rec.Error.Gate == "" {
		return ""
	}
	g, had := pl.p.Gate(rec.Error.Gate), pl.st.Gate(rec.Error.Gate)
	switch {
	case g == nil || had == nil:
		return rec.Error.Gate + " is gone"
	case had.Definition == "" || g.Kind == pipeline.GateCondition: // the condition may use outputs, which a failed workstream has not
		return ""
	}
	if now, diags := pl.VerdictSince(g, had.Seen); !diags.HasErrors() && now.Definition != had.Definition {
		return "the definition of " + had.Label + " changed"
	}
	return ""
}

// WhenEnabled decides during a run whether a workstream runs. It looks at the outcomes of the
// workstreams in depends_on first, and then evaluates the when of the workstream. The caller
// waits until those workstreams have ended that are in the same phase.
func (pl *Planner) WhenEnabled(ws *pipeline.Workstream) When {
	e := pl.evaluateRunOn(ws)
	e.blocked = appendNew(e.blocked, pl.leftOpen(ws))
	if e.skipReason != "" || len(e.blocked) > 0 {
		return e
	}
	enabled, diags := ws.Enabled(pl.Results(ws.NeedsResults(), 0))
	e.SetOutcome("its when", enabled, diags)
	return e
}

// leftOpen returns the workstreams that ws depends on and that have not ended in this run. A phase
// that runs after failures may find some in an earlier phase, for example one whose gate waits for
// an answer.
func (pl *Planner) leftOpen(ws *pipeline.Workstream) (names []string) {
	for _, name := range ws.DependsOn {
		if pl.statusOf(name) == "" {
			names = append(names, name)
		}
	}
	return names
}

// evaluateRunOn decides from what has become of the workstreams that ws depends on whether it
// runs.
func (pl *Planner) evaluateRunOn(ws *pipeline.Workstream) When {
	switch ws.RunOn {
	case pipeline.RunOnSucceeded:
		return pl.whenSucceeded(ws)
	case pipeline.RunOnFailed:
		return pl.whenFailed(ws)
	case pipeline.RunOnAlways:
	}
	return When{}
}

// whenSucceeded skips a workstream if something that it depends on is skipped. A block with
// for_each is skipped if all its instances are.
func (pl *Planner) whenSucceeded(ws *pipeline.Workstream) (e When) {
	for written, names := range ws.Dependencies() {
		all, skipped := 0, 0
		for name := range names {
			all++
			switch pl.statusOf(name) {
			case pipeline.StatusSkipped:
				skipped++
			case pipeline.StatusFailed:
				if !pl.st.Workstream(name).FailureAllowed() {
					e.blocked = append(e.blocked, name)
				}
			case pipeline.StatusBlocked:
				e.blocked = append(e.blocked, name)
			case pipeline.StatusCompleted:
			}
		}
		if all > 0 && skipped == all && e.skipReason == "" {
			e.skipReason = fmt.Sprintf("%s is skipped", written)
		}
	}
	return e
}

// whenFailed skips a workstream if nothing that it depends on has failed.
func (pl *Planner) whenFailed(ws *pipeline.Workstream) (e When) {
	for _, name := range ws.DependsOn {
		switch pl.statusOf(name) {
		case pipeline.StatusFailed:
			return When{}
		case pipeline.StatusCompleted, pipeline.StatusSkipped:
		case pipeline.StatusBlocked:
			e.blocked = append(e.blocked, name)
		default:
			if pl.steps[name].cannotComplete() {
				e.blocked = append(e.blocked, name)
			} else {
				e.pending = append(e.pending, name)
			}
		}
	}
	if len(e.blocked)+len(e.pending) == 0 {
		e.skipReason = "nothing that it depends on has failed"
	}
	return e
}

// NothingFailed is why a phase with run_on = "failed" is skipped.
const NothingFailed = "no phase before it has failed"

// evaluatePhaseRunOn decides, in a plan, whether a phase runs, from the steps of the phases
// before it.
func (pl *Planner) evaluatePhaseRunOn(phase *pipeline.Phase, before []Phase) (e When) {
	switch {
	case pl.failing != "" && phase.RunOn == pipeline.RunOnSucceeded:
		e.blocked = []string{pl.failing}
		return e
	case pl.failing != "", phase.RunOn != pipeline.RunOnFailed:
		return e
	}
	for _, earlier := range before {
		for _, s := range earlier.Steps {
			if s.hasWork() {
				e.pending = []string{s.Name} // one name is enough
				return e
			}
		}
	}
	e.skipReason = NothingFailed
	return e
}

// runsBefore returns, in a plan, a workstream of an earlier phase that will have another
// result, if the phase of ws runs after failures, too. Such a phase runs again when something
// before it has run again. It returns nil if there is none.
func (pl *Planner) runsBefore(ws *pipeline.Workstream) []string {
	if ws.Phase.RunOn == pipeline.RunOnSucceeded || pl.stateAtStart == nil || len(pl.rerunning) == 0 {
		return nil
	}
	if first := pl.rerunning[0]; pl.p.Workstream(first).Phase.Number < ws.Phase.Number {
		return []string{first}
	}
	return nil
}

// workBefore returns the commit that recorded the last work of the phases before a phase,
// whether it succeeded or not.
func workBefore(phase *pipeline.Phase, st *state.State) uint64 {
	var last uint64
	for _, earlier := range st.Phases[:min(phase.Number-1, len(st.Phases))] {
		for _, w := range earlier.Workstreams {
			last = max(last, w.WorkSeq, w.EndedSeq)
		}
	}
	return last
}
