// Package runner is the engine: it plans a pipeline against the state of its
// session, runs what the plan asks for, and records every boundary.
//
// The way of the data is
//
//	Pipeline + State + Facts → plan.Plan → run loop → Events → journal → views
//
// Package survey gathers the facts, which touches files; package plan decides from them
// and touches none. The run loop (loop.go) starts what was decided in the order that
// package schedule says, and records what came of it. Begin with Build. The engine knows no operating system and no terminal: processes
// run behind Executor, people are asked through Asker, and a View shows the run.
package runner

import (
	"errors"
	"runtime"
	"time"

	"github.com/hashicorp/go-hclog"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
	"prdrunner/runner/survey"
)

// Errors of a build that never got to run. The session is unchanged.
var (
	// ErrStale says that the PRD document changed and nobody decided.
	ErrStale = errors.New("the PRD document changed since the session began")
	// ErrConflict says that artifacts were edited and nobody decided.
	ErrConflict = errors.New("artifacts were edited since they were made")
	// ErrPlanMoved says that a saved plan no longer fits what is there.
	ErrPlanMoved = errors.New("something moved since the plan was made")
	// ErrDeclined says that a person answered no.
	ErrDeclined = errors.New("declined")
)

// Options is what a run consists of. Pipeline, Store, Session, Executor and
// Workspace are required.
type Options struct {
	Pipeline  *pipeline.Pipeline
	Store     *checkpoint.Store
	Session   *checkpoint.Session // locked; without a state unless the run goes on with one
	Executor  Executor
	Views     []View
	Workspace string               // absolute
	Files     *workspace.Workspace // nil: the files of Workspace, without git
	By        checkpoint.Actor
	Version   string

	Fresh             bool                 // begin a new session, whatever the state is
	NoCache           bool                 // run what an earlier run has the result of
	Imported          *checkpoint.Document // begin from a hand-written document
	Predecessor       *checkpoint.State    // begin from this complete session, which was archived; without it, from Session's if that is complete
	Parallel          int                  // at most this many processes at once; 0: number of CPUs
	KeepGoing         bool
	PauseAtGates      bool // stop for review after every gate
	Select            plan.Selection
	Saved             *plan.Plan      // apply exactly this plan, or ErrPlanMoved
	PlanFile          string          // where the plan lies in the workspace, relative with slashes: it is nothing that moved; "": nowhere
	OnConflict        plan.OnConflict // "": ask, but for edits after a gate failed, which are kept
	OnStale           OnStale
	OnCheckpointError OnCheckpointError
	Capture           CaptureAt     // "": CaptureBoundary
	Grace             time.Duration // between SIGTERM and SIGKILL; 0: 10 s

	// Command is how a person types a command of the program here; nil: its name
	// and the arguments.
	Command func(arguments string) string

	// SimilarProgram is the program that may have been meant where a task did not
	// find one, "" where none is like it; nil: nobody knows.
	SimilarProgram func(name string, task Task) string

	// Mask replaces sensitive values in text that will be stored or shown.
	Mask func(string) string

	Asker  Asker
	Git    survey.Git // nil: no git
	Now    func() time.Time
	Logger hclog.Logger

	// Interrupts delivers the signals that ask for a graceful stop, by name:
	// the first checkpoints and stops, the second stops at once.
	Interrupts <-chan string
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
	if o.Mask == nil {
		o.Mask = func(s string) string { return s }
	}
	return o
}

// surveyor returns a surveyor of the workspace's files.
func (o Options) surveyor(w *workspace.Workspace) *survey.Surveyor {
	return survey.New(w, o.Store.Objects(), o.Pipeline, o.PlanFile, o.Mask)
}

// KnownActs returns what is known of workstreams that must happen only once.
func (o Options) knownActs(st *checkpoint.State) ([]checkpoint.Act, error) {
	return survey.KnownActs(o.Store, o.Pipeline, st, o.resumes(st))
}

// EarlierRuns returns what finds the results of earlier runs, nil where none may be taken.
func (o Options) earlierRuns(w *workspace.Workspace) func() map[string][]checkpoint.Result {
	if o.NoCache {
		return nil
	}
	return survey.EarlierRuns(o.Store, o.Pipeline, w)
}

// files returns the workspace's files, and what is to be called when they are
// no longer needed.
func (o Options) files() (*workspace.Workspace, func(), error) {
	if o.Files != nil {
		return o.Files, func() {}, nil
	}
	w, err := o.Store.OpenWorkspace(o.Workspace, nil, workspace.GitOff)
	if err != nil {
		return nil, nil, err
	}
	return w, func() { _ = w.Close() }, nil
}
