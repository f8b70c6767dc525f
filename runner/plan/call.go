package plan

import (
	"slices"

	"prdrunner/checkpoint/state"
)

// CalledSession says what the run of a step does with the session of the pipeline that its
// workstream calls.
type CalledSession string

// The values of CalledSession. The empty value means that there is no session yet, that it is not
// known whether there is one, that the step does not run, or that what it does follows from
// workstreams that run first.
const (
	Continues CalledSession = "continues"
	BeginsNew CalledSession = "begins_new"
)

// calledSession returns what a step does with the session of a called pipeline.
func (s subject) calledSession(step Step) CalledSession {
	switch {
	case step.Decision != Run && step.Decision != Rerun, s.record.Call == "", !s.digestKnown, s.evalError != "":
		return ""
	case s.forced == "" && len(s.conflicts) == 0 && CallGoesOn(s.record, step.Changes, s.digest):
		return Continues
	}
	return BeginsNew
}

// needSession blocks the step of a call that continues a session which is missing. After a kill the
// build finds out whether the call has begun a session, so that nothing is known before.
func (pl *Planner) needSession(s subject, step Step) Step {
	if pl.facts.MissingSession == nil {
		return step
	}
	why := pl.facts.MissingSession(s.ws, s.record)
	if why == "" {
		return step
	}
	if step.Called = ""; s.record.Status == state.Running {
		return step
	}
	return step.withDecision(Blocked, "%s", why)
}

// CallGoesOn reports whether the next attempt of a workstream that calls a pipeline continues
// the session of its last call. Otherwise the called pipeline begins anew, as a command would.
// changes are what has changed since a result on record, and digest is what the attempt runs
// from.
func CallGoesOn(rec *state.Workstream, changes []Change, digest state.Digest) bool {
	switch {
	case rec.Call == "":
		return false
	case rec.Done() || rec.FailureAllowed():
		return OnlyDefinitionChanged(changes)
	case rec.Error != nil && (rec.Error.Outcome == state.OutcomeResult || rec.Error.Gate != ""):
		return false // the called pipeline is complete, and what it has made is wrong
	}
	return rec.Digest.Inputs == digest.Inputs && !upstreamChanged(rec.Digest, digest)
}

// upstreamChanged reports whether the results that a workstream runs from have changed.
func upstreamChanged(was, is state.Digest) bool {
	if was.Upstream == is.Upstream {
		return false
	}
	names := differingKeys(was.Results, is.Results)
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		return !sameResult(was.Results[name], is.Results[name])
	})
}

// OnlyDefinitionChanged reports whether a call is out of date only because the called file has
// changed, or the values of its variables. A sensitive output of a workstream that ran again
// counts as such a value. The called pipeline then goes on, and decides for each of its own
// workstreams whether it runs again.
func OnlyDefinitionChanged(changes []Change) bool {
	return len(changes) > 0 && !slices.ContainsFunc(changes, func(c Change) bool {
		switch c.Component {
		case "definition", "variables":
			return false
		case "upstream":
			return c.Name == "" || !sameResult(c.Old, c.New)
		}
		return true
	})
}
