package runner

import (
	"context"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
)

// View shows a run to the user. Its methods are called by a single goroutine, in the order
// of events, and only with durable commits.
type View interface {
	// Begin shows the start of the run. Runner calls it once, when the session has been
	// started or resumed.
	Begin(Beginning)
	// Commit shows the events of a commit of this run. Runner calls it when the commit is
	// durable.
	Commit(state.Commit)
	// Warn shows a message about something that no event records, such as a file that
	// captures leave out.
	Warn(message string)
	// Stop shows that the run stops because of a signal. Runner calls it when the signal
	// arrives, once for the first and once for the second.
	Stop(Stopping)
	// Await shows that the run waits for the answer to a question. Runner calls it when no event
	// of this run says so: an earlier run has asked, or a gate has passed and waits for a review.
	Await(Awaited)
	// End shows how the run ended. Runner calls it once, last.
	End(Ending)
}

// Beginning describes a run that begins.
type Beginning struct {
	PRD     string
	Title   string
	Session string
	Resumed bool
	Git     *state.Git // nil: the workspace is in no git work tree
	Plan    *plan.Plan
	// Pipeline returns the pipeline as it is known by then: a for_each may get its instances during the run.
	// Several goroutines may call it at once. nil: the pipeline is not known.
	Pipeline  func() *pipeline.Pipeline
	Parallel  int  // how many processes run at once at most; 0: not known
	KeepGoing bool // after a failure, what does not depend on it continues
	// PauseAtGates says that the run stops for a person at every gate that has passed.
	PauseAtGates bool
}

// Stopping says how a run stops that a signal has interrupted.
type Stopping struct {
	Signal string
	// KillAt is when Runner kills the processes that have not ended by then. Zero: it kills them
	// at once, since this is the second signal.
	KillAt time.Time
}

// Awaited is a question that a person has not answered.
type Awaited struct {
	Gate    string // its label
	Message string
	Since   time.Time // when it was asked
}

// Ending holds how a run ended.
type Ending struct {
	Status   state.Status
	Error    *state.Failure  // of a failed run
	Failed   []state.Failure // every failure of this run, in order
	Allowed  []state.Failure // the failures of the session that the pipeline allows
	Pause    *state.Pause
	Signal   string // of an interrupted run
	Killed   bool   // the end of the run is not on record; only of a run that was watched
	Duration time.Duration
	Next     []state.Text // the commands to type next
	// Unwritten says that checkpoints could not be written. The session was paused
	// because of it, or the checkpoints were skipped.
	Unwritten bool
}

// Failures returns the failures of this run, or else that of the session.
func (e Ending) Failures() []state.Failure {
	if len(e.Failed) == 0 && e.Error != nil {
		return []state.Failure{*e.Error}
	}
	return e.Failed
}

// Done reports whether the session is complete, or all workstreams that Selection.Only
// chose are done.
func (e Ending) Done() bool {
	return e.Status == state.StatusComplete ||
		e.Status == state.StatusPaused && e.Signal == "" && e.Pause != nil && e.Pause.Reason == state.PauseChosen
}

// Asker asks the user at a terminal. A nil Asker means that there is no terminal: Runner
// then leaves questions open and never answers them in the user's place.
type Asker interface {
	// Approve asks for an approval until the user gives, refuses or postpones it, or
	// until ctx ends, because another command has answered.
	Approve(ctx context.Context, q Question) (Answer, error)
	// Resolve asks what to do with edited artifacts.
	Resolve(ctx context.Context, undecided *ConflictError) (plan.OnConflict, error)
	// Unwritten asks what to do about a checkpoint that can't be written.
	Unwritten(ctx context.Context, problem string) (record.OnFailure, error)
	// Proceed asks whether to continue although something outside the steps changed.
	Proceed(ctx context.Context, s plan.Stale) (bool, error)
}

// Question is the question of a gate for the user.
type Question struct {
	Gate      string // its label
	Message   string
	Approvers []string
	Inputs    []state.AskedInput // what an approval must give
	Review    bool               // the gate has passed, and the question is whether to continue
}

// Verdict is the user's decision.
type Verdict string

// The answers. Later leaves the question open and pauses the session.
const (
	Approve Verdict = "approve"
	Reject  Verdict = "reject"
	Later   Verdict = "later"
)

// Answer is the user's answer to a question.
type Answer struct {
	Verdict Verdict
	Comment string
	Inputs  map[string]state.Text // values of the inputs that the gate declares
	Again   []string              // the workstreams that a rejection asks to run again; none: all that the gate judged
	By      state.Actor
	// To is the verdict that the user was shown. Zero: the answer holds for the open
	// question when it arrives.
	To state.Verdict
}

// OnStale decides whether to continue although the document of the pipeline or its issue
// changed, or the issue could not be read.
type OnStale string

// The decisions about a changed document or issue.
const (
	StaleAsk     OnStale = "ask"
	StaleProceed OnStale = "proceed"
	StaleFail    OnStale = "fail"
)

// CaptureAt says when a run captures the files of the workspace.
type CaptureAt string

// When the files are captured.
const (
	CaptureBoundary CaptureAt = "boundary" // like phase, and also whenever a workstream is complete and nothing else runs
	CapturePhase    CaptureAt = "phase"    // when a run begins and ends, and between phases
	CaptureOff      CaptureAt = "off"      // only to keep files that the run would overwrite
)
