package state

import "time"

// WasKilled reports whether the end of the last run was never recorded. No run of a nil
// state was killed.
func (s *State) WasKilled() bool { return s != nil && s.RunningAt != nil }

// CutOff returns the state as it is if the runner of the session was killed: what is on record as
// running was interrupted, but a workstream that must happen only once is uncertain, because it is
// unknown whether it happened. Other states it returns as they are. The caller must know that no
// runner works on the session now.
func (s *State) CutOff() *State {
	if !s.WasKilled() {
		return s
	}
	s = s.Clone()
	gates := func(list []*Gate) {
		for _, g := range list {
			if g.Status == Running {
				g.Status = Interrupted
			}
		}
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			switch {
			case w.Status != Running:
			case w.Once:
				w.Status = Uncertain
			default:
				w.Status = Interrupted
			}
			gates(w.Gates)
		}
		gates(p.Gates)
	}
	return s
}

// InRun returns the state as it is in the run that is on. A failure that an earlier run recorded is no
// failure of this one: its workstream or gate is still to come. A state in which no run is on it returns
// as it is. since is when the owner of the session took the lock; RunningAt is no such time, because it
// moves when other commands record events.
func (s *State) InRun(since time.Time) *State {
	if s.RunningAt == nil {
		return s
	}
	s = s.Clone()
	gates := func(list []*Gate) {
		for _, g := range list {
			if g.Status == Failed && g.At != nil && g.At.Before(since) {
				g.Status, g.Error, g.At, g.DurationMS = Pending, nil, nil, 0
			}
		}
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if w.Status == Failed && !w.Allowed && w.EndedAt != nil && w.EndedAt.Before(since) {
				w.Status, w.Error, w.Reason = Pending, nil, "it failed in an earlier run"
			}
			gates(w.Gates)
		}
		gates(p.Gates)
	}
	return s
}

// EndedUncaptured reports whether the last run ended without a capture of the files:
// Runner was killed, or gave up the capture because of a signal.
func (s *State) EndedUncaptured() bool {
	return s.WasKilled() || s.OwesCheckpoint() && s.Interrupted != "" && !s.wentBack()
}

// OwesCheckpoint reports whether the next run of the session must first make a capture or
// a checkpoint file that the last run did not make.
func (s *State) OwesCheckpoint() bool {
	return s != nil && s.Pause != nil && s.Pause.Reason == PauseCheckpoint
}

// wentBack reports whether the session and its files are as a rollback left them.
func (s *State) wentBack() bool {
	if len(s.Rollbacks) == 0 {
		return false
	}
	last := s.Rollbacks[len(s.Rollbacks)-1]
	return last.Error == "" && last.Scope == RollbackAll && last.To == s.Current
}
