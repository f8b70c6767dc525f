package runner

import (
	"context"
	"fmt"
	"slices"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
	"prdrunner/runner/protect"
)

// protections protects the workstreams of a run that have a protect block.
type protections struct {
	loop           *loop
	keeper         *protect.Keeper
	earlierCommits []state.Commit // rollbacks from before the run began, which the views get after Begin
	committed      []string       // safety checkpoints that are no longer needed
}

// guard is the protection of one attempt at a workstream.
type guard struct {
	made     *protect.Made
	workTree *protect.WorkTree
}

// prepareProtected makes the plan of a run, and rolls back what the plan does not go on
// with. After that it makes the plan anew.
func (l *loop) prepareProtected(ctx context.Context) (*plan.Plan, error) {
	planned, err := l.prepareInterruptible(ctx)
	if err != nil {
		return nil, err
	}
	rolledBack, err := l.protections.rollBackPlanned(planned)
	if err != nil || !rolledBack {
		return planned, err
	}
	l.facts = plan.NewFacts(l.session.State())
	return l.prepareInterruptible(ctx)
}

// finish carries out the rollbacks that are due from earlier runs.
func (ps *protections) finish() error {
	l := ps.loop
	if st := l.session.State(); st == nil || len(st.RollbacksDue())+len(st.KeptProtections()) == 0 {
		return nil
	}
	return l.runUntilSignal(func(ctx context.Context) error {
		return ps.keeper.Finish(ctx, l.session, l.session.State().RollbacksDue(), ps.finished)
	})
}

// finished keeps the commits of a rollback that was carried out before the run began, for
// the views.
func (ps *protections) finished(done protect.Finished) {
	ps.earlierCommits = append(ps.earlierCommits, done.Commits...)
	if done.Warning != "" {
		ps.loop.warnUser(done.Warning)
	}
}

// rollBackPlanned rolls back work that waits for its gates and that the plan does not go on
// with: it runs again, is skipped, depends on work that runs again, or is no longer in the
// pipeline. That comes before anything runs, since what runs may write in the same files. It
// reports whether it did anything, so that the plan must be made anew.
func (ps *protections) rollBackPlanned(planned *plan.Plan) (bool, error) {
	l := ps.loop
	st := l.resumedState()
	if st == nil || len(st.Protections) == 0 {
		return false, nil
	}
	goesOn := map[string]bool{}
	for _, phase := range planned.Phases {
		for _, s := range phase.Steps {
			switch s.Decision {
			case plan.Reuse, plan.Judge, plan.Blocked:
				goesOn[s.Name] = true
			case plan.Run, plan.Rerun, plan.Cached, plan.Depends, plan.Skipped, plan.Uncertain:
			}
		}
	}
	var due []state.Protection
	for _, p := range st.Protections {
		if !p.RolledBack && !goesOn[p.Workstream] {
			due = append(due, p)
		}
	}
	if len(due) == 0 {
		return false, nil
	}
	return true, l.runUntilSignal(func(ctx context.Context) error {
		return ps.keeper.Finish(ctx, l.session, due, ps.finished)
	})
}

// protectThen makes the safety checkpoint of the next attempt, and then starts the attempt.
// Work that is done and runs again is rolled back first, so that it starts from the
// protected state.
func (n *node) protectThen(start func()) {
	l := n.loop
	st := l.session.State()
	earlier := ""
	if p := st.Protection(n.ws.Name); p != nil {
		if !p.RolledBack {
			n.rollBackThen("it runs again", n.surveyAndDecide)
			return
		}
		earlier = p.Checkpoint
	}
	l.phase.recordStarted()
	scope, patterns := n.scope(st), l.captures.capturePatterns()
	l.spawnWork("protect "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		g, err := l.protections.guard(within, scope, earlier, patterns)
		return func() {
			switch {
			case !n.mayStart():
				l.protections.discard(g.made)
				n.giveUpStart()
			case err != nil:
				l.protections.discard(g.made)
				n.recordFailure(state.Failure{Workstream: n.ws.Name, Outcome: "error", Message: state.Text(l.opts.Mask(err.Error()))})
			default:
				l.protections.warnLeftOut(n.ws, g.made)
				n.guard = g
				start()
			}
		}
	})
}

