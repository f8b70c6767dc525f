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
	results, it := st.comparable(p), p.Iteration
	why := fmt.Sprintf("%s failed: %s", f.Gate, f.Message)
	switch {
	case it.Index >= it.Max:
		return []Event{p.failRepeat(fmt.Sprintf("iteration %d of at most %d has ended, and %s", it.Index, it.Max, why))}, nil
	case results != "" && results == it.Results:
		return []Event{p.failRepeat(fmt.Sprintf("iteration %d changed nothing: its results, files and failures are those of iteration %d", it.Index, it.Index-1))}, nil
	}
	return []Event{PhaseRepeated{Phase: p.Name, Iteration: it.Index + 1, Reason: Text(why), Failures: []Failure{f}, Results: results}}, nil
}

// comparable returns the digest of the results of a phase, "" if nobody can tell whether an
// iteration changed a file: captures have all files of a git work tree, or the phase has
// artifacts.
func (s *State) comparable(p *Phase) string {
	known, files := false, ""
	if c := s.Capture; c != nil {
		known, files = c.Commit != "", c.Listing
	}
	for _, w := range p.Workstreams {
		known = known || len(w.Artifacts) > 0
	}
	if !known {
		return ""
	}
	return p.Results(s.Metrics, files)
}

func (p *Phase) failRepeat(message string) SessionFailed {
	return SessionFailed{Error: Failure{Workstream: p.Name, Outcome: "repeat", Message: Text(message)}}
}
