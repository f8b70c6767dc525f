package runner

import (
	"context"

	"prdrunner/pipeline"
)

// withSecrets calls then when the secrets that a process needs are resolved, or with the
// error. Resolving one may take long, so that is work like any other.
func (l *loop) withSecrets(id string, s slot, names []string, then func(error)) {
	if l.secrets.Resolved(names) {
		then(nil)
		return
	}
	l.spawnWork("secrets of "+id, s, func(within context.Context) func() {
		err := l.secrets.Resolve(within, names)
		return func() { then(err) }
	})
}

// awaitSecrets resolves the secrets that a process needs, while nothing else runs.
func (l *loop) awaitSecrets(id string, names []string) (err error) {
	if l.secrets.Resolved(names) {
		return nil
	}
	ended := false
	l.withSecrets(id, gateSlot, names, func(failure error) { err, ended = failure, true })
	l.runUntil(func() bool { return ended })
	return err
}

// results returns what the expressions of a process that is about to start may refer to.
func (l *loop) results(needed bool, attempt int) pipeline.Results {
	r := l.planner.Results(needed, attempt)
	r.Secret = l.secrets.Value
	return r
}

// resolveThen resolves the secrets of the next attempt, and then starts the attempt.
func (n *node) resolveThen(start func()) {
	l := n.loop
	l.withSecrets(n.ws.Name, workstreamSlot, n.ws.Secrets(), func(err error) {
		switch {
		case !n.mayStart():
			n.giveUpStart()
		case err != nil:
			n.recordFailure(*l.failures.executionFailure(n.ws.Name, err))
		default:
			start()
		}
	})
}
