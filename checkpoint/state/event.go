package state

import (
	"time"

	"prdrunner/checkpoint/ledger"
)

// Event is one thing that happened. Each kind is a struct of its own, whose
// JSON form gets the field "kind" in front.
type Event interface {
	Kind() Kind
}

// Actor is the user and the process that did something.
type Actor struct {
	User string `json:"user,omitempty"`
	Host string `json:"host,omitempty"`
	PID  int    `json:"pid,omitempty"`
}

// Shape is what a pipeline consists of, as far as the state must know it to be
// understood without the pipeline.
type Shape struct {
	Phases []PhaseShape `json:"phases"`
	Agents []AgentShape `json:"agents,omitempty"`
}

// PhaseShape is a phase's part of a Shape.
type PhaseShape struct {
	Name        string            `json:"name"`
	Title       string            `json:"title,omitempty"` // where it is not the name
	Workstreams []WorkstreamShape `json:"workstreams"`
	Gates       []string          `json:"gates,omitempty"` // bare names
	// MaxIterations is how often the phase may run its workstreams; 0: it does not repeat.
	MaxIterations int `json:"max_iterations,omitempty"`
}

// WorkstreamShape is a workstream's part of a Shape.
type WorkstreamShape struct {
	Name  string   `json:"name"`
	Title string   `json:"title,omitempty"` // where it is not the name
	Batch int      `json:"batch,omitempty"`
	Once  bool     `json:"once,omitempty"`  // its effect must not happen twice
	Agent string   `json:"agent,omitempty"` // the agent that does it
	Gates []string `json:"gates,omitempty"` // bare names
}

// FileRef is a file and its content: Digest is "sha256:…", or "" if the file did not
// exist.
type FileRef struct {
	Path   Text   `json:"path"`
	Digest string `json:"digest,omitempty"`
}

