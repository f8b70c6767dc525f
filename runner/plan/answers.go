package plan

import (
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// answerOf returns the answer on record to an approval that has passed or was skipped.
func answerOf(st *state.State, label string) (pipeline.Answer, bool) {
	g := st.Gate(label)
	if g == nil || g.Status != state.Passed && g.Status != state.Skipped {
		return pipeline.Answer{}, false
	}
	answer := pipeline.Answer{Inputs: make(map[string]string, len(g.Inputs)), Skipped: g.Status == state.Skipped}
	for name, text := range g.Inputs {
		answer.Inputs[name] = string(text)
	}
	return answer, true
}

// answerOutcome reports whether a gate will ask again, so that its answer may be another
// one, and whether it cannot ask. The plan has decided the gates that are judged before
// whatever uses their answers; in a run, they have been judged by then.
func (pl *Planner) answerOutcome(g *state.Gate) (pending, blocked bool) {
	if pl.stateAtStart == nil {
		return g.Status != state.Passed && g.Status != state.Skipped, false
	}
	switch step := pl.gates[g.Label]; step.Decision {
	case Reuse, Skipped:
		return false, false
	case Blocked, Uncertain:
		return false, true
	case Run, Rerun, Cached, Judge, Depends:
	}
	return true, false
}

// addAnswers adds to the workstreams that run before ws, and to those that cannot complete,
// the gates whose answers ws uses.
func (pl *Planner) addAnswers(ws *pipeline.Workstream, rerun, blocked []string) (rerunFirst, stuck []string) {
	for _, label := range ws.Answers {
		switch pending, cannot := pl.upstreamOutcome(label); {
		case cannot:
			blocked = appendNew(blocked, []string{label})
		case pending:
			rerun = appendNew(rerun, []string{label})
		}
	}
	return rerun, blocked
}

// plannedAnswer returns the answer to an approval that a plan expects.
func (pl *Planner) plannedAnswer(label string) (pipeline.Answer, bool) {
	if pl.gates[label].Decision == Skipped {
		return pipeline.Answer{Skipped: true}, true
	}
	return answerOf(pl.st, label)
}
