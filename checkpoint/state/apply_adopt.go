package state

// TakeOver folds an adoption: what ran elsewhere does not run here, and every gate is
// judged, or asked about, again.
func (s *State) TakeOver(seq uint64) {
	const ended = "it was running when the session was adopted"
	s.AdoptedSeq = seq
	s.Hooks = nil // what they tell of was not seen here
	s.settleSteps(ended, ended)
	s.voidVerdicts()
	if s.Status != StatusFailed {
		s.Status = StatusPaused
		s.Pause = &Pause{Reason: PauseAdopted, Message: "its approvals are to be given and its gates judged again, since it was adopted"}
	}
}

// voidVerdicts makes every gate pending that somebody or something has decided.
func (s *State) voidVerdicts() {
	void := func(gates []*Gate) (voided bool) {
		for _, g := range gates {
			if g.Status == Pending || g.Status == Skipped {
				continue
			}
			g.reset("its verdict is from before the session was adopted")
			g.Reviewed = ""
			voided = true
		}
		return voided
	}
	for _, p := range s.Phases {
		void(p.Gates)
	}
	for w := range s.Records() {
		if void(w.Gates) && w.Status == Completed {
			w.Status = Succeeded // its work stands, but not what was said of it
		}
	}
	s.LastGate = ""
}
