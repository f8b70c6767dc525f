package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// hookTimeout bounds a hook without a timeout of its own, since the end of the run waits
// for the hook.
const hookTimeout = time.Minute

// RunHooks runs the hooks of the last run that are on record as due, because Runner was
// killed or had to end at once before they had ended. Their results do not change the
// result of the run. After a signal, RunHooks returns an *InterruptedError.
func RunHooks(ctx context.Context, o Options) error {
	o = o.withDefaults()
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
// hooks as due. Both go into the same commit.
func withHooks(p *pipeline.Pipeline, end state.Event, event pipeline.HookEvent) []state.Event {
	n := len(hooksFor(p, event))
	if n == 0 {
		return []state.Event{end}
	}
	return []state.Event{end, state.HooksDue{Event: string(event), Hooks: n}}
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
	hooks := hooksFor(l.pipeline, event)
	for n := due.Ended + 1; n <= due.Hooks && l.recorder.Err() == nil; n++ {
		var problem string
		switch {
		case l.cause.signal != before || l.atOnce:
			problem = "it was not run, since " + l.cause.signal + " came"
		case n > len(hooks):
			problem = "the pipeline does not have it any more"
		default:
			problem = shorten(l.opts.Mask(l.runHook(hooks[n-1], event, n)))
		}
		if problem != "" {
			l.warnUser(fmt.Sprintf("the %s hook failed: %s", event, problem))
		}
		l.recorder.Add(nil, state.HookEnded{Event: due.Event, Hook: n, Error: state.Text(problem)})
		l.recorder.Drain()
	}
}

// runHook runs a hook, the nth for an event. It returns the reason of a failure, "" after
// success.
func (l *loop) runHook(h *pipeline.Hook, event pipeline.HookEvent, n int) (problem string) {
	inv, diags := h.Invocation(l.planner.Results(true, 0))
	if diags.HasErrors() {
		return string(l.failures.expressionFailure("", "", diags).Message)
	}
	task := l.newTask(fmt.Sprintf("hook.%s.%d", event, n), l.session.State().Resumes+1, inv)
	task.Timeout = cmp.Or(h.Timeout, hookTimeout)
	task.Env["RUNNER_STATUS"] = string(event)
	ended := false
	l.spawnWork(task.ID, gateSlot, func(within context.Context) func() {
		res, err := l.execute(within, task, &startSink{})
		return func() {
			ended = true
			switch {
			case err != nil:
				problem = err.Error()
			case !res.Succeeded():
				problem = string(l.failures.taskFailure("", "", task, res).Message)
			}
		}
	})
	l.runUntil(func() bool { return ended })
	return problem
}
