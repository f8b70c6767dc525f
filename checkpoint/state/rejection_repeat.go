package state

import (
	"fmt"
	"time"
)

// Ending returns the events that follow the rejection of a gate between two runs, if its
// phase repeats: the rejection ends the iteration, as one during a run does. The next
// iteration begins, or the session fails if there is none. In a session that was killed the
// iteration goes on: what the run left is not settled yet.
func (r Rejection) Ending(at time.Time, e GateRejected) ([]Event, error) {
	owner, had := r.Gate.Owner()
	if had.Iteration == nil || r.State.WasKilled() {
		return nil, nil
	}
	st := r.State.Clone()
	if err := st.ApplyOne(st.Seq, at, e); err != nil {
		return nil, err
	}
	f := Failure{Workstream: had.Name, Gate: r.Gate.Label, Outcome: "rejected", Message: Text("rejected by " + e.By.User)}
	if owner != nil {
		f.Workstream = owner.Name
	}
	if e.Reason != "" {
		f.Message += ": " + e.Reason
	}
	p := st.Phase(had.Name)
	results := st.ComparableResults(p, true)
	why := fmt.Sprintf("%s failed: %s", f.Gate, f.Message)
	if last := p.Iteration.WhyLast(why, results); last != "" {
		return []Event{SessionFailed{Error: Failure{Workstream: p.Name, Outcome: "repeat", Message: Text(last)}}}, nil
	}
	return []Event{PhaseRepeated{Phase: p.Name, Iteration: p.Iteration.Index + 1, Reason: Text(why), Failures: []Failure{f}, Results: results}}, nil
}
