package approval

import (
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// starts says when the workstreams and phases of a session began.
type starts struct {
	workstreams map[string]uint64 // the number of the commit with which each began first
	phases      map[string]uint64
	from        *state.State // with which a compacted journal begins, nil if it has every commit
}

// visit adds a commit of the journal.
func (s *starts) visit(c state.Commit) error {
	if s.workstreams == nil {
		s.workstreams, s.phases = map[string]uint64{}, map[string]uint64{}
	}
	if c.State != nil {
		s.from = c.State
	}
	first := func(began map[string]uint64, name string) {
		if began[name] == 0 {
			began[name] = c.Seq
		}
	}
	for _, e := range c.Events {
		switch e := e.(type) {
		case state.WorkstreamStarted:
			first(s.workstreams, e.Workstream)
		case state.PhaseStarted:
			first(s.phases, e.Phase)
		}
	}
	return nil
}

// of returns the number of the commit with which the workstream or phase began that a gate judges,
// 0 if it began in an earlier session, and its name. It returns an error if that is no longer on record.
func (s *starts) of(g *state.Gate) (seq uint64, name string, err error) {
	ws, phase := g.Owner()
	if ws != nil {
		seq, name = s.workstreams[ws.Name], view.OneLine(ws.Name)
	} else {
		seq, name = s.phases[phase.Name], view.OneLine(phase.Name)
	}
	if s.beganBefore(ws, phase) {
		return 0, name, fmt.Errorf("the journal was compacted since, and no longer says when %s began", name)
	}
	return seq, name, nil
}

// beganBefore reports whether a workstream, or without one a phase, began in this session before the
// first commit of a compacted journal.
func (s *starts) beganBefore(ws *state.Workstream, phase *state.Phase) bool {
	if s.from == nil {
		return false
	}
	if ws != nil {
		w := s.from.Workstream(ws.Name)
		return w != nil && w.Session == "" && w.Attempts > 0
	}
	for _, p := range s.from.Phases {
		if p.Name == phase.Name {
			return p.StartedAt != nil
		}
	}
	return false
}
