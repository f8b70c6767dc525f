package plan

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// At the end of an iteration of a phase that repeats, the run decides whether another one
// follows. If it was killed before the decision was recorded, or if the phase may repeat more
// often than before, the next run decides. The plan foresees that decision if nothing is left
// to do in the iteration on record: failed work runs again in its iteration.

// UntilIsFalse says why another iteration follows one in which everything passed.
func UntilIsFalse(r *pipeline.Repeat) string { return "until is false: " + r.Until() }

// iterationEnd is how an iteration ends in which nothing is left to do.
type iterationEnd struct {
	next  *state.PhaseRepeated // begins the next iteration; nil: none follows
	fails string               // why the phase fails; "" if it does not, or if that is not known
	diags hcl.Diagnostics
}

// endOfIteration foresees how the iteration of a phase ends. steps are those of its
// workstreams, with their gates.
func (pl *Planner) endOfIteration(phase *pipeline.Phase, steps []Step) (end iterationEnd) {
	rec := pl.st.Phase(phase.Name)
	if phase.Repeat == nil || rec == nil || rec.Iteration == nil || rec.Status == state.Completed || slices.ContainsFunc(steps, pl.isOpen) {
		return end
	}
	e := pl.evaluateWhen(phase.Repeat.Satisfied, true, phase.Repeat.UntilMetrics(), "until")
	switch {
	case e.evalError != "":
		return iterationEnd{fails: e.evalError, diags: e.Diags}
	case e.skipReason == "": // until is true, or not known
		return end
	}
	why, results := UntilIsFalse(phase.Repeat), pl.comparableResults(rec)
	if end.fails = rec.Iteration.WhyLast(why, results); end.fails == "" {
		end.next = &state.PhaseRepeated{Phase: phase.Name, Iteration: rec.Iteration.Index + 1, Reason: state.Text(why), Results: results}
	}
	return end
}

// isOpen reports whether a step has something left to do in its iteration, or is left out by
// the user's selection: a phase of which only some workstreams may run does not repeat.
func (pl *Planner) isOpen(s Step) bool {
	return s.hasWork() || s.Kind == WorkstreamStep && (len(pl.UndecidedConflicts(s)) > 0 || pl.selection.exclusionReason(pl.p.Workstream(s.Name)) != "")
}

// comparableResults returns what an iteration has come to if it is known to be the same as that
// of the iteration before, and "" otherwise. Whether the results on record have the files
// depends on how the run captured them.
func (pl *Planner) comparableResults(rec *state.Phase) string {
	for _, captured := range []bool{true, false} {
		if results := pl.st.ComparableResults(rec, captured); results == rec.Iteration.Results && len(pl.facts.ChangedFiles) == 0 {
			return results
		}
	}
	return ""
}

// beginIteration applies the next iteration of a phase to a copy of the state, as applySkip does
// with a skipped workstream.
func (pl *Planner) beginIteration(next state.PhaseRepeated) {
	pl.copyState()
	_ = pl.st.ApplyOne(pl.st.Seq, pl.st.UpdatedAt, next) // it fails only if next is not the next iteration
}
