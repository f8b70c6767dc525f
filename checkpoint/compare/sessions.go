package compare

import (
	"prdrunner/checkpoint/state"
)

// SessionComparison lists the differences between two sessions of a PRD, apart from what they took.
type SessionComparison struct {
	State       []ValueChange    `json:"state"`
	Decisions   []ValueChange    `json:"decisions"` // what the sessions did with workstreams, where that differs
	Phases      []StepChange     `json:"phases"`
	Workstreams []StepChange     `json:"workstreams"`
	Gates       []StepChange     `json:"gates"`
	Metrics     []ValueChange    `json:"metrics"`
	Outputs     []ValueChange    `json:"outputs"` // named WORKSTREAM.NAME
	Artifacts   []ArtifactChange `json:"artifacts"`
}

// Sessions compares two sessions by their states.
func Sessions(a, b *state.State) SessionComparison {
	var c Comparison
	c.compareStates(a, b)
	c.fillLists()
	return SessionComparison{
		State: c.State, Decisions: append([]ValueChange{}, compareValues(decisions(a), decisions(b))...), Phases: c.Phases,
		Workstreams: c.Workstreams, Gates: c.Gates, Metrics: c.Metrics, Outputs: c.Outputs, Artifacts: c.Artifacts,
	}
}

// Same reports whether the sessions are equal.
func (c SessionComparison) Same() bool {
	return len(c.State)+len(c.Decisions)+len(c.Phases)+len(c.Workstreams)+len(c.Gates)+len(c.Metrics)+len(c.Outputs)+len(c.Artifacts) == 0
}

// decisions returns what a session did with each workstream, in the words of a plan. A workstream that
// it did not come to has none.
func decisions(s *state.State) map[string]any {
	values := map[string]any{}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			switch {
			case w.Status == state.Skipped:
				values[w.Name] = "skipped"
			case w.Status == state.Pending:
			case w.Cached != nil:
				values[w.Name] = "cached"
			case w.Session != "":
				values[w.Name] = "reuse"
			default:
				values[w.Name] = "run"
			}
		}
	}
	return values
}
