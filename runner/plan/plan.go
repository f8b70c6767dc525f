// Package plan decides what a run does with each workstream and gate, and why.
//
// Every decision of the engine is a function of plain values: the pipeline, the state of
// the session, and Facts, which describe the files, the document of the pipeline and git.
// The package reads no file, no clock and no environment, so a decision can be tested with
// a table and is the same in `runner plan` and in a run.
//
// Begin with Planner in planner.go. Planner.Plan decides all steps at once. The run loop
// asks Planner.Workstream and Planner.Gate again before it starts a step, because more
// results are known by then. decide.go decides whether a workstream runs again, gates.go
// whether a verdict still holds, repeat.go whether a phase repeats, and conflicts.go what happens to
// edited artifacts.
// digest.go says what the digest of a workstream covers. Gathering facts, running tasks
// and recording results belong elsewhere.
//
// The tests play sessions on plain values; helpers_test.go has the events of a run as
// functions.
package plan

import (
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
)

// Decision is what a plan does with a step.
type Decision string

// The decisions.
const (
	Reuse     Decision = "reuse"     // done, and nothing that it depends on has changed
	Run       Decision = "run"       // never completed
	Rerun     Decision = "rerun"     // completed once, but something changed
	Cached    Decision = "cached"    // would run, but takes the result of an earlier run with the same digest
	Judge     Decision = "judge"     // the work is done; only its gates are judged
	Depends   Decision = "depends"   // the decision depends on the result of an earlier step
	Blocked   Decision = "blocked"   // a step before it cannot complete, --only leaves it out, or the session is missing that its call continues
	Uncertain Decision = "uncertain" // a once step that the user must resolve
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

// Plan says what a run would do, and why. It is plain data, computed only from the
// pipeline, the state and the facts.
type Plan struct {
	FormatVersion string `json:"format_version"`
	PRD           string `json:"prd"`
	Title         string `json:"title"`
	Session       string `json:"session,omitempty"` // the session whose state the run starts from; "" if the run starts from the beginning
	Seq           uint64 `json:"seq"`               // the commit up to which the state was read
	Status        string `json:"status,omitempty"`  // the status of the session
	// BeginsFrom names that session if it is complete. The run then starts a new session,
	// which takes over its records.
	BeginsFrom *state.Predecessor `json:"begins_from,omitempty"`
	// Follows names the newest earlier session if the plan takes nothing from it. It is
	// nil for a first run and for a run that resumes a session.
	Follows *state.Predecessor `json:"follows,omitempty"`
	// Imported reports whether a run begins with the work that a hand-written PRD document
	// declares done.
	Imported bool `json:"imported,omitempty"`

	MadeAt     time.Time    `json:"made_at"`
	Pipeline   string       `json:"pipeline_digest"`
	ResumeFrom int          `json:"resume_from,omitempty"` // number of the first phase with something to do, or that is known to fail
	Review     *ReviewStep  `json:"review,omitempty"`      // before the first phase; nil: there is none
	Phases     []Phase      `json:"phases"`
	Warnings   []state.Text `json:"warnings"`
	// IssueChange says how the labels and assignees of the issue changed, "" if they did not.
	IssueChange  state.Text    `json:"issue_change,omitempty"`
	Stale        []Stale       `json:"stale"`              // changes that put the whole session in doubt
	Conflicts    []Conflict    `json:"conflicts"`          // edited artifacts that the user has not decided about
	Refused      state.Text    `json:"refused,omitempty"`  // why a build that cannot ask the user refuses the plan
	ChangedFiles []ChangedFile `json:"moved"`              // files that changed since the last run ended
	Selection    Selection     `json:"selection,omitzero"` // the user's --from, --only, --invalidate and --repeat
	OnConflict   OnConflict    `json:"on_conflict,omitempty"`
	Facts        string        `json:"facts"` // the digest of the facts and of what the plan decided

	remakes    bool
	idle       bool
	idleUnread bool // idle, but for an issue that can't be read
}

// Idle reports whether a run would do nothing: every step is done and unchanged, or
// recorded as skipped.
func (p *Plan) Idle() bool { return p.idle }

// Remakes reports whether a run restores an artifact that workstreams have recorded later
// which run again. These must be on record as running again before it is restored, because
// it then differs from what they recorded.
func (p *Plan) Remakes() bool { return p.remakes }

// IdleUnread reports whether a run would do nothing once the user accepts that the issue
// can't be read.
func (p *Plan) IdleUnread() bool { return p.idle || p.idleUnread }

// Phase is a phase of a plan.
type Phase struct {
	Name   string         `json:"name"`
	Title  string         `json:"title"`
	Number int            `json:"number"`
	Repeat *Repeat        `json:"repeat,omitempty"` // nil: the phase runs once
	RunOn  pipeline.RunOn `json:"run_on,omitempty"` // "": it runs when the phases before have passed
	Steps  []Step         `json:"steps"`            // workstreams, each followed by its gates, then the phase's own gates
}

// Repeat says how often a phase may run, and which iteration comes next.
type Repeat struct {
	Iteration int    `json:"iteration"`
	Max       int    `json:"max"`
	Until     string `json:"until,omitempty"` // the condition as in the file; "": until everything passes
	Next      bool   `json:"-"`               // Iteration has not begun: the steps are those of the iteration that follows
}

// Step is one workstream or gate of a plan.
type Step struct {
	Kind     StepKind     `json:"kind"`
	Name     string       `json:"name"` // the workstream's name, or the gate's label
	Title    string       `json:"title,omitempty"`
	Calls    string       `json:"calls,omitempty"` // the file of the pipeline that the workstream calls
	Decision Decision     `json:"decision"`
	Reason   state.Text   `json:"reason"`
	Changes  []Change     `json:"changes,omitempty"`  // what changed, for a rerun
	On       []string     `json:"on,omitempty"`       // the workstreams that the step depends or is blocked on, or the phase
	Restores []state.Text `json:"restores,omitempty"` // artifacts that Runner restores from objects
	Refused  state.Text   `json:"refused,omitempty"`  // why a build that cannot ask the user does not start with this step
	Review   bool         `json:"review,omitempty"`   // the gate's verdict still holds, and the build stops for its review
	Happened *state.Act   `json:"happened,omitempty"` // when and where an uncertain or depending once step happened, or may have happened
	// Isolate says from what the work tree is made in which a workstream runs; "": it runs in
	// the workspace.
	Isolate pipeline.IsolateFrom `json:"isolate,omitempty"`
	// Called says what becomes of the session of the pipeline that the workstream calls.
	Called CalledSession `json:"called,omitempty"`
	// Failed says that the result that is reused is a failure, which the pipeline allows.
	Failed bool `json:"failed,omitempty"`
	// Cached names the earlier run whose result the step takes.
	Cached *state.Cached `json:"cached,omitempty"`
	Verify bool          `json:"verify,omitempty"` // Runner asks the verify command of an uncertain step before it asks the user

	Result  *state.Result   `json:"-"` // the result that a cached step takes
	Ended   pipeline.Status `json:"-"` // failed or blocked, if that is how it has ended in this run
	Repeats bool            `json:"-"` // --repeat runs the step although it has happened
}

// Change is one difference that makes a step run again.
type Change struct {
	Component string     `json:"component"`      // definition, inputs, upstream, variables, artifacts
	Name      state.Text `json:"name,omitempty"` // the file, variable or workstream that changed
	Old       string     `json:"old,omitempty"`
	New       string     `json:"new,omitempty"`
	// OldText and NewText are the old and the new value, quoted. They are empty if the
	// value is not known or must not be shown.
	OldText state.Text `json:"old_text,omitempty"`
	NewText state.Text `json:"new_text,omitempty"`
}

// Stale is a change outside the steps that puts the whole session in doubt.
type Stale struct {
	What string     `json:"what"` // "document", "issue" or "git branch"
	Path state.Text `json:"path"` // the path of the document, the number of the issue, or the name of the branch
	Old  string     `json:"old"`
	New  string     `json:"new"`
	Gone bool       `json:"gone,omitempty"` // the branch no longer exists
	// Problem says why the issue can't be read.
	Problem state.Text `json:"problem,omitempty"`
	// Difference is the unified difference of the texts, "" if the old one is not kept.
	Difference state.Text `json:"difference,omitempty"`
}

// ChangedFile is a file that changed since the last run ended.
type ChangedFile struct {
	Path state.Text           `json:"path"`
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
