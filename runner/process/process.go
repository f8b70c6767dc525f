// Package process is the local executor. It runs a task as a process on this machine,
// supervises it, and ends everything that it started.
//
// Only code that starts, signals or finds processes belongs here. Package runner decides
// what to run and when, and interprets the result.
//
// Begin with Executor.Run. It prepares (environ.go, lookup_*.go, programs.go, output.go),
// starts and waits (spawn_*.go), stops on a timeout or a cancellation (task.go), and ends
// the processes that outlived the main process (leftovers_*.go) before it reaps the main
// process. Orphans that end earlier are reaped at once (reaper_*.go). Executor.Recover (recover_*.go) finds the processes that a killed Runner left.
// Commander runs the programs that Runner itself needs. To support another system, write
// its process_*.go and commander_*.go.
//
// Operating systems allow this to different degrees:
//
//   - Linux: everything. Runner becomes a subreaper, so that every orphan of a task becomes
//     its child. A child dies with Runner.
//   - macOS and other Unixes: the process group is signalled, ended and reported as one.
//     Processes that left the group are not found, Recover finds nothing, and children
//     survive a SIGKILL of Runner.
//   - Windows: a job object holds the processes of a task, and the system ends them with
//     it, even if Runner is killed. They are not reported. A process that is started in the
//     moment before the main process is in the job escapes. Asking to end is a Ctrl+Break;
//     without a console it is an immediate kill. Recover finds nothing.
//
// On Linux an orphan becomes a child of the whole program, as does an orphan of another
// Executor. A program should therefore have one Executor. Processes that it starts by other
// means (os/exec) must stay in the program's process group, which distinguishes them from
// orphans.
package process

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"prdrunner/runner"
)

// Errors of Run.
var (
	// ErrClosed is the error of Run after Close.
	ErrClosed = errors.New("the executor is closed")
	// ErrRunning is the error of Run if another task with the same ID is running.
	ErrRunning = errors.New("a task with this id is running already")
	// ErrUnkillable is returned together with a result if a process of the task does not
	// end after SIGKILL: it hangs in the kernel, or belongs to another user.
	ErrUnkillable = errors.New("a process does not end although it was killed")
)

// DefaultRecoverGrace is the time between SIGTERM and SIGKILL in Recover.
const DefaultRecoverGrace = 5 * time.Second

// Options configures an Executor. The zero value is usable: no masking, an empty
// environment, no log.
type Options struct {
	// Mask wraps a writer in one that hides sensitive values. It is used for the output of
	// tasks with Task.Mask, and for the command lines of leftovers. Nil hides nothing.
	Mask func(io.Writer) io.WriteCloser
	// BaseEnv is the environment of every child, before Task.Env. The caller filters it.
	BaseEnv []string
	// RecoverGrace is the time between SIGTERM and SIGKILL in Recover. 0 means
	// DefaultRecoverGrace.
	RecoverGrace time.Duration
	// Now is the clock of Result.Started and Result.Ended. Nil: time.Now.
	Now func() time.Time
	// Logger may be nil.
	Logger hclog.Logger
}

// Executor runs tasks as processes of this machine. It is safe for concurrent use.
type Executor struct {
	options       Options
	environ       environment
	null          *os.File // standard input of every child without a text
	nonce         string   // marks the tasks of this executor
	system        system   // the system-specific state
	reaper        reaper
	programs      programs
	leftoverDelay time.Duration

	runs sync.WaitGroup

	// forks is read-locked from before a fork until the child is registered. A goroutine
	// that holds the write lock therefore sees no unregistered child. It is locked before
	// mu.
	forks sync.RWMutex

	mu      sync.Mutex
	closed  bool            // Close was called: tasks are killed without a grace
	count   int             // number of tasks so far
	ids     map[string]bool // ids of the tasks in Run
	running map[int]*task   // by pid, until the process is reaped
}

var (
	_ runner.Executor = (*Executor)(nil)
	_ io.Closer       = (*Executor)(nil)
)

// New returns an Executor. On Linux it makes the program a subreaper, permanently.
func New(options Options) (*Executor, error) {
	if options.Logger == nil {
		options.Logger = hclog.NewNullLogger()
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.RecoverGrace == 0 {
		options.RecoverGrace = DefaultRecoverGrace
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("open the standard input of tasks: %w", err)
	}
	sys, err := newSystem()
	if err != nil {
		return nil, errors.Join(err, null.Close())
	}
	e := &Executor{
		options:       options,
		environ:       newEnvironment(options.BaseEnv),
		null:          null,
		nonce:         rand.Text(),
		system:        sys,
		leftoverDelay: leftoverDelay,
		ids:           map[string]bool{},
		running:       map[int]*task{},
	}
	e.startReaper()
	return e, nil
}

// Close kills all running tasks without a grace, and returns when every Run has returned. A
// second Ctrl+C calls it.
func (e *Executor) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		e.runs.Wait()
		return nil
	}
	e.closed = true
	for _, t := range e.running {
		t.stopTask(runner.Cancelled, 0)
	}
	e.mu.Unlock()
	e.runs.Wait()
	e.stopReaper()
	return errors.Join(e.null.Close(), e.system.close())
}

