package plan

import (
	"cmp"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
)

// EarlierRunsOf returns the results of earlier runs of a workstream.
func (f *Facts) EarlierRunsOf(ws *pipeline.Workstream) []state.Result {
	if f.EarlierRuns == nil || !ws.Cache {
		return nil
	}
	return f.EarlierRuns()[ws.Name]
}

// cachedResult returns the result of an earlier run with the digest that the workstream
// would have now. It returns nil if the last attempt on record has this digest, too:
// then there is another reason to run the workstream again.
func (pl *Planner) cachedResult(ws *pipeline.Workstream, rec *state.Workstream) *state.Result {
	now, diags := pl.currentDigest(ws)
	if diags.HasErrors() {
		return nil
	}
	if rec.Digest.Equal(now) {
		return nil
	}
	results := pl.facts.EarlierRunsOf(ws)
	i := slices.IndexFunc(results, func(r state.Result) bool { return r.Work.Digest.Equal(now) })
	if i < 0 {
		return nil
	}
	return &results[i]
}

// preferCached replaces Run or Rerun by Cached if an earlier run has the result, or by
// Depends if there may be such a result once upstream workstreams have run. A workstream
// that the user chose to run again runs.
func (s subject) preferCached(step Step) Step {
	if s.findCached == nil || s.forced != "" || step.Decision != Run && step.Decision != Rerun {
		return step
	}
	switch result, perhaps := s.findCached(); {
	case result != nil:
		origin := cmp.Or(result.Work.Cached, &state.Cached{Session: result.Session, Attempt: result.Work.Attempt, At: result.At})
		step.Decision, step.Result, step.Cached = Cached, result, origin
	case perhaps:
		step.On = s.rerunFirst
		return step.withDecision(Depends, "on the result of %s", text.Enumerate(s.rerunFirst))
	}
	return step
}