// Git is where the work tree stood. Commit is the full hash, "" before the
// first commit; Branch is "" when HEAD is detached.
type Git struct {
	Branch Text   `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
}

// SessionStarted begins a session; it is the first event of a journal.
type SessionStarted struct {
	FormatVersion string                      `json:"format_version"`
	Session       string                      `json:"session"`
	PRD           string                      `json:"prd"`
	Title         string                      `json:"title"`
	Type          string                      `json:"type,omitempty"`
	Pipeline      FileRef                     `json:"pipeline"`
	Document      *FileRef                    `json:"document,omitempty"`
	Issue         *Issue                      `json:"issue,omitempty"`
	Git           *Git                        `json:"git,omitempty"`
	Shape         Shape                       `json:"shape"`
	Sensitive     []string                    `json:"sensitive,omitempty"` // variables whose values must stay secret
	Variables     map[string]string           `json:"variables,omitempty"` // the values that were given for others, as JSON
	Baseline      map[string]Metric           `json:"baseline,omitempty"`  // metrics of the last complete session
	Imported      *Document                   `json:"imported,omitempty"`  // the hand-written document it goes on from
	Acts          []Act                       `json:"acts,omitempty"`      // workstreams that must happen only once, and have happened, or may have, in earlier sessions
	Caller        *Caller                     `json:"caller,omitempty"`    // the workstream that calls the pipeline; nil: none
	From          *State                      `json:"from,omitempty"`      // the complete session it goes on from, without its history
	Captured      map[string]ledger.Knowledge `json:"captured,omitempty"`  // knowledge that was captured in earlier sessions
	Trace         string                      `json:"trace,omitempty"`     // the root span of the run, as a traceparent of W3C Trace Context; "": it is not traced
	Settings      *RunSettings                `json:"settings,omitempty"`  // how the run was asked to work
	By            Actor                       `json:"by"`
	Version       string                      `json:"version"` // of the runner
}

// RunSettings are the options of a run that its progress depends on. They are recorded for commands that show the
// run from another process; no plan reads them.
type RunSettings struct {
	Parallel     int  `json:"parallel"`                 // how many processes run at once at most
	KeepGoing    bool `json:"keep_going,omitempty"`     // after a failure, what does not depend on it continues
	PauseAtGates bool `json:"pause_at_gates,omitempty"` // the run stops for a person at every gate that has passed
}

// SessionResumed goes on with a session. Shape is present when the pipeline
// has another one now.
type SessionResumed struct {
	Pipeline  FileRef           `json:"pipeline"`
	Document  *FileRef          `json:"document,omitempty"`
	Issue     *Issue            `json:"issue,omitempty"`
	Git       *Git              `json:"git,omitempty"`
	Title     string            `json:"title,omitempty"`
	Shape     *Shape            `json:"shape,omitempty"`
	Sensitive []string          `json:"sensitive,omitempty"` // variables whose values must stay secret
	Variables map[string]string `json:"variables,omitempty"` // the values that were given for others, as JSON
	Trace     string            `json:"trace,omitempty"`     // as in SessionStarted
	Settings  *RunSettings      `json:"settings,omitempty"`
	By        Actor             `json:"by"`
	Version   string            `json:"version"`
}

// PauseReason is why a session waits for a person.
type PauseReason string

// The reasons for a pause.
const (
	PauseApproval   PauseReason = "approval"   // an approval gate was asked
	PauseReview     PauseReason = "review"     // a gate with pause = true passed
	PauseRequested  PauseReason = "requested"  // runner pause
	PauseTimeout    PauseReason = "timeout"    // the session's own timeout
	PauseUncertain  PauseReason = "uncertain"  // a once step whose end is unknown
	PauseCheckpoint PauseReason = "checkpoint" // a checkpoint could not be written
	PauseRollback   PauseReason = "rollback"   // a rollback went back to this state
	PauseAdopted    PauseReason = "adopted"    // it was adopted: gates are judged again
	PauseChosen     PauseReason = "chosen"     // everything that --only chose is done
	PauseBudget     PauseReason = "budget"     // a budget is used up
	PauseCall       PauseReason = "call"       // a called pipeline is paused
)

// SessionPaused stops a session until a person acts.
type SessionPaused struct {
	Reason  PauseReason  `json:"reason"`
	Gates   []string     `json:"gates,omitempty"`       // labels of the gates it waits at
	Steps   []string     `json:"workstreams,omitempty"` // the uncertain ones
	Calls   []PausedCall `json:"calls,omitempty"`       // the called pipelines that are paused
	Message Text         `json:"message,omitempty"`
	RanMS   int64        `json:"ran_ms,omitempty"` // the running time, by a monotonic clock; also below
}

// SessionFailed ends a run because something failed; the session can be resumed.
type SessionFailed struct {
	Error Failure `json:"error"`
	RanMS int64   `json:"ran_ms,omitempty"`
}

// SessionInterrupted ends a run because a signal asked for it.
type SessionInterrupted struct {
	Signal string `json:"signal"` // "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"
	// Uncaptured is set if the files could not be captured; it says what to do.
	Uncaptured Text  `json:"uncaptured,omitempty"`
	RanMS      int64 `json:"ran_ms,omitempty"`
}

// SessionCompleted ends a session: everything passed or was skipped.
type SessionCompleted struct {
	RanMS int64 `json:"ran_ms,omitempty"`
}

// SessionAbandoned gives a session up. It is archived next.
type SessionAbandoned struct {
	By     Actor `json:"by"`
	Reason Text  `json:"reason,omitempty"`
}

// SessionAdopted takes over a session that was recorded elsewhere: no earlier verdict
// holds.
type SessionAdopted struct {
	By Actor `json:"by"`
}

// HooksDue announces the hooks of the end of a run, in the commit that ends it. If this
// runner is killed, the next build runs those that have no HookEnded.
type HooksDue struct {
	Event string `json:"event"`            // complete, failed, paused or interrupted
	Hooks int    `json:"hooks"`            // how many the pipeline has
	RanMS int64  `json:"ran_ms,omitempty"` // that of the event which ends the run
}

// HookEnded records that a hook has run, with success or not.
type HookEnded struct {
	Event string `json:"event"`
	Hook  int    `json:"hook"` // its number among those for the event, from 1
	Error Text   `json:"error,omitempty"`
}

// PauseAsked records a request to pause at the next boundary.
type PauseAsked struct {
	By     Actor `json:"by"`
	Reason Text  `json:"reason,omitempty"`
}

// PhaseStarted enters a phase.
type PhaseStarted struct {
	Phase string `json:"phase"`
}

// PhaseCompleted leaves a phase whose workstreams and gates have all passed.
type PhaseCompleted struct {
	Phase      string `json:"phase"`
	DurationMS int64  `json:"duration_ms"`
}

// PhaseSkipped passes over a phase, with all its workstreams and gates.
type PhaseSkipped struct {
	Phase  string `json:"phase"`
	Reason Text   `json:"reason"`
}

// WorkstreamStarted begins an attempt. Digest says what the attempt runs from.
type WorkstreamStarted struct {
	Workstream string `json:"workstream"`
	Attempt    int    `json:"attempt"`
	Digest     Digest `json:"digest"`
	Call       string `json:"call,omitempty"` // of a workstream that calls a pipeline: see Caller
}

// WorkstreamAttemptFailed ends an attempt that will be repeated.
type WorkstreamAttemptFailed struct {
	Workstream string     `json:"workstream"`
	Attempt    int        `json:"attempt"`
	Error      Failure    `json:"error"`
	RetryInMS  int64      `json:"retry_in_ms"`
	Left       []Artifact `json:"left,omitempty"` // as in Left
}

// Work is the result of a successful attempt.
type Work struct {
	Attempt    int             `json:"attempt"`
	DurationMS int64           `json:"duration_ms"`
	Digest     Digest          `json:"digest"`
	Outputs    map[string]Text `json:"outputs,omitempty"`
	Metrics    map[string]any  `json:"metrics,omitempty"` // json.Number, bool or string
	Artifacts  []Artifact      `json:"artifacts,omitempty"`
	Summary    Text            `json:"summary,omitempty"`
	Location   Text            `json:"location,omitempty"`
	Cached     *Cached         `json:"cached,omitempty"` // the earlier run whose result this is; nil: it was run
}

// Cached names the run whose result was taken in place of a new one.
type Cached struct {
	Session string    `json:"session"`
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"` // when that run completed
}

