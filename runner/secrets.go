package runner

import (
	"context"
	"fmt"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/mask"
	"prdrunner/runner/outputs"
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
	if recorded := r.Workstream; recorded != nil {
		r.Workstream = func(name string) (pipeline.Result, bool) {
			result, ok := recorded(name)
			result.Sensitive = l.heldOutputs[name]
			return result, ok
		}
	}
	return r
}

// hideOutputs has the values of sensitive outputs hidden. Another goroutine than the loop's
// calls it, as soon as they are read.
func (n *node) hideOutputs(o outputs.Set) error {
	var values []pipeline.Secret
	for _, name := range n.ws.SensitiveOutputs {
		value, ok := o.Values[name]
		switch {
		case !ok:
		case mask.TooShort(value):
			return fmt.Errorf("its sensitive output %s has fewer than %d characters, so it can't be masked", name, mask.MinLength)
		default:
			values = append(values, pipeline.Secret{Variable: "the output " + name + " of " + n.ws.Name, Value: value})
		}
	}
	return n.loop.opts.Hide(values)
}

// holdOutputs keeps the values of sensitive outputs in memory, for the processes of this run
// that need them, and takes them out of the record.
func (n *node) holdOutputs(o outputs.Set, record map[string]state.Text) {
	held := make(map[string]string, len(n.ws.SensitiveOutputs))
	for _, name := range n.ws.SensitiveOutputs {
		if value, ok := o.Values[name]; ok {
			held[name], record[name] = value, mask.Replacement
		}
	}
	if len(held) > 0 {
		n.loop.heldOutputs[n.ws.Name] = held
	}
}

// unresolvedError says that a process lacks a sensitive value. Before a process starts, its
// secrets are resolved. The plan makes the workstream of a sensitive output run again, if it
// knows that the output is needed; it does not if that arises during the run.
func (l *loop) unresolvedError(name string) error {
	workstream, output, isOutput := strings.Cut(strings.TrimPrefix(name, "workstream."), ".outputs.")
	if !isOutput {
		return fmt.Errorf("it was not started: %s is not resolved", name)
	}
	return fmt.Errorf("it was not started: the sensitive output %s of %s is not stored, and %s has not run in this run; `%s` runs it again",
		output, workstream, workstream, l.opts.resumeCommand(" --invalidate "+workstream))
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
