package stream

import "time"

// Begun is shown behind the beginning of a line that has no end yet. What follows is shown on a line
// of its own, unless it is only the end.
const Begun = " …"

// quietTime is how long a log must not grow before a line in it that has no end is shown as it stands.
const quietTime = 2 * time.Second

// Quiet measures how long a log has not grown. A line without an end may be a question to which
// nobody answers, or a row of dots: readers must not wait for its end. The zero Quiet is ready to use.
type Quiet struct{ since time.Time }

// Long is called after each look at a log, at the time now. grew says that there was something new. Long
// reports whether a line that has no end is to be shown.
func (q *Quiet) Long(now time.Time, grew bool) bool {
	if grew || q.since.IsZero() {
		q.since = now
		return false
	}
	return now.Sub(q.since) >= quietTime
}