// Artifact is a file that a workstream made. Digest is "sha256:…" of its
// bytes, or of a symbolic link's target.
type Artifact struct {
	Path   Text   `json:"path"` // relative to the workspace, slash-separated
	Size   int64  `json:"size"`
	Mode   uint32 `json:"mode"` // permission bits, and 0o120000 for a symbolic link
	Digest string `json:"digest"`

	// LeftOut says that its bytes were not kept, since it looks sensitive: it
	// is in no checkpoint, and never restored.
	LeftOut bool `json:"left_out,omitempty"`

	// Change is what the workstream did to the file; "" for nothing or unknown. The
	// session sets it when the event is added.
	Change FileChange `json:"change,omitempty"`
}

// FileChange is what a workstream did to a file.
type FileChange string

// Changes of files are differences from the files on record when a workstream completed
// last.
const (
	FileCreated  FileChange = "created"
	FileModified FileChange = "modified"
)

// WorkstreamSucceeded says that the work is done and its gates come next.
type WorkstreamSucceeded struct {
	Workstream string `json:"workstream"`
	Work       Work   `json:"work"`
	// Held says that the work was done in a work tree: its artifacts are kept as objects, and
	// are not in the workspace yet. The workstream is still running then. nil: it was done in
	// the workspace.
	Held *Held `json:"held,omitempty"`
}

// WorkstreamCompleted says that a workstream and its gates are done. Work is
// present when no WorkstreamSucceeded came before.
type WorkstreamCompleted struct {
	Workstream string `json:"workstream"`
	Work       *Work  `json:"work,omitempty"`
}

// WorkstreamFailed ends the last attempt, or gives up the next one.
type WorkstreamFailed struct {
	Workstream string     `json:"workstream"`
	Error      Failure    `json:"error"`
	Left       []Artifact `json:"left,omitempty"`    // as in Left, where it ends an attempt
	Allowed    bool       `json:"allowed,omitempty"` // the pipeline allows the failure, so it fails nothing else
	// NotBegun says that the pipeline that the workstream calls has no session. The next
	// attempt begins one.
	NotBegun bool `json:"not_begun,omitempty"`
}

// WorkstreamInterrupted ends an attempt that was stopped with the run, or in which nothing ran.
type WorkstreamInterrupted struct {
	Workstream string `json:"workstream"`
	Attempt    int    `json:"attempt"`
	NotBegun   bool   `json:"not_begun,omitempty"` // as in WorkstreamFailed
	WaitsFor   string `json:"waits_for,omitempty"` // the paused session of the pipeline that it calls
	Reason     Text   `json:"reason,omitempty"`    // why nothing ran in it; "": it was stopped with the run
}

