package state

import "fmt"

// KindPhaseExpanded is the kind of PhaseExpanded.
const KindPhaseExpanded Kind = "phase.expanded"

// PhaseExpanded gives the workstreams of a phase whose for_each uses results of earlier
// phases the instances that these results give.
type PhaseExpanded struct {
	Phase     string         `json:"phase"`
	Instances map[string]int `json:"instances"` // how many each of these workstreams has now, by its label
	Shape     Shape          `json:"shape"`     // of the whole pipeline
}

// Kind implements Event.
func (PhaseExpanded) Kind() Kind { return KindPhaseExpanded }

// expandPhase gives the state the instances of a phase.
func (s *State) expandPhase(e PhaseExpanded) error {
	if s.Phase(e.Phase) == nil {
		return fmt.Errorf("%w: no phase %q", ErrFold, e.Phase)
	}
	s.reshape(e.Shape)
	return nil
}