// guard makes the protection of an attempt. It lists the work tree while it makes the
// checkpoint, since git takes about as long as the copy. Another goroutine than the loop's
// calls it.
func (ps *protections) guard(ctx context.Context, s protect.Scope, earlier string, patterns []string) (*guard, error) {
	g := &guard{}
	var both errgroup.Group
	both.Go(func() (err error) {
		g.workTree, err = ps.keeper.LookAround(ctx, patterns)
		return err
	})
	both.Go(func() (err error) {
		g.made, err = ps.keeper.Protect(ctx, s, earlier)
		return err
	})
	err := both.Wait()
	return g, err
}

// scope returns what the next attempt may change.
func (n *node) scope(st *state.State) protect.Scope {
	p := n.ws.Protect
	s := protect.Scope{
		Workstream: n.ws.Name, Attempt: st.Workstream(n.ws.Name).Attempts + 1, Patterns: p.ScopePatterns,
		PRD: st.PRD, Savepoints: p.Savepoints, Expiry: p.Expiry,
	}
	if p.Expiry == 0 && !p.NeverExpires {
		s.Expiry = protect.DefaultExpiry
	}
	if len(p.State) > 0 {
		s.Keys = &safety.Keys{PRD: st.PRD, Session: st.Session, Values: st.KeyValues(p.State)}
	}
	return s
}

// giveUpStart leaves a workstream for the next run before its next attempt has begun.
func (n *node) giveUpStart() {
	if n.loop.session.State().Workstream(n.ws.Name).Retries() {
		n.interrupt()
	} else {
		n.drop()
	}
}

// protectionMade returns the event that records the protection of the next attempt.
func (n *node) protectionMade() state.Event {
	p := n.ws.Protect
	return state.ProtectionMade{
		Workstream: n.ws.Name, Attempt: n.attempt, Checkpoint: n.guard.made.Checkpoint, Again: n.guard.made.Again, Files: n.guard.made.Files,
		Savepoints: p.Savepoints, Keys: p.State, Keep: p.KeepOnFailure, Delete: p.Expiry == 0 && !p.NeverExpires,
	}
}

// discard removes a checkpoint that protects no attempt.
func (ps *protections) discard(made *protect.Made) {
	if made == nil || made.Again {
		return
	}
	if err := ps.keeper.Delete(ps.loop.ctx, made.Checkpoint); err != nil {
		ps.loop.warnUser(err.Error())
	}
}

// discardGuard removes the checkpoint that was made for an attempt which does not start.
func (n *node) discardGuard() {
	if n.guard != nil {
		n.loop.protections.discard(n.guard.made)
		n.guard = nil
	}
}

// warnLeftOut warns of files that a rollback would not restore.
func (ps *protections) warnLeftOut(ws *pipeline.Workstream, made *protect.Made) {
	if len(made.LeftOut) > 0 && !made.Again {
		ps.loop.warnUser(fmt.Sprintf("not protected, since they look sensitive, so that a rollback of %s would not restore them: %s", ws.Name, text.Enumerate(made.LeftOut)))
	}
}

// endFailedAttempt rolls back what a failed attempt changed, unless it was the last one and
// its changes are kept. Then it goes on as for any workstream.
func (n *node) endFailedAttempt(r attemptResult) {
	pause := n.nextPause(r.result, r.unready)
	then := func() { n.attemptFailed(r, pause) }
	if n.ws.Protect == nil || pause == backoff.Stop && n.ws.Protect.KeepOnFailure {
		n.guard = nil
		then()
		return
	}
	n.rollBackThen(string(r.failure.Message), then)
}

// rollBackThen rolls back what a protected workstream changed, if its changes are neither
// rolled back nor kept, and then calls then.
func (n *node) rollBackThen(reason string, then func()) {
	l := n.loop
	n.guard = nil
	st := l.session.State()
	p := st.Protection(n.ws.Name)
	if p == nil || p.RolledBack {
		then()
		return
	}
	due, keys, rec := *p, st.KeyValues(p.Keys), st.Workstream(n.ws.Name)
	l.spawnWork("roll back "+n.ws.Name, workstreamSlot, func(context.Context) func() {
		done, err := l.protections.keeper.RollBack(l.grace, due, keys)
		return func() {
			switch {
			case err != nil && l.grace.Err() != nil: // the next command rolls back
				n.interrupt()
			case err != nil:
				n.recordFailure(l.protections.notRolledBack(due, reason, err))
			default:
				l.protections.rolledBack(rec, due, reason, done)
				then()
			}
		}
	})
}

