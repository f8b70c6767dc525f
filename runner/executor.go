package runner

import (
	"context"
	"time"

	"github.com/hashicorp/hcl/v2"
)

// Executor runs one task to its end.
//
// Run must return only when nothing of the task is left behind that could
// still change the workspace, and must honour ctx: when it is cancelled, the
// task is asked to stop, given its grace, and then stopped. Run is idempotent
// by the task's ID: an executor that can, attaches to a task that is still
// running. The error is for what prevents running at all (no log file, no
// memory); whatever the task itself did, even failing to start, is a Result.
//
// An executor may also implement io.Closer. That it finds and ends what a killed
// runner left running is called for before there is an engine, by whoever locks
// the session: checkpoint.Options.EndOrphans.
type Executor interface {
	Run(ctx context.Context, task Task, sink Sink) (Result, error)
}

// Sink receives what becomes known of a task before it ends. Its methods must
// not block, and may be called from another goroutine than Run's caller's.
type Sink interface {
	// Started is called once the process exists.
	Started(pid int)
}

// Task is one attempt at a workstream, a gate or a hook. It is plain data, so
// that it can be handed to another machine.
type Task struct {
	ID      string            `json:"id"`      // session, name and attempt
	Session string            `json:"session"` // all processes of a task carry it as RUNNER_SESSION
	Command []string          `json:"command"` // argv; Command[0] is looked up in PATH
	Dir     string            `json:"dir"`     // absolute
	Env     map[string]string `json:"env"`     // additions to the runner's environment
	Log     string            `json:"log"`     // absolute path of the file for standard output and error, made anew
	Timeout time.Duration     `json:"timeout"` // 0: none
	Grace   time.Duration     `json:"grace"`   // between SIGTERM and SIGKILL
	Mask    bool              `json:"mask"`    // hide sensitive values in the output
	// Ready is when it could have been started first: what was found out about
	// the machine after that holds for it. The zero time is not known.
	Ready time.Time `json:"ready,omitzero"`
	// Declared is where the pipeline says what runs.
	Declared Place `json:"declared,omitzero"`
}

// Place is a part of a file.
type Place struct {
	File   string `json:"file"` // relative to the workspace, as far as it is in it
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Last   int    `json:"last"` // line
}

func placeOf(rng hcl.Range) Place {
	return Place{File: rng.Filename, Line: rng.Start.Line, Column: rng.Start.Column, Last: rng.End.Line}
}

// Outcome is how a task ended.
type Outcome string

// The outcomes of a task.
const (
	Exited        Outcome = "exited"         // with Result.ExitCode
	Signaled      Outcome = "signaled"       // by Result.Signal, not sent by us
	NotFound      Outcome = "not_found"      // no such program
	NotExecutable Outcome = "not_executable" // no permission, wrong format, text busy
	TimedOut      Outcome = "timed_out"
	Cancelled     Outcome = "cancelled" // the context was cancelled
)

// Result is how a task ended.
type Result struct {
	Outcome   Outcome
	ExitCode  int    // for Exited
	Signal    string // for Signaled: "SIGSEGV"
	Detail    string // for NotFound and NotExecutable: the system's words
	Started   time.Time
	Ended     time.Time
	Leftovers []Leftover // processes that outlived the task's main process and were ended
}

// Succeeded reports whether the task exited with code 0.
func (r Result) Succeeded() bool { return r.Outcome == Exited && r.ExitCode == 0 }

// Leftover is a process that was ended because what it belonged to had ended.
type Leftover struct {
	PID     int    `json:"pid"`
	Command string `json:"command"` // argv joined by spaces, as far as known
	Task    string `json:"task"`    // RUNNER_WORKSTREAM, as far as known
}
