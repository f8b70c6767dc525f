package plan

import (
	"slices"

	"prdrunner/checkpoint/state"
)

// CallGoesOn reports whether the next attempt of a workstream that calls a pipeline continues
// the session of its last call. Otherwise the called pipeline begins anew, as a command would.
// changes are what has changed since a result on record, and upstream is the present digest of
// the results that the workstream runs from.
func CallGoesOn(rec *state.Workstream, changes []Change, upstream string) bool {
	switch {
	case rec.Call == "":
		return false
	case rec.Done() || rec.FailureAllowed():
		return OnlyDefinitionChanged(changes)
	case rec.Error != nil && (rec.Error.Outcome == state.OutcomeResult || rec.Error.Gate != ""):
		return false // the called pipeline is complete, and what it has made is wrong
	}
	return rec.Digest.Upstream == upstream
}

// OnlyDefinitionChanged reports whether a result is out of date only because of how the
// workstream is defined: the called file, or the values that it gets. A called pipeline finds
// out by itself what it must run again for that.
func OnlyDefinitionChanged(changes []Change) bool {
	return len(changes) > 0 && !slices.ContainsFunc(changes, func(c Change) bool {
		return c.Component != "definition" && c.Component != "variables"
	})
}