// Run runs a task until it and everything that it started have ended.
//
// A timeout or a cancelled context decides the outcome, even if the process then exits with
// 0. On Linux, if the process ended before, its exit decides. A process that outlives the
// main process by more than leftoverDelay is ended, with the task's grace, and reported in
// Result.Leftovers.
func (e *Executor) Run(ctx context.Context, work runner.Task, sink runner.Sink) (runner.Result, error) {
	result := runner.Result{Started: e.options.Now()}
	t, err := e.newTask(work)
	if err != nil {
		return result, fmt.Errorf("run task %q: %w", work.ID, err)
	}
	defer e.dismiss(t)
	if ctx.Err() != nil {
		result.Outcome, result.Ended = runner.Cancelled, e.options.Now()
		return result, nil
	}
	out, err := e.openOutput(work)
	if err != nil {
		return result, fmt.Errorf("run task %q: %w", work.ID, err)
	}
	if t.input, err = openInput(work.Input); err != nil {
		return result, errors.Join(fmt.Errorf("run task %q: %w", work.ID, err), out.finish())
	}
	onWorkerThread(func() { err = e.supervise(ctx, t, out, sink, &result) })
	t.input.finish()
	err = errors.Join(err, out.finish())
	if !work.KeepLog {
		removeEmpty(work.Log)
	}
	result.Ended = e.options.Now()
	if err != nil {
		return result, fmt.Errorf("run task %q: %w", work.ID, err)
	}
	return result, nil
}

// newTask registers the task's id, and gives it its token.
func (e *Executor) newTask(work runner.Task) (*task, error) {
	if len(work.Command) == 0 || work.Command[0] == "" {
		return nil, errors.New("the command is empty")
	}
	if !filepath.IsAbs(work.Dir) {
		return nil, fmt.Errorf("the working directory %q is not absolute", work.Dir)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	if e.ids[work.ID] {
		return nil, ErrRunning
	}
	if work.ID != "" {
		e.ids[work.ID] = true
	}
	e.count++
	e.runs.Add(1)
	return &task{work: work, executor: e, token: e.tokenPrefix() + strconv.Itoa(e.count)}, nil
}

// tokenPrefix returns the beginning of the tokens of all tasks of this executor.
func (e *Executor) tokenPrefix() string {
	return strconv.Itoa(os.Getpid()) + "-" + e.nonce + "-"
}

func (e *Executor) dismiss(t *task) {
	e.mu.Lock()
	delete(e.ids, t.work.ID)
	e.mu.Unlock()
	e.runs.Done()
}

// register adds a started task to running. If Close was called after newTask, it stops the
// task.
func (e *Executor) register(t *task) {
	e.mu.Lock()
	e.running[t.pid] = t
	closed := e.closed
	e.mu.Unlock()
	if closed {
		t.stopTask(runner.Cancelled, 0)
	}
}

// supervise starts the process and waits until it has ended. It runs on one OS thread,
// which must live as long as the process (see onWorkerThread).
func (e *Executor) supervise(ctx context.Context, t *task, out *output, sink runner.Sink, result *runner.Result) error {
	failure, err := e.startTask(t, out)
	if err != nil {
		return err
	}
	if failure != nil {
		result.Outcome, result.Detail = failure.outcome, e.masked(t.work.Mask, failure.detail)
		return nil
	}
	if sink != nil {
		sink.Started(t.pid)
	}
	disarm := t.armTimers(ctx)
	err = t.wait()
	disarm()
	if err != nil {
		e.mu.Lock()
		delete(e.running, t.pid)
		e.mu.Unlock()
		return fmt.Errorf("wait for process %d: %w", t.pid, err)
	}
	result.Leftovers, err = e.endLeftovers(t)
	end, reapErr := e.collect(t)
	t.setOutcome(result, end)
	return errors.Join(err, reapErr)
}

// masked masks a short text, such as a command line, if wanted.
func (e *Executor) masked(wanted bool, text string) string {
	if !wanted || e.options.Mask == nil {
		return text
	}
	return maskText(e.options.Mask, text)
}
