package state

// KindPhaseRepeated is the kind of PhaseRepeated.
const KindPhaseRepeated Kind = "phase.repeated"

// PhaseRepeated ends an iteration of a phase and begins the next one: its workstreams and
// gates are pending again.
type PhaseRepeated struct {
	Phase     string    `json:"phase"`
	Iteration int       `json:"iteration"`          // the one that begins, from 2
	Reason    Text      `json:"reason"`             // why the one before was not the last
	Failures  []Failure `json:"failures,omitempty"` // of the one before
	Results   string    `json:"results,omitempty"`  // digest of the results of the one before
}

// Kind implements Event.
func (PhaseRepeated) Kind() Kind { return KindPhaseRepeated }
