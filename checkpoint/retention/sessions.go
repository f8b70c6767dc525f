package retention

import "time"

// Session is a session that was set aside, as retention sees it.
type Session struct {
	ID       string // in the decision
	PRD      string
	Complete bool      // it lies in the history of its PRD; else under failed/
	EndedAt  time.Time // when the last of it was recorded
	Pinned   bool      // a checkpoint of it is pinned
	Bytes    int64     // that its removal frees
}

// DecideSessions applies a policy to sessions that were set aside. Those under
// failed/ are kept for its FailedMaxAge, complete ones for its MaxAge, except
// for those of which a checkpoint is pinned or which are needed, and for the
// newest complete one of each PRD: the next session measures itself against its
// metrics. Usage is not looked at: the size of a PRD presses on its checkpoints.
func DecideSessions(sessions []Session, p Policy, in Pass) Result {
	newest := map[string]int{}
	ended := make([]time.Time, len(sessions))
	for i, s := range sessions {
		ended[i] = s.EndedAt
		if last, known := newest[s.PRD]; s.Complete && (!known || !s.EndedAt.Before(sessions[last].EndedAt)) {
			newest[s.PRD] = i
		}
	}
	complete, failed := newAgeRule(in, p.MaxAge, ended), newAgeRule(in, p.FailedMaxAge, ended)
	result := Result{Decisions: make([]Decision, len(sessions))}
	for i, s := range sessions {
		d := Decision{ID: s.ID, Keep: true}
		ages := failed
		if s.Complete {
			ages = complete
		}
		age, why := ages.judge(s.EndedAt)
		last, known := newest[s.PRD]
		needed, isNeeded := in.Needed[s.ID]
		switch {
		case known && last == i:
			d.Reason = "the newest complete one, which the next is measured against"
		case s.Pinned:
			d.Reason = "a checkpoint of it is pinned"
		case isNeeded:
			d.Reason = "needed: " + needed
		case age == tooOld:
			d.Keep, d.Reason, d.Bytes = false, why, s.Bytes
			result.Freed += s.Bytes
		case age == doubtful:
			d.Reason = why
			result.Doubted++
		default:
			d.Reason = "not old enough"
		}
		result.Decisions[i] = d
	}
	return result
}
