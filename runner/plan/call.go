package plan

import (
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// CallGoesOn reports whether the next attempt of a workstream that calls a pipeline continues
// the session of its last call. Otherwise the called pipeline begins anew, as a command would.
// changes are what has changed since a result on record, and digest is what the attempt runs
// from.
func CallGoesOn(rec *state.Workstream, changes []Change, digest state.Digest, p *pipeline.Pipeline) bool {
	switch {
	case rec.Call == "":
		return false
	case rec.Done() || rec.FailureAllowed():
		return OnlyDefinitionChanged(changes)
	case rec.Error != nil && (rec.Error.Outcome == state.OutcomeResult || rec.Error.Gate != ""):
		return false // the called pipeline is complete, and what it has made is wrong
	}
	return rec.Digest.Inputs == digest.Inputs && !upstreamChanged(rec.Digest, digest, p)
}

// upstreamChanged reports whether the results that a workstream runs from have changed. A
// workstream with sensitive outputs does not count: it runs again only because they are not stored.
func upstreamChanged(was, is state.Digest, p *pipeline.Pipeline) bool {
	if was.Upstream == is.Upstream {
		return false
	}
	names := differingKeys(was.Results, is.Results)
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		ws := p.Workstream(name)
		return ws == nil || len(ws.SensitiveOutputs) == 0
	})
}

// OnlyDefinitionChanged reports whether a result is out of date only because of how the
// workstream is defined: the called file, or the values that it gets. A called pipeline finds
// out by itself what it must run again for that.
func OnlyDefinitionChanged(changes []Change) bool {
	return len(changes) > 0 && !slices.ContainsFunc(changes, func(c Change) bool {
		return c.Component != "definition" && c.Component != "variables"
	})
}
