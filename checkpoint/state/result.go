package state

import "time"

// Result is the work of a completed workstream, as recorded in a session of its PRD.
type Result struct {
	Session string
	At      time.Time // when the workstream completed
	Work    Work
}