// rolledBack records a rollback.
func (ps *protections) rolledBack(rec *state.Workstream, p state.Protection, reason string, done *protect.RolledBack) {
	l := ps.loop
	if rec.FilesSeq > p.Seq {
		l.recordedFiles.ForgetArtifacts(rec)
	}
	delete(l.facts.Conflicts, p.Workstream)
	l.recorder.Add(nil, done.Event(p, l.opts.Mask(reason)))
	l.reports.compareAnew()
	if warning := done.Warning(p.Workstream); warning != "" {
		l.warnUser(warning)
	}
}

// notRolledBack returns the failure of a workstream that failed for a reason, and whose
// changes could not be rolled back. The next command tries again before anything else.
func (ps *protections) notRolledBack(p state.Protection, reason string, err error) state.Failure {
	message := fmt.Sprintf("%s; its changes are not rolled back to %s: %v", reason, p.Checkpoint, err)
	return state.Failure{Workstream: p.Workstream, Outcome: "rollback", Message: state.Text(shorten(ps.loop.opts.Mask(message)))}
}

// kept returns the events of a failed workstream whose changes are kept.
func (n *node) kept() []state.Event {
	if p := n.loop.session.State().Protection(n.ws.Name); p != nil && p.Keep && !p.RolledBack {
		return []state.Event{state.ProtectionKept{Workstream: n.ws.Name, Checkpoint: p.Checkpoint, Reason: "on_failure is keep"}}
	}
	return nil
}

// commitChanges returns the events of a workstream that has passed with its changes. Its
// safety checkpoint is removed at the end of the run, unless the pipeline keeps it.
func (n *node) commitChanges() []state.Event {
	p := n.loop.session.State().Protection(n.ws.Name)
	if p == nil {
		return nil
	}
	if p.Delete {
		n.loop.protections.committed = append(n.loop.protections.committed, p.Checkpoint)
	}
	return []state.Event{state.ProtectionCommitted{Workstream: n.ws.Name, Checkpoint: p.Checkpoint}}
}

// gatesFailed ends a workstream whose gates did not all pass. If one has failed, what the
// workstream changed is rolled back or kept; while all others wait, it may still pass.
func (n *node) gatesFailed() {
	l := n.loop
	g := l.session.State().Workstream(n.ws.Name).FailedGate()
	switch {
	case l.isolation.holds(n.ws):
		n.discardHeld(g)
	case g == nil:
		n.finish(left)
	case n.kept() != nil:
		n.endFailedGate(g)
	default:
		n.rollBackThen(string(g.Label)+" did not pass", func() { n.endFailedGate(g) })
	}
}

// endFailedGate ends a workstream after the failure of a gate. The record of the gate says why,
// unless the failure is allowed: then it is the workstream that has failed. With --keep-going,
// another gate may have failed in a way that is not allowed, or been rejected.
func (n *node) endFailedGate(g *state.Gate) {
	l := n.loop
	if n.allowsGate(g) {
		n.recordFailure(*g.Error)
		return
	}
	l.recorder.Add(func() { n.finish(pipeline.StatusFailed) }, n.kept()...)
}

// allowsGate reports whether the pipeline allows the failure of a gate of the workstream.
func (n *node) allowsGate(g *state.Gate) bool {
	l := n.loop
	failsRun := slices.ContainsFunc(l.cause.failures, func(f state.Failure) bool { return f.Workstream == n.ws.Name })
	return n.ws.AllowFailure && g.Error != nil && isAllowed(*g.Error) && !failsRun && !l.tasksCancelled()
}

// deleteCommitted removes the safety checkpoints of changes whose commit is durable. Those
// that it can't remove expire.
func (ps *protections) deleteCommitted() {
	if ps.loop.recorder.Err() != nil {
		return
	}
	for _, id := range ps.committed {
		if err := ps.keeper.Delete(ps.loop.ctx, id); err != nil {
			ps.loop.opts.Logger.Warn("a safety checkpoint that is no longer needed stays until it expires", "checkpoint", id, "error", err)
			return
		}
	}
	ps.committed = nil
}
