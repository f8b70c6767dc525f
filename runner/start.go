package runner

import (
	"context"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/feedback"
	"prdrunner/runner/plan"
)

// How an attempt starts: what must be there first, what is recorded, and the work that another
// goroutine then does. How it ends is in attempt.go.

// startAttempt starts the next attempt of a workstream.
func (n *node) startAttempt() {
	l := n.loop
	if n.step.Decision != plan.Cached && !n.awaitNeeds() {
		return
	}
	if n.ws.Protect != nil && n.guard == nil {
		n.protectThen(n.startAttempt)
		return
	}
	n.awaited = false
	l.phase.recordStarted()
	rec := l.session.State().Workstream(n.ws.Name)
	n.attempt = rec.Attempts + 1
	inv, diags := n.ws.Invocation(l.results(n.ws.NeedsResults(), n.attempt))
	if diags.HasErrors() {
		n.discardGuard()
		n.recordFailure(l.failures.expressionFailure(n.ws.Name, "", diags))
		return
	}
	task := n.prepareTask(inv)
	work := &attemptWork{
		node: n, task: task, recorded: rec.Artifacts, restoreID: l.session.State().RestoreID(n.ws.Name),
		mayRun: l.secrets.Resolved(n.ws.Secrets()) && l.services.areReady(n.ws.Services),
	}
	durable := n.mustStartDurably(rec)
	l.recorder.Add(nil, n.startEvents(rec)...)
	if durable {
		l.recorder.Drain()
		if !n.mayStart() {
			n.rollBackThen("it was interrupted", n.interrupt)
			return
		}
	}
	work.findPartial()
	if n.call != nil {
		l.calling[n] = true
	}
	l.spawnWork(task.ID, workstreamSlot, work.do)
}

// awaitNeeds reports whether a process of the workstream may start: there is budget left, its
// secrets are resolved and its services are ready. If it only has to wait for these, it begins
// anew with its attempt when they are.
func (n *node) awaitNeeds() bool {
	switch {
	case !n.withinBudget():
		n.discardGuard()
		n.giveUpStart()
		return false
	case !n.loop.secrets.Resolved(n.ws.Secrets()):
		n.resolveThen(n.startAttempt)
		return false
	}
	return n.awaitServices()
}

// prepareTask returns the task of the current attempt, and notes what the attempt is told and
// where it reports.
func (n *node) prepareTask(inv pipeline.Invocation) Task {
	l := n.loop
	n.digest = plan.DigestOf(n.ws, inv, l.session.State(), l.pipeline, l.facts.Inputs[n.ws.Name])
	if inv.Call != nil {
		n.call, n.pauseAsked = n.newCall(inv.Call), false
	}
	task := n.newTask(inv)
	n.task = inv.Task
	n.told = feedback.File{Path: task.Env["RUNNER_FEEDBACK"], Document: feedback.For(l.session.State(), n.ws.Name), Log: l.readLogTail}
	n.reports = &reporting{workstream: n.ws.Name, attempt: n.attempt}
	if !n.ws.ReportsOnStdout {
		n.reports.path = task.Env["RUNNER_REPORT"]
	}
	return task
}

// startEvents returns the events that begin the current attempt.
func (n *node) startEvents(rec *state.Workstream) []state.Event {
	var events []state.Event
	if rec.Done() { // the plan recorded the reasons that it knew; this reason arose during the run
		e := state.WorkstreamInvalidated{Workstream: n.ws.Name, Reason: n.step.Reason}
		if n.callBegan {
			e.Call = n.call.id()
		}
		events = append(events, e)
	}
	if n.guard != nil {
		events = append(events, n.protectionMade())
	}
	return append(events, state.WorkstreamStarted{Workstream: n.ws.Name, Attempt: n.attempt, Digest: n.digest, Call: n.call.id()})
}

// mustStartDurably reports whether the start must be durable before the work begins. A once
// workstream must not happen without a record, and a change that may be rolled back not without
// that of its safety checkpoint. The next run must know which session a called pipeline has. And
// if a workstream overwrites recorded artifacts, its own or those of other workstreams, the next
// run must not take that for an edit.
func (n *node) mustStartDurably(rec *state.Workstream) bool {
	l := n.loop
	overwrites := rec.Done() && len(rec.Artifacts) > 0
	return n.ws.Effect == pipeline.Once || n.guard != nil || n.call != nil || overwrites ||
		l.recordedFiles.AnyMatch(l.surveyor.Extend(n.ws.ArtifactPatterns))
}

// attemptWork is the work of one attempt.
type attemptWork struct {
	node      *node
	task      Task
	restoreID string            // names the restores of files of this workstream
	recorded  []state.Artifact  // the artifacts of the workstream that are on record
	partial   []state.Artifact  // what an attempt in an earlier run has overwritten, and is taken back first
	owners    map[string]string // the workstream that made a file last, by path
	mayRun    bool              // secrets and services that the process needs are there
}

// findPartial finds what is taken back first. That is only done before the first attempt in a
// run: a later attempt starts from the files that the one before it left. So does a called
// pipeline that goes on.
func (w *attemptWork) findPartial() {
	n, l := w.node, w.node.loop
	first := n.ws.Isolate == nil && !n.callBegan && n.step.Decision != plan.Rerun && n.attempt > 1 && !n.partialTakenBack
	if first || n.step.Decision == plan.Cached {
		w.owners = l.surveyor.Owners(l.session.State())
	}
	if first {
		w.partial = l.surveyor.Overwritten(l.session.State(), w.owners, n.ws.Name, l.surveyor.Extend(n.ws.ArtifactPatterns))
	}
}

// do does the work, and returns what the loop then does.
func (w *attemptWork) do(within context.Context) func() {
	n, l := w.node, w.node.loop
	back, err := takeBackPartial(within, l.files, w.restoreID, w.partial, l.overwriting.mayTakeBack)
	var r attemptResult
	if err == nil {
		r = w.result(within)
	} else {
		r = attemptResult{notExecuted: true, failure: &state.Failure{
			Workstream: n.ws.Name, Outcome: "error", Message: state.Text(l.opts.Mask(err.Error())),
		}}
	}
	return func() {
		n.partialTakenBack = n.partialTakenBack || err == nil
		if r.note != "" && r.result.Outcome != Cancelled {
			l.warnUser(l.opts.Mask(r.note))
		}
		l.recorder.Add(nil, takenBackEvents(n.ws.Name, w.owners, back)...)
		if r.notTaken != "" {
			n.runInsteadOfCached(r.notTaken)
		} else {
			n.finishAttempt(r)
		}
	}
}

// result takes the cached result, if the plan says so and it can be taken, or runs the task.
func (w *attemptWork) result(within context.Context) attemptResult {
	n, note := w.node, ""
	if n.step.Decision == plan.Cached {
		r, refusal := n.applyCached(within, w.restoreID, w.recorded, w.owners)
		if refusal == "" {
			return r
		}
		if note = n.ws.Name + " runs, and " + refusal; !w.mayRun {
			return attemptResult{note: note, notTaken: refusal}
		}
	}
	r := n.runAttempt(within, w.task)
	if note != "" {
		r.note = strings.TrimSuffix(note+"; "+r.note, "; ")
	}
	n.lookOutside(&r)
	return r
}
