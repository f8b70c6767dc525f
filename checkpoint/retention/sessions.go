package retention

import "time"

// Session is what retention needs to know of a session in the history or under failed/.
type Session struct {
	ID       string // repeated in the decision
	PRD      string
	Complete bool      // in the history of its PRD; else under failed/
	EndedAt  time.Time // time of its last event
	Pinned   bool      // a checkpoint of the session is pinned
	Bytes    int64     // freed by its removal
}

// DecideSessions applies a policy to sessions. It keeps sessions under failed/ for
// FailedMaxAge and complete ones for MaxAge. It always keeps sessions that are needed or
// have a pinned checkpoint, and the newest complete session of each PRD, because max_drop
// and max_rise compare the next session with its metrics. It does not use Pass.Usage: the
// size limit applies to checkpoints.
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
		age, why := ages.verdict(s.EndedAt)
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
