package state

// Document is what a PRD document says: the progress of a pipeline, for people and other
// programs. It has the fields of the original format in their order, and one more, Runner.
// A session may begin from one, so an event carries it. Package document derives it from a
// state, and knows its file and its rules.
type Document struct {
	PRD          string   `json:"prd"`
	Title        string   `json:"prd_title"`
	CurrentPhase int      `json:"current_phase"` // 0 before the first
	Status       Status   `json:"status"`
	Completed    []string `json:"completed_workstreams"`
	InProgress   []string `json:"in_progress_workstreams"`
	Pending      []string `json:"pending_workstreams"`
	// Artifacts are the files of each completed workstream that made some.
	Artifacts    map[string][]string `json:"artifacts"`
	GatesPassed  []string            `json:"gates_passed"` // labels: lint (WS3)
	GatesPending []string            `json:"gates_pending"`
	Timestamp    string              `json:"timestamp"` // ISO 8601
	Error        *DocumentError      `json:"error,omitempty"`
	Notes
	Imported *Imported       `json:"imported,omitempty"` // only before a session begins from it
	Runner   *DocumentRunner `json:"runner,omitempty"`   // nil in a document that was written by hand
}

// DocumentError says why a pipeline failed. Workstream holds the phase if the phase's own
// gate failed.
type DocumentError struct {
	Workstream string `json:"workstream"`
	Message    string `json:"message"`
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
}

// AdversarialReview is the result of a review before the first phase.
type AdversarialReview struct {
	Verdict        ReviewVerdict `json:"verdict"`
	P0Count        int           `json:"p0_count"`
	P1Count        int           `json:"p1_count"`
	Attempt        int           `json:"attempt"` // 1 or 2
	FindingsPath   string        `json:"findings_path,omitempty"`
	OverrideReason string        `json:"override_reason,omitempty"` // with overridden
}

// ReviewVerdict is the verdict of an adversarial review.
type ReviewVerdict string

// The verdicts of an adversarial review.
const (
	VerdictShip          ReviewVerdict = "ship"
	VerdictShipWithGates ReviewVerdict = "ship_with_gates"
	VerdictDoNotShip     ReviewVerdict = "do_not_ship"
	VerdictOverridden    ReviewVerdict = "overridden"
)

// Fix is a change that was made on the way.
type Fix struct {
	File   string `json:"file"`
	Change string `json:"change"`
}

// DocumentRunner is what Runner adds to the format.
type DocumentRunner struct {
	FormatVersion  string   `json:"format_version"`
	Session        string   `json:"session"`
	Seq            uint64   `json:"seq"`
	PipelineDigest string   `json:"pipeline_digest"`
	Skipped        []string `json:"skipped_workstreams"`
	Failed         []string `json:"failed_workstreams,omitempty"` // those whose failure the pipeline allows
	Checksum       string   `json:"checksum"`                     // over the document without it
}
