package runner

import (
	"context"
	"path/filepath"
	"strconv"

	"prdrunner/checkpoint"
)

// uncertain deals with a once step whose end nobody knows, or which something
// asks to run twice: its verify command decides, or else a person.
// That it is uncertain is on record already.
func (l *loop) uncertain(ctx context.Context, n *node, done func(bool)) {
	rec := l.x.State().Workstream(n.ws.Name)
	attempt := max(n.attempt, rec.Attempts)
	inv, has, diags := n.ws.Verify(l.pl.results(true))
	if !has || diags.HasErrors() || l.status >= stopTimeout {
		if diags.HasErrors() {
			l.warn(string(l.diagnosed(n.ws.Name, "", diags).Message))
		}
		l.leaveUncertain(n, done)
		return
	}
	task := l.task(n.ws.Name+".verify", attempt, inv)
	task.Timeout = n.ws.Timeout
	task.Env["RUNNER_PHASE"] = n.ws.Phase.Name
	task.Env["RUNNER_WORKSTREAM"] = n.ws.Name
	task.Env["RUNNER_ATTEMPT"] = strconv.Itoa(attempt)
	l.spawn(ctx, task.ID, func(within context.Context) func() {
		res, err := l.o.Executor.Run(within, task, discard{})
		return func() {
			l.reportLeftovers(n.ws.Name, res.Leftovers)
			switch {
			case err == nil && res.Succeeded():
				l.verified(ctx, n, checkpoint.ResolvedDone, done)
			case err == nil && res.Outcome == Exited && res.ExitCode == 1:
				l.verified(ctx, n, checkpoint.ResolvedRerun, done)
			default:
				l.warn(n.ws.Name + ": its verify command could not tell whether it happened (see " + filepath.Base(task.Log) + ")")
				l.leaveUncertain(n, done)
			}
		}
	})
}

// verified goes on with what the verify command found out. What did not
// happen is tried again only while the workstream has attempts left.
func (l *loop) verified(ctx context.Context, n *node, r checkpoint.Resolution, done func(bool)) {
	last := l.x.State().Workstream(n.ws.Name).Error
	l.add(nil, checkpoint.WorkstreamResolved{Workstream: n.ws.Name, Resolution: r, By: l.o.By, Verified: true})
	if r == checkpoint.ResolvedDone {
		l.pl.steps[n.ws.Name] = Step{Kind: WorkstreamStep, Name: n.ws.Name, Decision: Judge}
		l.judgeAll(ctx, n.ws.Gates, l.o.KeepGoing, func(passed bool) { l.judged(n, passed, done) })
		return
	}
	n.tries++
	if n.tries < max(1, n.ws.Retry.Attempts) || n.attempt == 0 {
		l.queue = append(l.queue, func() { l.attemptNext(ctx, n, done) })
		return
	}
	l.failWorkstream(n, *last, done)
}

// leaveUncertain leaves the decision to a person. Nothing that is independent
// of it is lost: what runs may finish.
func (l *loop) leaveUncertain(n *node, done func(bool)) {
	l.cause.uncertain = append(l.cause.uncertain, n.ws.Name)
	l.pl.steps[n.ws.Name] = Step{Kind: WorkstreamStep, Name: n.ws.Name, Decision: Uncertain}
	if !l.o.KeepGoing {
		l.halt(stopPause)
	}
	l.add(func() { done(false) })
}
