package state

// WasKilled reports whether the end of the last run was never recorded. No run of a nil
// state was killed.
func (s *State) WasKilled() bool { return s != nil && s.RunningAt != nil }

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
