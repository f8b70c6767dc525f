package runner

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"prdrunner/pipeline"
)

// hookTimeout is how long a hook may take that names no timeout of its own:
// the result of the run waits for it.
const hookTimeout = time.Minute

// runHooks runs the hooks of a boundary that is on record. What they do
// changes no result; a signal ends them.
func (l *loop) runHooks(event pipeline.HookEvent) {
	for i, h := range l.p.Hooks {
		if h.Event != event || l.atOnce || l.cause.signal != "" && event != pipeline.HookInterrupted {
			continue
		}
		inv, diags := h.Invocation(l.pl.results(true, 0))
		if diags.HasErrors() {
			l.warn(fmt.Sprintf("the %s hook failed: %s", event, l.diagnosed("", "", diags).Message))
			continue
		}
		task := l.task(fmt.Sprintf("hook.%s.%d", event, i+1), l.x.State().Resumes+1, inv)
		task.Timeout = cmp.Or(h.Timeout, hookTimeout)
		task.Env["RUNNER_STATUS"] = string(l.x.State().Status)
		l.runHook(event, task)
	}
}

func (l *loop) runHook(event pipeline.HookEvent, task Task) {
	ended := false
	l.spawn(task.ID, gateSlot, func(within context.Context) func() {
		res, err := l.execute(within, task, &began{})
		return func() {
			ended = true
			switch {
			case err != nil:
				l.warn(fmt.Sprintf("the %s hook failed: %v", event, err))
			case !res.Succeeded():
				l.warn(fmt.Sprintf("the %s hook failed: %s", event, l.describe("", "", task, res).Message))
			}
		}
	})
	l.cycle(func() bool { return ended })
}
