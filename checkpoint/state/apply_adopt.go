package state

// TakeOver folds the adoption of a session that came from elsewhere. Running workstreams
// become interrupted, and every gate is judged, or asked about, again.
func (s *State) TakeOver(seq uint64) {
	const ended = "it was running when the session was adopted"
	s.AdoptedSeq = seq
	s.Hooks, s.Protections = nil, nil // the hooks belong to a run on another machine, and the safety checkpoints stayed there
	s.stopSteps(ended, ended)
	s.voidVerdicts()
	if s.Status != StatusFailed {
		s.Status = StatusPaused
		s.Pause = &Pause{Reason: PauseAdopted, Message: "its approvals are to be given and its gates judged again, since it was adopted"}
	}
}

// voidVerdicts makes every gate pending that has a verdict or waits for one.
func (s *State) voidVerdicts() {
	void := func(gates []*Gate) (voided bool) {
		for _, g := range gates {
			if g.Status == Pending || g.Status == Skipped {
				continue
			}
			g.resetVerdict("its verdict is from before the session was adopted")
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
			w.Status = Succeeded // the work is still done; its gates are not passed
		}
	}
	s.LastGate = ""
	s.Review = s.Review.voided()
}
