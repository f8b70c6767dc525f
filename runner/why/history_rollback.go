package why

import (
	"slices"
	"time"

	"prdrunner/checkpoint/state"
)

// takenBack is why a step runs again whose last run a rollback took back, and how that run ended.
const takenBack = "a rollback took it back"

// rollback is one that took the state of a session back.
type rollback struct{ at, to uint64 } // commits

// goBack takes over the state that a rollback, recorded in a commit, went back to. Runs that it took
// back stay: they are the last ones of steps that have no other.
func (h *History) goBack(at uint64, to *state.State) {
	h.rollbacks = append(h.rollbacks, rollback{at: at, to: to.Seq})
	clear(h.makers)
	for _, s := range h.steps {
		s.digest, s.reason, s.ended, s.retries, s.failed = nil, "", "", false, false
		if len(s.runs) > 0 && h.standing(s, at) == nil {
			s.reason = takenBack
		}
	}
	h.takeOver(to)
	for w := range to.Records() {
		h.of(w.Name).endAt(h, at, w.Reason, endOf(w))
	}
	for g := range to.Gates() {
		h.of(g.Label).endAt(h, at, g.Reason, verdictOf(g))
	}
}

// endAt sets how the last run that stands has ended in the state that a rollback went back to.
func (s *steps) endAt(h *History, at uint64, reason, ended state.Text) {
	if reason != "" {
		s.reason = reason
	}
	r := h.standing(s, at)
	if r == nil || r.skipped {
		return
	}
	s.digestAt = r.seq
	if s.ended = ended; ended != "" || r.asked {
		r.ended = ended
	}
	if ended == "" {
		r.endedAt = time.Time{}
	}
}

// standing returns the last run that counted at a commit: it had begun, and no rollback had taken
// it back.
func (h *History) standing(s *steps, at uint64) *run {
	for _, r := range slices.Backward(s.runs) {
		if r.seq <= at && h.stands(r.seq, at) {
			return r
		}
	}
	return nil
}

// stands reports whether what a commit recorded counted at a later one: no rollback had taken it
// back, or that rollback was undone.
func (h *History) stands(seq, at uint64) bool {
	end := at // of the commits that count
	for _, b := range slices.Backward(h.rollbacks) {
		switch {
		case b.at > end: // it was taken back itself
		case seq > b.at:
			return true
		case seq > b.to:
			return false
		default:
			end = b.to
		}
	}
	return true
}
