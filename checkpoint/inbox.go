package checkpoint

import "time"

// Verb is what a request asks for.
type Verb string

// The verbs.
const (
	VerbApprove Verb = "approve"
	VerbReject  Verb = "reject"
	VerbPause   Verb = "pause"
	VerbResolve Verb = "resolve"
)

// Request is what somebody beside the owner wants done.
type Request struct {
	ID         string     `json:"id"`
	PRD        string     `json:"prd"`
	Verb       Verb       `json:"verb"`
	Gate       string     `json:"gate,omitempty"`
	Workstream string     `json:"workstream,omitempty"`
	Resolution Resolution `json:"resolution,omitempty"`
	Comment    Text       `json:"comment,omitempty"`
	By         Actor      `json:"by"`
	At         time.Time  `json:"at"`
}
