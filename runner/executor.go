package runner

import (
	"context"
	"time"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/workspace"
)

// Executor runs one task to its end.
//
// Run must not return before the last process of the task has ended, since any process
// may change the workspace. It must honour ctx: when ctx is cancelled, Run asks the task
// to stop, waits for the task's grace, and then kills it. Run is idempotent by the task's
// ID: an executor that supports it attaches to a task that is already running. Run
// returns an error only if something prevents running at all (no log file, no memory).
// Any end of the task itself, even a failure to start, is a Result.
//
// An executor may also implement io.Closer; Runner calls Close on a second signal to end
// all tasks at once. Processes that outlived a killed Runner are ended by
// checkpoint.Options.EndOrphans when the session is locked, not by Executor.
type Executor interface {
	Run(ctx context.Context, task Task, sink Sink) (Result, error)
}

// Sink receives events of a task before it ends. Its methods must not block, and may be
// called from another goroutine than the one that called Run.
type Sink interface {
	// Started tells the process id when the process has started.
	Started(pid int)
}

// Task is one attempt at a workstream, a gate or a hook. It is plain data, so that it can
// be sent to another machine.
type Task struct {
	ID      string            `json:"id"`              // session, name and attempt
	Session string            `json:"session"`         // all processes of a task carry it as RUNNER_SESSION
	Command []string          `json:"command"`         // argv; Command[0] is looked up in PATH
	Dir     string            `json:"dir"`             // absolute
	Env     map[string]string `json:"env"`             // additions to Runner's environment
	Input   string            `json:"input,omitempty"` // text on standard input; "": standard input is empty
	Log     string            `json:"log"`             // absolute path of the file for standard output and error, which is created anew
	KeepLog bool              `json:"keep_log"`        // keep the log even if nothing was printed
	Timeout time.Duration     `json:"timeout"`         // 0: none
	Grace   time.Duration     `json:"grace"`           // between SIGTERM and SIGKILL
	Mask    bool              `json:"mask"`            // hide sensitive values in the output
	// Ready is the first time at which the task could have started. Whatever an Executor
	// found out about the machine after that time holds for the task. Zero: unknown.
	Ready time.Time `json:"ready,omitzero"`
	// Declared is the place in the pipeline that declares the task.
	Declared Place `json:"declared,omitzero"`

	unready error                // why the task can't be started; nil: it can
	root    string               // the workspace, or the work tree that stands in its place
	files   *workspace.Workspace // the files of root
}

// Place is a part of a file.
type Place struct {
	File   string `json:"file"` // relative to the workspace if it is in the workspace
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Last   int    `json:"last"` // last line
}

func placeOf(rng hcl.Range) Place {
	return Place{File: rng.Filename, Line: rng.Start.Line, Column: rng.Start.Column, Last: rng.End.Line}
}

// Outcome is how a task ended.
type Outcome string

// The outcomes of a task.
const (
	Exited        Outcome = "exited"         // with Result.ExitCode
	Signaled      Outcome = "signaled"       // by Result.Signal, which Runner did not send
	NotFound      Outcome = "not_found"      // no such program
	NotExecutable Outcome = "not_executable" // no permission, wrong format, text busy
	TimedOut      Outcome = "timed_out"
	Cancelled     Outcome = "cancelled" // the context was cancelled
)

// Result holds how a task ended.
type Result struct {
	Outcome   Outcome
	ExitCode  int    // for Exited
	Signal    string // for Signaled: "SIGSEGV"
	Detail    string // for NotFound and NotExecutable: the message of the operating system
	Started   time.Time
	Ended     time.Time
	Leftovers []Leftover // processes that outlived the task's main process and were ended
}

// Succeeded reports whether the task exited with code 0.
func (r Result) Succeeded() bool { return r.Outcome == Exited && r.ExitCode == 0 }

// Leftover is a process that was ended because its task had ended.
type Leftover struct {
	PID     int    `json:"pid"`
	Command string `json:"command"` // argv joined by spaces, "" if unknown
	Task    string `json:"task"`    // RUNNER_WORKSTREAM, "" if unknown
}
