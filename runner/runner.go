// Package runner is the engine: it plans a pipeline against the state of its
// session, runs what the plan asks for, and records every boundary.
//
// Data flows this way:
//
//	pipeline.Pipeline + state.State + plan.Facts → plan.Plan → run loop → events → journal → views
//
// Package survey gathers the facts, which touches files; package plan decides from them
// and touches none. The run loop (loop.go) starts workstreams and gates in the order that
// package schedule says, and package record makes the results durable. The engine knows
// no operating system and no terminal: an Executor runs processes, an Asker asks the
// user, and a View shows the run.
//
// Begin with Build (build.go), and read downward: prepare.go makes the plan, begin.go
// starts or resumes the session, phase.go runs a phase, nodes.go decides about a
// workstream, attempt.go runs it, judge.go judges gates, and conclude.go ends the run. A
// new decision belongs in package plan; a new question about files belongs in package
// survey.
//
// The way of one workstream to a durable result:
//
//	phaseRun.run → node.enqueue → node.surveyAndDecide     may it run, must it run?
//	node.protectThen → protect.Keeper                      only if it is protected
//	node.startAttempt → Executor, in a goroutine of its own; in a work tree if it is isolated
//	loop.handleNextEvent → node.finishAttempt → node.recordSuccess, on the loop's goroutine
//	gates (judge.go) → node.bringBack                      only if it is isolated
//	node.complete → record.Recorder                        its event is added to the session
//	loop.advance → record.Recorder → checkpoint.Session    the line is appended and synced
//	record.Recorder → View
//	loop.betweenPhases, or the end → record.Recorder → checkpoint.Session: the checkpoint files
package runner

import (
	"errors"
	"runtime"
	"time"

	"github.com/hashicorp/go-hclog"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/pipeline"
	"prdrunner/runner/issue"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
	"prdrunner/runner/survey"
)

// Errors of a build that ended before it ran anything. The session is unchanged.
var (
	// ErrConflict says that artifacts were edited, and that neither an option nor the
	// user decided what to do with the edits, or that the decision can't be applied.
	ErrConflict = errors.New("artifacts were edited since they were made")
	// ErrPlanOutdated says that a saved plan no longer fits the session or the files.
	ErrPlanOutdated = errors.New("something moved since the plan was made")
	// ErrDeclined says that the user answered no.
	ErrDeclined = errors.New("declined")
)

// Options holds the parts and the settings of a run. Pipeline, Store, Session, Executor
// and Workspace are required.
type Options struct {
	Pipeline  *pipeline.Pipeline
	Store     *checkpoint.Store
	Session   *checkpoint.Session // locked; its state is nil before the first session
	Executor  Executor
	Views     []View
	Workspace string               // absolute
	WorkTrees string               // the directory in which work trees are made; "": one in the user's cache
	Files     *workspace.Workspace // nil: the files of Workspace, without git
	By        state.Actor
	Version   string

	Fresh             bool           // begin a new session even if there is an unfinished one
	NoCache           bool           // run workstreams even if an earlier run has their result
	Imported          *document.File // begin from a hand-written document
	Predecessor       *state.State   // begin from this archived complete session; nil: from the current session, if that is complete
	Parallel          int            // the maximum number of processes at once; 0: number of CPUs
	KeepGoing         bool
	RaiseBudget       bool // budgets that are used up count anew
	PauseAtGates      bool // stop for review after every gate
	Select            plan.Selection
	Saved             *plan.Plan      // apply exactly this plan, or ErrPlanOutdated
	OwnFiles          []string        // files that Runner itself writes, such as that of the saved plan, relative to the workspace with slashes: they don't count as changes of the workspace
	OnConflict        plan.OnConflict // "": ask; except that edits made after a gate failed are kept
	OnStale           OnStale
	OnCheckpointError record.OnFailure
	Capture           CaptureAt     // "": CaptureBoundary
	Grace             time.Duration // between SIGTERM and SIGKILL; 0: 10 s

	// Command returns the command line that the user types to run Runner with these
	// arguments; nil: "runner " and the arguments.
	Command func(arguments string) string

	// Caller is the workstream whose call this run is; nil: no pipeline calls it.
	Caller *state.Caller
	// CallCommand returns the command line of a process that runs a called pipeline in the
	// directory Workspace, and that exits as the command runner does. nil: no pipeline can be
	// called.
	CallCommand func(Call) []string

	// Next returns the command lines that the user can type next for a session in this
	// state. Hooks are told them. nil: none.
	Next func(st *state.State) []state.Text

	// SimilarProgram returns the program that the user may have meant when a task did not
	// find the named program, or "". nil: Runner makes no suggestions.
	SimilarProgram func(name string, task Task) string

	// Mask replaces sensitive values in text that Runner stores or shows.
	Mask func(string) string
	// Hide makes Mask, the Executor and captures hide more values from now on. It may be
	// called by several goroutines at once. Nil: nothing is hidden.
	Hide func([]pipeline.Secret) error

	// Tracer says where the run is in a trace; nil: it is not traced.
	Tracer Tracer

	Asker    Asker
	Git      survey.Git    // nil: no git
	Commands git.Commander // runs the processes that print the issue of the pipeline and secrets
	// Getenv returns a variable of Runner's environment, "" if it is not set. Nil: none is.
	Getenv func(name string) string
	Now    func() time.Time
	Logger hclog.Logger

	// Interrupts delivers the names of signals that ask Runner to stop. On the first,
	// Runner makes a checkpoint and stops; on the second, it stops at once.
	Interrupts <-chan string
	// Requests delivers what the user of this process asks for while it runs, as other processes
	// ask through the inbox of the session. nil: nothing.
	Requests <-chan UserRequest
}