// WorkstreamUncertain says that it is not known whether a workstream happened that must
// happen only once.
type WorkstreamUncertain struct {
	Workstream string `json:"workstream"`
	// Attempt counts the starts that only a later copy of this session knows, over
	// which this copy was imported. 0: the attempts on record are all.
	Attempt int `json:"attempt,omitempty"`
	// SameAs names a removed workstream that may be this one under another name.
	SameAs string  `json:"same_as,omitempty"`
	Error  Failure `json:"error"`
}

// Resolution decides an uncertain workstream.
type Resolution string

// The resolutions.
const (
	ResolvedDone  Resolution = "done"
	ResolvedRerun Resolution = "rerun"
)

// WorkstreamResolved decides an uncertain workstream: by a person, or by its
// verify command.
type WorkstreamResolved struct {
	Workstream string     `json:"workstream"`
	Resolution Resolution `json:"resolution"`
	By         Actor      `json:"by"`
	Verified   bool       `json:"verified,omitempty"` // by the verify command
	Digest     *Digest    `json:"digest,omitempty"`   // if done: what it counts as run from; nil: not known
	Work       *Work      `json:"work,omitempty"`     // if done: its earlier record, and the outputs that the user gave; nil: none
	Reason     Text       `json:"reason,omitempty"`
}

// WorkstreamSkipped passes over a workstream and its gates.
type WorkstreamSkipped struct {
	Workstream string `json:"workstream"`
	Reason     Text   `json:"reason"`
}

// WorkstreamInvalidated makes a workstream pending again, and its gates too.
type WorkstreamInvalidated struct {
	Workstream string `json:"workstream"`
	Reason     Text   `json:"reason"`
	Call       string `json:"call,omitempty"` // the call that goes on nevertheless; "": the next attempt makes a new one
}

// WorkstreamEdited records the artifacts of a finished workstream as a person changed
// them.
type WorkstreamEdited struct {
	Workstream string     `json:"workstream"`
	Artifacts  []Artifact `json:"artifacts"`
	Edited     []Text     `json:"edited"` // the paths that changed
}

// GateStarted begins the judging of a gate.
type GateStarted struct {
	Gate    string `json:"gate"`    // its label, as in all gate events
	Attempt int    `json:"attempt"` // how often it was judged, this time included
}

// Verdict says what a gate's judgement holds for.
type Verdict struct {
	Gate       string `json:"gate"`
	Definition string `json:"definition"` // digest of the gate's own definition
	Judged     string `json:"judged"`     // digest of the files and values that the gate judged
	Seen       *Seen  `json:"seen,omitempty"`
}

// Same reports whether two verdicts judge the same thing by the same definition.
func (v Verdict) Same(o Verdict) bool {
	return v.Gate == o.Gate && v.Definition == o.Definition && v.Judged == o.Judged
}

// GatePassed is the verdict of a gate that passed. With Review the session stops for
// review.
type GatePassed struct {
	Verdict
	Value      any   `json:"value,omitempty"` // of the metric
	DurationMS int64 `json:"duration_ms"`
	Review     bool  `json:"review,omitempty"`
}

// GateFailed is the verdict of a gate that failed.
type GateFailed struct {
	Verdict
	Value      any     `json:"value,omitempty"`
	DurationMS int64   `json:"duration_ms"`
	Error      Failure `json:"error"`
}

// GateAsked asks a person for approval.
type GateAsked struct {
	Verdict
	Message   Text         `json:"message"`
	Approvers []string     `json:"approvers,omitempty"`
	ExpiresAt *time.Time   `json:"expires_at,omitempty"`
	Inputs    []AskedInput `json:"inputs,omitempty"`
}

// GateApproved is a person's approval. It counts as a review too.
type GateApproved struct {
	Verdict
	By      Actor           `json:"by"`
	Comment Text            `json:"comment,omitempty"`
	Inputs  map[string]Text `json:"inputs,omitempty"` // the values that were given, and defaults
}

// GateRejected is a person's rejection. The workstreams in To, or else those that the gate
// judged, run again on resume.
type GateRejected struct {
	Verdict
	By     Actor           `json:"by"`
	Reason Text            `json:"reason,omitempty"`
	Inputs map[string]Text `json:"inputs,omitempty"`
	To     []string        `json:"to,omitempty"`
}

