package state

import (
	"slices"
)

// Skip makes a workstream skipped, as WorkstreamSkipped does. If it has no work on record,
// the gates of its phase did not judge any and keep their verdicts.
func (s *State) Skip(w *Workstream, reason Text) {
	become := ""
	if w.WorkSeq > 0 || w.Status == Completed || w.Status == Succeeded {
		become = "is skipped"
	}
	s.resetWorkstream(w, reason, become)
	w.Status, w.Reason = Skipped, reason
	w.WorkSeq, w.Outputs, w.Artifacts = 0, nil, nil
	for _, g := range w.Gates {
		g.resetVerdict(reason)
		g.Status = Skipped
	}
}

// AllSkipped reports whether a phase is skipped with all its workstreams and gates.
func (p *Phase) AllSkipped() bool {
	return p.Status == Skipped && allSkipped(p.Gates) &&
		!slices.ContainsFunc(p.Workstreams, func(w *Workstream) bool { return !w.AllSkipped() })
}

// AllSkipped reports whether a workstream is skipped with all its gates.
func (w *Workstream) AllSkipped() bool { return w.Status == Skipped && allSkipped(w.Gates) }

func allSkipped(gates []*Gate) bool {
	return !slices.ContainsFunc(gates, func(g *Gate) bool { return g.Status != Skipped })
}