// UserRequest is what the user of this process asks a run for.
type UserRequest struct {
	checkpoint.Request
	// Reply is called once: with nil when the result is durable, or with the reason for refusing the request. A
	// request that the run never receives gets no reply.
	Reply func(refusal error)
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Parallel <= 0 {
		o.Parallel = runtime.NumCPU()
	}
	if o.Capture == "" {
		o.Capture = CaptureBoundary
	}
	if o.Grace <= 0 {
		o.Grace = 10 * time.Second
	}
	if o.Command == nil {
		o.Command = func(arguments string) string { return "runner " + arguments }
	}
	if o.Next == nil {
		o.Next = func(*state.State) []state.Text { return nil }
	}
	if o.Mask == nil {
		o.Mask = func(s string) string { return s }
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Hide == nil {
		o.Hide = func([]pipeline.Secret) error { return nil }
	}
	return o
}

// surveyor returns a Surveyor of the workspace's files.
func (o Options) surveyor(w *workspace.Workspace) *survey.Surveyor {
	s := survey.New(w, o.Store.Objects(), o.Pipeline, o.OwnFiles, o.Mask)
	if o.Pipeline.Issue != nil {
		s.ReadIssue = issue.Reader{Pipeline: o.Pipeline, Files: w, Workspace: o.Workspace, Commander: o.Commands, Mask: o.Mask, Hide: o.Hide}.Read
	}
	s.MissingSession = func(ws *pipeline.Workstream, rec *state.Workstream) string {
		if err := o.missingSession(ws, rec); errors.Is(err, errNoSession) {
			return err.Error()
		}
		return "" // what can't be read is reported when the called pipeline runs
	}
	if o.Caller != nil {
		s.MadeByCallers = func() map[string][]string { return madeByCallers(o.Store, o.Caller) }
	}
	return s
}

// knownActs returns when and where once workstreams have happened, or may have.
func (o Options) knownActs(st *state.State) ([]state.Act, error) {
	return survey.KnownActs(o.Store, o.Pipeline, st, o.resumes(st))
}

// earlierRuns returns a function that finds the results of earlier runs, or nil if the
// run must not use them.
func (o Options) earlierRuns(w *workspace.Workspace) func() map[string][]state.Result {
	if o.NoCache {
		return nil
	}
	return survey.EarlierRuns(o.Store, o.Pipeline, w)
}

// workspaceFiles returns the workspace's files, and a function that the caller must call
// when it no longer needs them.
func (o Options) workspaceFiles() (*workspace.Workspace, func(), error) {
	if o.Files != nil {
		return o.Files, func() {}, nil
	}
	w, err := o.Store.OpenWorkspace(o.Workspace, nil, workspace.GitOff)
	if err != nil {
		return nil, nil, err
	}
	return w, func() { _ = w.Close() }, nil
}
