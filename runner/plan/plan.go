// Package plan decides what a run does with each workstream and gate, and why.
//
// It holds every decision of the engine as a function of plain values: the pipeline,
// the state of the session, and Facts, which are the files, documents and git as they
// were found. It reads no file, no clock and no environment, so a decision can be tested
// with a table and is the same in `runner plan` and in a run.
//
// Begin with Planner in planner.go. Planner.Plan decides all steps at once; the run loop
// asks Planner.Workstream and Planner.Gate again when it comes to a step, since it knows
// more by then. Below them, decide.go and gates.go hold one deciding function each.
// When a workstream runs again is decided in decide.go, what its digest covers in digest.go.
// Gathering facts, running tasks and recording what happened belong elsewhere.
package plan

import (
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
)

// Decision is what a plan does with a step.
type Decision string

// The decisions.
const (
	Reuse     Decision = "reuse"     // proved done, and still valid
	Run       Decision = "run"       // never completed
	Rerun     Decision = "rerun"     // completed once, but something changed
	Cached    Decision = "cached"    // would run, but an earlier run from the same digest has the result
	Judge     Decision = "judge"     // the work is done; only the gate is judged again
	Depends   Decision = "depends"   // on the result of an earlier step
	Blocked   Decision = "blocked"   // something before it has failed or waits
	Uncertain Decision = "uncertain" // a once step that a person must resolve
	Skipped   Decision = "skipped"
)

// StepKind tells workstreams and gates apart.
type StepKind string

// The kinds of step.
const (
	WorkstreamStep StepKind = "workstream"
	GateStep       StepKind = "gate"
)

// FormatVersion is the version of a plan's JSON form.
const FormatVersion = "1.0"

// Plan is what a run would do, and why. It is made by a pure function of
// pipeline, state and facts, and is plain data.
type Plan struct {
	FormatVersion string `json:"format_version"`
	PRD           string `json:"prd"`
	Title         string `json:"title"`
	Session       string `json:"session,omitempty"` // of the state it goes on from, "" for a session from the beginning
	Seq           uint64 `json:"seq"`               // of that state
	Status        string `json:"status,omitempty"`  // of that state
	// BeginsFrom is that state's session where it is complete: a run is a new
	// session that begins with its records.
	BeginsFrom *checkpoint.Predecessor `json:"begins_from,omitempty"`
	// Follows is the newest session where the plan takes nothing from one: neither
	// that of a first run, nor of going on.
	Follows *checkpoint.Predecessor `json:"follows,omitempty"`
	// Imported says that a run begins with what a document written by hand says is done.
	Imported bool `json:"imported,omitempty"`

	MadeAt     time.Time         `json:"made_at"`
	Pipeline   string            `json:"pipeline_digest"`
	ResumeFrom int               `json:"resume_from,omitempty"` // number of the first phase with something to do
	Phases     []Phase           `json:"phases"`
	Warnings   []checkpoint.Text `json:"warnings"`
	Stale      []Stale           `json:"stale"`              // what the session was about has changed
	Conflicts  []Conflict        `json:"conflicts"`          // artifacts that someone edited
	Refused    checkpoint.Text   `json:"refused,omitempty"`  // why a build refuses it, where nobody can be asked
	Moved      []Moved           `json:"moved"`              // files that changed since the last run ended
	Selection  Selection         `json:"selection,omitzero"` // what was chosen to run again, or only
	OnConflict OnConflict        `json:"on_conflict,omitempty"`
	Facts      string            `json:"facts"` // digest of everything the plan was made from

	idle bool
}

// Idle reports whether a run would do nothing: every step is done and unchanged, or
// recorded as skipped.
func (p *Plan) Idle() bool { return p.idle }

// Phase is a phase of a plan.
type Phase struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Number int    `json:"number"`
	Steps  []Step `json:"steps"` // workstreams, each followed by its gates, then the phase's own gates
}

// Step is one workstream or gate of a plan.
type Step struct {
	Kind     StepKind          `json:"kind"`
	Name     string            `json:"name"` // a gate's is its label
	Title    string            `json:"title,omitempty"`
	Decision Decision          `json:"decision"`
	Reason   checkpoint.Text   `json:"reason"`
	Changes  []Change          `json:"changes,omitempty"`  // what changed, for a rerun
	On       []string          `json:"on,omitempty"`       // what it depends or is blocked on
	Restores []checkpoint.Text `json:"restores,omitempty"` // artifacts that are put back from objects
	Refused  checkpoint.Text   `json:"refused,omitempty"`  // why a build does not begin with it, where nobody can be asked
	Review   bool              `json:"review,omitempty"`   // a gate's verdict stands, and the build stops for its review
	Happened *checkpoint.Act   `json:"happened,omitempty"` // when and where an uncertain or depending step has happened, or may have
	// Cached names the run whose result is taken.
	Cached *checkpoint.Cached `json:"cached,omitempty"`
	Verify bool               `json:"verify,omitempty"` // of an uncertain step the verify command is asked before a person is

	Result  *checkpoint.Result `json:"-"` // of a cached step
	Repeats bool               `json:"-"` // --repeat runs it although it has happened
}

// Change is one difference that makes a step run again.
type Change struct {
	Component string          `json:"component"`      // definition, inputs, upstream, variables, artifacts
	Name      checkpoint.Text `json:"name,omitempty"` // of the file, variable or workstream
	Old       string          `json:"old,omitempty"`
	New       string          `json:"new,omitempty"`
	// OldText and NewText are the old and the new value, quoted, if they are known and
	// may be shown.
	OldText checkpoint.Text `json:"old_text,omitempty"`
	NewText checkpoint.Text `json:"new_text,omitempty"`
}

// Stale is a change outside the steps that puts the whole session in doubt.
type Stale struct {
	What string          `json:"what"` // "PRD document" or "git branch"
	Path checkpoint.Text `json:"path"` // of the document, or the name of the branch
	Old  string          `json:"old"`
	New  string          `json:"new"`
	Gone bool            `json:"gone,omitempty"` // it does not exist any more
}

// Conflict is an artifact that is not what its workstream left behind.
type Conflict struct {
	Path       checkpoint.Text `json:"path"`
	Workstream string          `json:"workstream"`
	Recorded   string          `json:"recorded"`
	Found      string          `json:"found"`                // "" when the file is missing
	Kept       bool            `json:"restorable,omitempty"` // its recorded bytes are an object, so that it can be put back
	// Difference shows the edit line by line, or describes it if the file is not text.
	// It is set when the user has to decide.
	Difference checkpoint.Text `json:"difference,omitempty"`
}

// Moved is a file that is not as it was when the last run ended.
type Moved struct {
	Path checkpoint.Text      `json:"path"`
	Kind workspace.ChangeKind `json:"kind"`
}

// Count returns how many workstreams have the given decision.
func (p *Plan) Count(d Decision) int {
	n := 0
	for _, phase := range p.Phases {
		for _, s := range phase.Steps {
			if s.Kind == WorkstreamStep && s.Decision == d {
				n++
			}
		}
	}
	return n
}

// OnConflict decides artifacts that someone edited, also of work that
// has yet to be judged. Where nobody has chosen, it is as ConflictAsk, but edits
// after a gate of the work failed are kept: so people mend what a gate found.
type OnConflict string

// The decisions about edited artifacts.
const (
	ConflictAsk     OnConflict = "ask"
	ConflictRestore OnConflict = "restore"
	ConflictKeep    OnConflict = "keep"
	ConflictFail    OnConflict = "fail"
)
