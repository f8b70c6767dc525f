package runner

import (
	"context"
	"path/filepath"
	"strconv"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// resolveUncertain resolves a once step whose end is not on record, or that would run a
// second time. Its verify command decides, or else the user. A step that the user did not
// select stays uncertain. The caller must have recorded that the step is uncertain.
func (n *node) resolveUncertain() {
	l := n.loop
	var needed []string
	if !l.tasksCancelled() && l.planner.ExclusionReason(n.ws) == "" {
		needed = n.ws.VerifySecrets()
	}
	l.withSecrets(n.ws.Name, workstreamSlot, needed, func(err error) {
		if err != nil && !l.tasksCancelled() {
			l.warnUser(n.ws.Name + ": its verify command was not started: " + err.Error())
			n.leaveUncertain()
			return
		}
		n.verify()
	})
}

// verify runs the verify command of a once step.
func (n *node) verify() {
	l := n.loop
	inv, has, diags := n.ws.Verify(l.results(true, n.attempt))
	if diags.HasErrors() {
		l.warnUser(string(l.failures.expressionFailure(n.ws.Name, "", diags).Message))
	}
	if !has || diags.HasErrors() || l.tasksCancelled() || l.planner.ExclusionReason(n.ws) != "" {
		n.leaveUncertain()
		return
	}
	attempt := max(n.attempt, l.session.State().Workstream(n.ws.Name).Attempts)
	task := l.newTask(n.ws.Name+"..verify", attempt, inv) // no gate can have this name
	task.Timeout = n.ws.Timeout
	task.Env["RUNNER_PHASE"] = n.ws.Phase.Name
	task.Env["RUNNER_WORKSTREAM"] = n.ws.Name
	task.Env["RUNNER_ATTEMPT"] = strconv.Itoa(attempt)
	had, err := l.opts.Store.Reader().EarlierWork(l.session.State(), n.ws.Name)
	if err != nil {
		l.warnUser(err.Error())
	}
	id := l.session.State().RestoreID(n.ws.Name)
	l.spawnWork(task.ID, workstreamSlot, func(within context.Context) func() {
		res, err := l.execute(within, task, &startSink{})
		if err == nil && res.Succeeded() {
			err = restoreMissing(l.grace, l.files, id, had)
		}
		return func() {
			l.recordLeftovers(n.ws.Name, res.Leftovers)
			lost := l.planner.MissingResults(n.ws, had)
			switch {
			case err == nil && res.Succeeded() && len(lost) > 0:
				n.finishIncomplete(lost)
			case err == nil && res.Succeeded():
				n.recordVerified(state.ResolvedDone, had)
			case err != nil && res.Succeeded():
				l.warnUser(n.ws.Name + " happened, and what it made could not be brought back: " + err.Error())
				n.leaveUncertain()
			case err == nil && res.Outcome == Exited && res.ExitCode == 1:
				n.recordVerified(state.ResolvedRerun, nil)
			case err != nil:
				l.warnUser(n.ws.Name + ": its verify command could not tell whether it happened: " + err.Error())
				n.leaveUncertain()
			default:
				l.warnUser(n.ws.Name + ": its verify command could not tell whether it happened (see " + filepath.Base(task.Log) + ")")
				n.leaveUncertain()
			}
		}
	})
}

// recordVerified records the answer of the verify command, and continues with the step.
// If the step did not happen, it fails if this run attempted it, and is attempted now if
// not. If it happened, had is its earlier record, or nil.
func (n *node) recordVerified(r state.Resolution, had *state.Work) {
	l := n.loop
	last := l.session.State().Workstream(n.ws.Name).Error
	e := state.WorkstreamResolved{Workstream: n.ws.Name, Resolution: r, By: l.opts.By, Verified: true, Work: had}
	if r == state.ResolvedDone {
		e.Digest = l.planner.DigestOrRecorded(n.ws)
		if n.attempt > 0 {
			digest := n.digest // a copy, because the node forgets its digest when it ends
			e.Digest = &digest
		}
	}
	l.recorder.Add(nil, e)
	switch {
	case r == state.ResolvedDone:
		delete(l.facts.Conflicts, n.ws.Name) // these conflicts concerned artifacts of an earlier run
		n.continueDone()
	case n.attempt == 0:
		l.slots.Add(n.newJob(n.startAttempt))
	default:
		n.recordFailure(*last)
	}
}

// finishIncomplete leaves the decision about a once step to the user: its verify command
// says that it happened, but other steps need outputs that are not on record.
func (n *node) finishIncomplete(lost []plan.MissingResult) {
	err := &plan.MissingResultsError{Workstream: n.ws.Name, Missing: lost}
	f := state.Failure{
		Workstream: n.ws.Name, Outcome: state.OutcomeHappened,
		Message: state.Text("its verify command says that it happened, but " + err.Error()),
	}
	if rec := n.loop.session.State().Workstream(n.ws.Name); rec.Error == nil || *rec.Error != f {
		n.loop.recorder.Add(nil, state.WorkstreamUncertain{Workstream: n.ws.Name, Error: f})
	}
	n.leaveUncertain()
}

// leaveUncertain leaves the decision about a once step to the user. Running workstreams may
// finish.
func (n *node) leaveUncertain() {
	l := n.loop
	l.cause.uncertain = append(l.cause.uncertain, n.ws.Name)
	l.planner.SetDecision(n.ws.Name, plan.Uncertain)
	if !l.opts.KeepGoing {
		l.stopNewWork(stopPause)
	}
	l.recorder.Add(func() { n.finish(left) })
}
