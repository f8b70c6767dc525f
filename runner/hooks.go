package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/feedback"
	"prdrunner/runner/findings"
	"prdrunner/runner/notice"
	"prdrunner/runner/plan"
)

// hookTimeout bounds a hook without a timeout of its own, since the end of the run waits
// for the hook.
const hookTimeout = time.Minute

// RunHooks runs the hooks of the last run that are on record as due, because Runner was
// killed or had to end at once before they had ended. Their results do not change the
// result of the run. After a signal, RunHooks returns an *InterruptedError.
func RunHooks(ctx context.Context, o Options) error {
	o, err := o.withDefaults().withResults(o.Session.State())
	if err != nil {
		return err
	}
	w, done, err := o.workspaceFiles()
	if err != nil {
		return err
	}
	defer done()
	l := newLoop(ctx, o, w)
	defer l.cancelGrace()
	l.planner = plan.New(l.pipeline, l.session.State(), l.facts, "", &plan.Chosen{})
	l.concluding = true
	l.recordEndedProcesses("", l.session.Orphans())
	l.runHooks()
	switch {
	case l.recorder.Err() != nil:
		return fmt.Errorf("record the hooks of the session: %w", l.recorder.Err())
	case l.cause.signal != "":
		return &InterruptedError{Signal: l.cause.signal}
	}
	return nil
}

// hooksFor returns the hooks of a pipeline for an event.
func hooksFor(p *pipeline.Pipeline, event pipeline.HookEvent) (hooks []*pipeline.Hook) {
	for _, h := range p.Hooks {
		if slices.Contains(h.On, event) {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// withHooks returns the event of the end of a run, followed by an event that records its
// hooks as due. Both go into the same commit. The run took ranMS.
func withHooks(p *pipeline.Pipeline, end state.Event, event pipeline.HookEvent, ranMS int64) []state.Event {
	n := len(hooksFor(p, event))
	if n == 0 {
		return []state.Event{end}
	}
	return []state.Event{end, state.HooksDue{Event: string(event), Hooks: n, RanMS: ranMS}}
}

// runHooks runs the hooks that are due, and records the end of each. Their results do not
// change the result of the run. A signal cancels the running hook, and the remaining hooks
// are not run.
func (l *loop) runHooks() {
	due := l.session.State().Hooks
	if due == nil {
		return
	}
	event, before := pipeline.HookEvent(due.Event), l.cause.signal
	stopped := func() bool { return l.cause.signal != before || l.atOnce }
	hooks := hooksFor(l.pipeline, event)
	for n := due.Ended + 1; n <= due.Hooks && l.recorder.Err() == nil; n++ {
		which, problem := fmt.Sprintf("hook %d for %s", n, event), ""
		if n <= len(hooks) {
			which = l.describeHook(hooks[n-1], event)
		}
		switch {
		case stopped():
			problem = "it was not run, since " + l.cause.signal + " came"
		case n > len(hooks):
			problem = "the pipeline does not have it any more"
		default:
			run := hookRun{Hook: hooks[n-1], loop: l, event: event, which: which, name: disk.HookLog(due.Event, n), stopped: stopped}
			problem = shorten(l.opts.Mask(run.run()))
		}
		if problem != "" {
			l.warnUser(fmt.Sprintf("%s failed: %s", which, problem))
		}
		l.recorder.Add(nil, state.HookEnded{Event: due.Event, Hook: n, Error: state.Text(problem)})
		l.recorder.Drain()
	}
}

// describeHook names a hook for people: hooks have no names, so it says where the hook stands.
func (l *loop) describeHook(h *pipeline.Hook, event pipeline.HookEvent) string {
	return fmt.Sprintf("the %s hook (%s:%d)", event, findings.Relative(h.Range.Filename, l.opts.Workspace, ""), h.Range.Start.Line)
}

// hookRun is a hook that runs after an event.
type hookRun struct {
	*pipeline.Hook
	loop    *loop
	event   pipeline.HookEvent
	which   string      // for people
	name    string      // of its logs
	stopped func() bool // reports whether a signal came since the hooks began
}

// run makes attempts until one succeeds or there is no further one. It returns the reason
// of the last failure, "" after success.
func (r *hookRun) run() (problem string) {
	if err := r.loop.awaitSecrets("the hook", r.Secrets()); err != nil {
		return err.Error()
	}
	inv, diags := r.Invocation(r.loop.results(true, 0))
	if diags.HasErrors() {
		return string(r.loop.failures.expressionFailure("", "", diags).Message)
	}
	pauses := retryPauses(r.Retry)
	for made := 1; ; made++ {
		problem, res := r.attempt(inv)
		pause := pauseAfter(res, r.Retry, pauses)
		switch {
		case problem == "":
			return ""
		case r.stopped() || pause == backoff.Stop:
			if made > 1 {
				problem = fmt.Sprintf("%s (after %d attempts)", problem, made)
			}
			return problem
		}
		r.loop.warnUser(fmt.Sprintf("attempt %d of %d at %s failed, and the next one starts in %s: %s",
			made, r.Retry.Attempts, r.which, pause.Round(time.Millisecond), problem))
		if !r.pause(pause) {
			return fmt.Sprintf("%s; it was not tried again, since %s came", problem, r.loop.cause.signal)
		}
	}
}

// attempt runs the process of the hook. It returns the reason of a failure, "" after
// success.
func (r *hookRun) attempt(inv pipeline.Invocation) (problem string, res Result) {
	l := r.loop
	number := l.nextLog(r.name)
	task := l.newTask(r.name, number, inv)
	task.KeepLog = true // the log says that the hook has run
	task.Timeout = cmp.Or(r.Timeout, hookTimeout)
	task.Env["RUNNER_STATUS"] = string(r.event)
	task.Env["RUNNER_EVENT"] = l.opts.Store.Layout().EventPath(l.pipeline.ID, r.name, number)
	st := l.session.State()
	told := notice.For(st, l.opts.Next(st))
	ended := false
	l.spawnWork(task.ID, gateSlot, func(within context.Context) func() {
		result, err := l.executeTold(within, task, told)
		return func() {
			ended, res = true, result
			switch {
			case err != nil:
				problem = err.Error()
			case !res.Succeeded():
				problem = string(l.failures.taskFailure("", "", task, res).Message)
			}
		}
	})
	l.runUntil(func() bool { return ended })
	return problem, res
}

// executeTold runs the task of a hook. The file of RUNNER_EVENT exists while it runs.
func (l *loop) executeTold(ctx context.Context, task Task, told *notice.Document) (Result, error) {
	path := task.Env["RUNNER_EVENT"]
	defer feedback.Remove(path)
	feedback.AddLogTails(told.Failures, l.readLogTail)
	feedback.AddLogTails(told.Allowed, l.readLogTail)
	if err := feedback.WriteJSON(path, told); err != nil {
		return Result{}, fmt.Errorf("write what the hook is told: %w", err)
	}
	return l.execute(ctx, task, &startSink{})
}

// pause waits before the next attempt, and reports whether there is one: a signal ends the
// hook.
func (r *hookRun) pause(d time.Duration) bool {
	l := r.loop
	ended := false
	l.spawnWork(r.name+" pause", gateSlot, func(within context.Context) func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-within.Done():
		case <-l.grace.Done(): // a second signal cancels no work by within
		}
		return func() { ended = true }
	})
	l.runUntil(func() bool { return ended })
	return !r.stopped()
}