// GateSkipped passes over a gate; a skipped gate is not passed.
type GateSkipped struct {
	Gate   string `json:"gate"`
	Reason Text   `json:"reason"`
}

// GateVoided makes a gate pending again, since its verdict no longer holds.
type GateVoided struct {
	Gate   string `json:"gate"`
	Reason Text   `json:"reason"`
}

// GateReviewed says that a person looked at a passed gate with pause = true,
// and wants to go on.
type GateReviewed struct {
	Gate    string `json:"gate"`
	By      Actor  `json:"by"`
	Comment Text   `json:"comment,omitempty"`
}

// ProcessesEnded lists processes that were still running after their workstream, or their
// runner, had ended, and were ended.
type ProcessesEnded struct {
	Workstream string    `json:"workstream,omitempty"`
	Processes  []Process `json:"processes"`
}

// Process is a process that had to be ended.
type Process struct {
	PID     int  `json:"pid"`
	Command Text `json:"command,omitempty"`
}

// Trigger is why a checkpoint was made.
type Trigger string

// The triggers.
const (
	TriggerStart              Trigger = "start"
	TriggerPhaseTransition    Trigger = "phase_transition"
	TriggerBatchComplete      Trigger = "batch_complete"
	TriggerWorkstreamComplete Trigger = "workstream_complete"
	TriggerIterationComplete  Trigger = "iteration_complete"
	TriggerGatePassed         Trigger = "gate_passed"
	TriggerConflictStart      Trigger = "conflict_start"
	TriggerConflictResolved   Trigger = "conflict_resolved"
	TriggerUserInterrupt      Trigger = "user_interrupt"
	TriggerSessionEnd         Trigger = "session_end"
	TriggerManual             Trigger = "manual"
	TriggerFailure            Trigger = "failure"
	TriggerPause              Trigger = "pause"
	TriggerComplete           Trigger = "complete"
	TriggerPreRollback        Trigger = "pre_rollback"
)

// CheckpointCreated names a restorable point. Its sequence number is that of
// the commit it stands in: the state it restores is the fold up to and
// including that commit.
type CheckpointCreated struct {
	ID       string   `json:"id"`
	Trigger  Trigger  `json:"trigger"`
	Phase    string   `json:"phase,omitempty"`
	Step     int      `json:"step"`
	StepName string   `json:"step_name,omitempty"`
	Reason   Text     `json:"reason,omitempty"`
	Created  int      `json:"created,omitempty"`  // files that the step made
	Modified int      `json:"modified,omitempty"` // files that the step changed
	Git      *Git     `json:"git,omitempty"`
	Removes  []string `json:"removes,omitempty"` // the checkpoints that retention drops because this one was made
	// Conflict is the reported conflict whose start or end the checkpoint is for. It is
	// "" for a conflict about edited files.
	Conflict string `json:"conflict,omitempty"`
	// Uncaptured says that capturing the files failed. A rollback restores those of
	// the last capture before it.
	Uncaptured bool `json:"uncaptured,omitempty"`
	// AsCaptured says that the files did not differ from the last capture, although
	// work was recorded since.
	AsCaptured bool `json:"as_captured,omitempty"`
	// WorkTree says how the files of the git work tree differ from HEAD. nil: as in the
	// state, or git was not asked.
	WorkTree *WorkTree `json:"work_tree,omitempty"`
	// WorkTreeSame says that git was asked again, after work was recorded or files were
	// captured, and that the files differ from HEAD as in the state.
	WorkTreeSame bool `json:"work_tree_same,omitempty"`
}

// CheckpointsRemoved removes checkpoints, for retention or on a person's request.
type CheckpointsRemoved struct {
	IDs    []string `json:"ids"`
	Reason Text     `json:"reason"`
	// Empties says that the captures and objects of a complete session are removed
	// too, except those that the remaining checkpoints need.
	Empties bool `json:"empties,omitempty"`
}

// CheckpointSkipped records that checkpoints could not be written and the run went on. IDs
// is empty where only the document could not be written.
type CheckpointSkipped struct {
	IDs   []string `json:"ids"`
	Error Text     `json:"error"`
}
