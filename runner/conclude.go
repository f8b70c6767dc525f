package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
)

// conclude records how the run ended, makes the last checkpoint, and runs the
// hooks, in this order.
func (l *loop) conclude(ctx context.Context) (Ending, error) {
	event, trigger, hook := l.verdictOfRun()
	for _, label := range slices.Collect(maps.Keys(l.asked)) {
		l.close(label)
	}
	if l.fatal == nil {
		l.readGit(ctx)
		l.x.Add(event)
		l.checkpoint(trigger, "")
		l.settle(ctx)
	}
	st := l.x.State()
	e := Ending{
		Status: st.Status, Error: st.Error, Failed: l.cause.failures, Pause: st.Pause, Signal: l.cause.signal,
		Duration: l.o.Now().Sub(l.began),
	}
	if l.fatal == nil && !l.atOnce {
		l.runHooks(ctx, hook)
	}
	for _, v := range l.o.Views {
		v.End(e)
	}
	if l.fatal != nil {
		return e, fmt.Errorf("record the session: %w", l.fatal)
	}
	return e, nil
}

// verdictOfRun says how the run ended. Nothing but a session in which
// everything passed or was skipped is complete.
func (l *loop) verdictOfRun() (checkpoint.Event, checkpoint.Trigger, pipeline.HookEvent) {
	switch {
	case l.cause.signal != "":
		return checkpoint.SessionInterrupted{Signal: l.cause.signal}, checkpoint.TriggerUserInterrupt, pipeline.HookInterrupted
	case len(l.cause.failures) > 0:
		return checkpoint.SessionFailed{Error: l.cause.failures[0]}, checkpoint.TriggerFailure, pipeline.HookFailed
	case l.status == stopTimeout:
		return paused(checkpoint.PauseTimeout, "the session's timeout of "+l.p.Timeout.String()+" is over", nil),
			checkpoint.TriggerSessionEnd, pipeline.HookPaused
	case len(l.cause.uncertain) > 0:
		e := paused(checkpoint.PauseUncertain, list(l.cause.uncertain)+" may or may not have happened", nil)
		e.Steps = l.cause.uncertain
		return e, checkpoint.TriggerPause, pipeline.HookPaused
	case l.cause.derived != nil:
		return paused(checkpoint.PauseCheckpoint, l.cause.derived.Error(), nil), checkpoint.TriggerPause, pipeline.HookPaused
	case len(l.asked) > 0:
		labels := slices.Sorted(maps.Keys(l.asked))
		return paused(checkpoint.PauseApproval, "waiting for an approval of "+list(labels), labels), checkpoint.TriggerPause, pipeline.HookPaused
	case len(l.cause.reviews) > 0:
		return paused(checkpoint.PauseReview, "stopped for review after "+list(l.cause.reviews), l.cause.reviews), checkpoint.TriggerPause, pipeline.HookPaused
	case l.everythingDone():
		return checkpoint.SessionCompleted{}, checkpoint.TriggerComplete, pipeline.HookComplete
	case l.cause.requested:
		return paused(checkpoint.PauseRequested, "a pause was asked for", nil), checkpoint.TriggerPause, pipeline.HookPaused
	default:
		return paused(checkpoint.PauseRequested, "only some workstreams were chosen", nil), checkpoint.TriggerPause, pipeline.HookPaused
	}
}

func paused(reason checkpoint.PauseReason, message string, gates []string) checkpoint.SessionPaused {
	return checkpoint.SessionPaused{Reason: reason, Gates: gates, Message: checkpoint.Text(message)}
}

// everythingDone reads it from the state, and trusts nothing else.
func (l *loop) everythingDone() bool {
	for _, p := range l.x.State().Phases {
		if p.Status != checkpoint.Completed && p.Status != checkpoint.Skipped {
			return false
		}
		for _, w := range p.Workstreams {
			if w.Status != checkpoint.Completed && w.Status != checkpoint.Skipped || !allPassed(w.Gates) {
				return false
			}
		}
		if !allPassed(p.Gates) {
			return false
		}
	}
	return true
}

func allPassed(gates []*checkpoint.Gate) bool {
	for _, g := range gates {
		if g.Status != checkpoint.Passed && g.Status != checkpoint.Skipped {
			return false
		}
	}
	return true
}

// checkpoint adds a checkpoint to what is recorded next, if the policy has it.
func (l *loop) checkpoint(t checkpoint.Trigger, reason string) {
	l.x.Checkpoint(t, reason, l.git)
}

// settle makes everything durable and writes what is derived from it.
func (l *loop) settle(ctx context.Context) {
	l.drain(ctx)
	if l.fatal != nil {
		return
	}
	l.writeDerived(ctx, true)
}

// derive writes the PRD document when its interval has passed.
func (l *loop) derive(ctx context.Context) {
	if l.fatal == nil && l.cause.derived == nil {
		l.writeDerived(ctx, false)
	}
}

// writeDerived writes checkpoint files and documents. A failure is never
// passed over: it is retried, and then the configuration decides.
func (l *loop) writeDerived(ctx context.Context, force bool) {
	err := l.x.WriteDerived(ctx, force)
	if err != nil {
		pauses := backoff.NewExponentialBackOff(backoff.WithInitialInterval(100 * time.Millisecond))
		err = backoff.Retry(func() error { return l.x.WriteDerived(ctx, force) }, backoff.WithContext(backoff.WithMaxRetries(pauses, 3), ctx))
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	l.warn(fmt.Sprintf("a checkpoint could not be written: %v", err))
	switch l.o.OnCheckpointError {
	case CheckpointErrorSkip:
		l.x.Add(checkpoint.CheckpointSkipped{Error: checkpoint.Text(err.Error())})
		l.drain(ctx)
	case CheckpointErrorPause, CheckpointErrorRetry, "":
		l.cause.derived = err
		l.halt(stopPause)
	}
}

// runHooks runs the hooks of a boundary. What they do changes no result.
func (l *loop) runHooks(ctx context.Context, event pipeline.HookEvent) {
	for i, h := range l.p.Hooks {
		if h.Event != event {
			continue
		}
		inv, diags := h.Invocation(l.pl.results(true))
		if diags.HasErrors() {
			l.warn("the " + string(event) + " hook failed: " + string(l.diagnosed("", "", diags).Message))
			continue
		}
		task := l.task("hook."+string(event), i+1, inv)
		task.Timeout = h.Timeout
		task.Env["RUNNER_STATUS"] = string(l.x.State().Status)
		res, err := l.o.Executor.Run(ctx, task, discard{})
		switch {
		case err != nil:
			l.warn(fmt.Sprintf("the %s hook failed: %v", event, err))
		case !res.Succeeded():
			l.warn(fmt.Sprintf("the %s hook failed: %s", event, l.describe("", "", task, res).Message))
		}
	}
}
