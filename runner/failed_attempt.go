package runner

import (
	"context"
	"fmt"
	"time"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/runner/survey"
)

// attemptFailed ends a failed attempt. The next one follows after a pause, unless that is
// backoff.Stop. If the attempt changed artifacts of other workstreams, attemptFailed records
// their content, so that the next attempt starts from these files, even in another run.
func (n *node) attemptFailed(r attemptResult, pause time.Duration) {
	l := n.loop
	shared := n.foreignArtifacts()
	switch {
	case len(shared) == 0:
		n.leftFiles = nil
	case r.notExecuted: // the task was not executed, so it changed no files
		n.leftFiles = n.recordedLeftFiles()
	default:
		l.spawnWork("look at what is left by "+n.ws.Name, workstreamSlot, func(context.Context) func() {
			left, err := l.surveyor.KeepLeftFiles(l.grace, shared)
			return func() {
				n.leftFiles = n.recordableLeftFiles(left, err)
				n.retryOrFail(*r.failure, pause)
			}
		})
		return
	}
	n.retryOrFail(*r.failure, pause)
}

// foreignArtifacts returns the recorded artifacts of other workstreams that a workstream
// may write.
func (n *node) foreignArtifacts() []state.Artifact {
	l := n.loop
	patterns := l.surveyor.Extend(n.ws.ArtifactPatterns)
	if len(patterns) == 0 || n.ws.Isolate != nil { // an attempt in a work tree writes none
		return nil
	}
	st := l.session.State()
	var all []state.Artifact
	for path, owner := range l.surveyor.Owners(st) {
		if owner == n.ws.Name || !tree.MatchesAny(patterns, path) {
			continue
		}
		if a := survey.RecordedArtifact(st, owner, state.Text(path)); a != nil {
			all = append(all, *a)
		}
	}
	return state.SortByPath(all)
}

// recordableLeftFiles returns the files to record for a failed attempt. If they could not
// be read or do not fit in a line of the journal, it returns those of the attempt before.
func (n *node) recordableLeftFiles(left []state.Artifact, err error) []state.Artifact {
	if err == nil {
		err = journal.Recordable(state.WorkstreamFailed{Workstream: n.ws.Name, Left: left})
	}
	if err == nil {
		return left
	}
	n.loop.warnUser(fmt.Sprintf("a resume does not start from what attempt %d of %s left: %s", n.attempt, n.ws.Name, n.loop.opts.Mask(err.Error())))
	return n.recordedLeftFiles()
}

// recordedLeftFiles returns the files on record for the last failed attempt.
func (n *node) recordedLeftFiles() []state.Artifact {
	if rec := n.loop.session.State().Workstream(n.ws.Name); rec.Left != nil {
		return rec.Left.Files
	}
	return nil
}
