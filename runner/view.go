package runner

import (
	"context"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/runner/plan"
)

// View shows a run to somebody. It is called by one goroutine at a time, in order,
// and only with what is durable.
type View interface {
	// Begin is called once, when the session has been started or resumed.
	Begin(Beginning)
	// Commit is called for each commit of this run, after it is durable.
	Commit(checkpoint.Commit)
	// Warn tells what no event does: a hook that failed, a file left alone.
	Warn(message string)
	// End is called once, last.
	End(Ending)
}

// Beginning is what a view learns first.
type Beginning struct {
	PRD      string
	Title    string
	Session  string
	Resumed  bool
	Plan     *plan.Plan
	Parallel int
}

// Ending is how a run ended.
type Ending struct {
	Status   checkpoint.Status
	Error    *checkpoint.Failure  // of a failed run
	Failed   []checkpoint.Failure // every failure of this run, in order
	Pause    *checkpoint.Pause
	Signal   string // of an interrupted run
	Duration time.Duration
	Next     []checkpoint.Text // the commands to type next
	// Unwritten says that checkpoints could not be written, which has been
	// dealt with: the session is paused for it, or they were skipped.
	Unwritten bool
}

// Done reports whether what was asked for is done: the session is complete, or all
// that Selection.Only chose is done.
func (e Ending) Done() bool {
	return e.Status == checkpoint.StatusComplete ||
		e.Status == checkpoint.StatusPaused && e.Signal == "" && e.Pause != nil && e.Pause.Reason == checkpoint.PauseChosen
}

// Asker asks a person at a terminal. A nil Asker means that nobody is there,
// and nothing is ever answered in anybody's place.
type Asker interface {
	// Approve asks for an approval until it is given, refused or put off, or
	// ctx ends, since somebody else may answer from beside.
	Approve(ctx context.Context, q Question) (Answer, error)
	// Resolve asks what to do with artifacts that someone edited.
	Resolve(ctx context.Context, conflicts []plan.Conflict) (plan.OnConflict, error)
	// Unwritten asks what to do about a checkpoint that can't be written.
	Unwritten(ctx context.Context, problem string) (OnCheckpointError, error)
	// Confirm asks a question whose no changes nothing.
	Confirm(ctx context.Context, question string) (bool, error)
}

// Question is what a gate asks.
type Question struct {
	Gate      string // its label
	Message   string
	Approvers []string
	Review    bool // the gate has passed; asked is whether to go on
}

// Verdict is a person's answer.
type Verdict string

// The answers. Later leaves the question open and pauses the session.
const (
	Approve Verdict = "approve"
	Reject  Verdict = "reject"
	Later   Verdict = "later"
)

// Answer is a person's answer to a question.
type Answer struct {
	Verdict Verdict
	Comment string
	By      checkpoint.Actor
	// To is what the person was shown; zero is what is asked when it arrives.
	To checkpoint.Verdict
}

// OnStale decides whether to go on although the PRD document changed.
type OnStale string

// The decisions about a changed PRD document.
const (
	StaleAsk     OnStale = "ask"
	StaleProceed OnStale = "proceed"
	StaleFail    OnStale = "fail"
)

// CaptureAt says when a run captures the files of the workspace.
type CaptureAt string

// When the files are captured.
const (
	CaptureBoundary CaptureAt = "boundary" // as with phase, and whenever a workstream is complete and nothing else runs
	CapturePhase    CaptureAt = "phase"    // when a run begins and ends, and between phases
	CaptureOff      CaptureAt = "off"      // never by itself, but for what would be lost otherwise
)

// OnCheckpointError decides what happens when a checkpoint can't be written.
type OnCheckpointError string

// The decisions about a checkpoint that can't be written.
const (
	CheckpointErrorPause OnCheckpointError = "pause"
	CheckpointErrorRetry OnCheckpointError = "retry"
	CheckpointErrorSkip  OnCheckpointError = "skip"
)
