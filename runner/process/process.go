// Package process is the local executor: it runs a task as a process of this
// machine, supervises it, and leaves nothing of it behind.
//
// Executor.Run is the way in; it prepares (environ.go, lookup_*.go, output.go),
// starts and waits (spawn_*.go), stops on a timeout or a cancellation
// (task.go), ends what outlived the main process (leftovers_*.go) and only then
// collects the main process. Executor.Recover (recover_*.go) finds what a
// killed runner left.
//
// How much of that an operating system allows differs:
//
//   - Linux: everything. The program becomes a subreaper, so that every orphan
//     of a task becomes its child; a child dies with the program.
//   - macOS and other Unixes: the process group is signalled, ended and
//     reported as one. What left the group is not found, Recover finds nothing,
//     and children survive a SIGKILL of the program.
//   - Windows: a job object holds the processes of a task, and the system ends
//     them with it, also when the program is killed. They are not reported, and
//     what a process starts in the instant before it is in the job is not held.
//     Asking to end is a Ctrl+Break; without a console it is the kill at once.
//     Recover finds nothing.
//
// On Linux an orphan becomes a child of the whole program, and so does one of
// another Executor. A program should therefore have one Executor, and what it
// starts by other means (os/exec) must stay in the program's own process group:
// that is how such a child is told from an orphan.
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
	// ErrClosed is returned for a task that is handed over after Close.
	ErrClosed = errors.New("the executor is closed")
	// ErrRunning is returned for a task whose ID is that of a running one.
	ErrRunning = errors.New("a task with this id is running already")
	// ErrUnkillable is returned, beside the result, when a process of the task
	// does not end although it was killed: it hangs in the kernel, or belongs
	// to another user.
	ErrUnkillable = errors.New("a process does not end although it was killed")
)

// DefaultRecoverGrace is the time between SIGTERM and SIGKILL in Recover.
const DefaultRecoverGrace = 5 * time.Second

// Options are what an Executor needs to know. The zero value is usable: no
// masking, an empty environment, no log.
type Options struct {
	// Mask wraps a writer in one that hides sensitive values. It is used for
	// the output of tasks with Task.Mask and for the command lines of
	// leftovers. Nil: nothing is hidden.
	Mask func(io.Writer) io.WriteCloser
	// BaseEnv is the environment of every child, before Task.Env. The caller
	// has filtered it.
	BaseEnv []string
	// RecoverGrace is the time between SIGTERM and SIGKILL in Recover;
	// 0: DefaultRecoverGrace.
	RecoverGrace time.Duration
	// Now is the clock of Result.Started and Result.Ended. Nil: time.Now.
	Now func() time.Time
	// Logger may be nil.
	Logger hclog.Logger
}

// Executor runs tasks as processes of this machine. It is safe for use by
// several goroutines at once.
type Executor struct {
	options  Options
	environ  environment
	null     *os.File // standard input of every child
	nonce    string   // tells this executor's tasks from those of any other
	system   system   // what the operating system needs
	programs programs
	settle   time.Duration

	runs sync.WaitGroup

	// forks is held shared from before a fork until the child is registered,
	// so that whoever holds it exclusively sees no child that is not
	// registered yet. It comes before mu.
	forks sync.RWMutex

	mu      sync.Mutex
	closed  bool            // nothing gets a grace any more
	count   int             // tasks so far
	ids     map[string]bool // of the tasks in Run
	running map[int]*task   // by pid, until the process is reaped
}

var (
	_ runner.Executor = (*Executor)(nil)
	_ io.Closer       = (*Executor)(nil)
)

// New returns an Executor. On Linux it makes the program a subreaper, and it
// stays one after Close.
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
	return &Executor{
		options: options,
		environ: newEnvironment(options.BaseEnv),
		null:    null,
		nonce:   rand.Text(),
		system:  sys,
		settle:  settleTime,
		ids:     map[string]bool{},
		running: map[int]*task{},
	}, nil
}

// Close kills what is still running, without a grace, and returns when every
// Run has returned. It is what a second Ctrl+C calls.
func (e *Executor) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		e.runs.Wait()
		return nil
	}
	e.closed = true
	for _, t := range e.running {
		t.stop(runner.Cancelled, 0)
	}
	e.mu.Unlock()
	e.runs.Wait()
	return errors.Join(e.null.Close(), e.system.close())
}

// Run runs the task to its end, and to the end of everything it started.
//
// A timeout or a cancelled context decides the outcome even if the process then
// exits with 0; where it has ended before, on Linux, its end does. A process that outlives the task's main process by more than a
// moment is ended, with the task's grace, and reported in Result.Leftovers.
func (e *Executor) Run(ctx context.Context, work runner.Task, sink runner.Sink) (runner.Result, error) {
	result := runner.Result{Started: e.options.Now()}
	t, err := e.admit(work)
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
	onWorkerThread(func() { err = e.supervise(ctx, t, out, sink, &result) })
	err = errors.Join(err, out.finish())
	result.Ended = e.options.Now()
	if err != nil {
		return result, fmt.Errorf("run task %q: %w", work.ID, err)
	}
	return result, nil
}

// admit registers the task's id and gives the task its token.
func (e *Executor) admit(work runner.Task) (*task, error) {
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

// tokenPrefix begins the tokens of all tasks of this executor.
func (e *Executor) tokenPrefix() string {
	return strconv.Itoa(os.Getpid()) + "-" + e.nonce + "-"
}

func (e *Executor) dismiss(t *task) {
	e.mu.Lock()
	delete(e.ids, t.work.ID)
	e.mu.Unlock()
	e.runs.Done()
}

// register makes a task that has been started known, also to a Close that
// looked for running tasks just before.
func (e *Executor) register(t *task) {
	e.mu.Lock()
	e.running[t.pid] = t
	closed := e.closed
	e.mu.Unlock()
	if closed {
		t.stop(runner.Cancelled, 0)
	}
}

// supervise starts the process and sees it to its end. It runs on one OS
// thread, which the process needs for as long as it lives (see onWorkerThread).
func (e *Executor) supervise(ctx context.Context, t *task, out *output, sink runner.Sink, result *runner.Result) error {
	failure, err := e.start(t, out)
	if err != nil {
		return err
	}
	if failure != nil {
		result.Outcome, result.Detail = failure.outcome, e.hide(t.work.Mask, failure.detail)
		return nil
	}
	if sink != nil {
		sink.Started(t.pid)
	}
	disarm := t.arm(ctx)
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
	t.fill(result, end)
	return errors.Join(err, reapErr)
}

// hide masks a short text, such as a command line.
func (e *Executor) hide(wanted bool, text string) string {
	if !wanted || e.options.Mask == nil {
		return text
	}
	return maskText(e.options.Mask, text)
}
