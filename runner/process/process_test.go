//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"prdrunner/runner"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	goleak.VerifyTestMain(m)
}

// roleVariable is the environment variable that makes the test binary run as another
// program.
const roleVariable = "PROCESS_TEST_ROLE"

// play runs the program of a role, and returns its exit code.
func play(role string) int {
	switch role {
	case "runner":
		return playRunner()
	default:
		return 99
	}
}

// playRunner runs the shell script of the first argument as a task, in the current
// directory, until playRunner is killed.
func playRunner() int {
	dir, err := os.Getwd()
	if err != nil {
		return 98
	}
	e, err := New(Options{BaseEnv: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		return 98
	}
	task := runner.Task{
		ID: "killed", Session: os.Args[2], Command: []string{"sh", "-c", os.Args[1]}, Dir: dir,
		Env: map[string]string{"RUNNER_WORKSTREAM": "WS9"}, Log: filepath.Join(dir, "log"),
	}
	_, err = e.Run(context.Background(), task, nil)
	if err != nil {
		return 98
	}
	return 0
}

// newExecutor returns an executor that is closed at the end of the test.
func newExecutor(t testing.TB, options Options) *Executor {
	t.Helper()
	if options.BaseEnv == nil {
		options.BaseEnv = []string{"PATH=" + os.Getenv("PATH")}
	}
	e, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// sessionOf names the session of a test, which no other process has, not even
// another run of the same test.
func sessionOf(t testing.TB) string { return fmt.Sprintf("%s-%d", t.Name(), os.Getpid()) }

// command returns a task in a directory of its own.
func command(t testing.TB, argv ...string) runner.Task {
	t.Helper()
	dir := t.TempDir()
	return runner.Task{
		ID:      t.Name(),
		Session: sessionOf(t),
		Command: argv,
		Dir:     dir,
		Env:     map[string]string{"RUNNER_WORKSTREAM": "WS1"},
		Log:     filepath.Join(dir, "logs", "task.log"),
		Grace:   10 * time.Second,
	}
}

func shell(t testing.TB, script string) runner.Task {
	t.Helper()
	return command(t, "sh", "-c", script)
}

// run runs a task that must not fail to run.
func run(t testing.TB, e *Executor, task runner.Task) runner.Result {
	t.Helper()
	result, err := e.Run(context.Background(), task, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func logOf(t testing.TB, task runner.Task) string {
	t.Helper()
	data, err := os.ReadFile(task.Log)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// started is a sink that receives the pid of the started process.
type started chan int

func (s started) Started(pid int) { s <- pid }

// background starts a task. It returns the pid, and a function that waits for the result.
func background(ctx context.Context, t testing.TB, e *Executor, task runner.Task) (pid int, result func() runner.Result) {
	t.Helper()
	sink := make(started, 1)
	var got runner.Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		got, err = e.Run(ctx, task, sink)
	}()
	wait := func() runner.Result {
		t.Helper()
		<-done
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	select {
	case pid = <-sink:
	case <-done:
		t.Fatalf("the process did not start: %+v, %v", got, err)
	}
	return pid, wait
}

// awaitLine polls a file that another process writes until it has a line.
func awaitLine(t testing.TB, path string) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(data), "\n") {
			return strings.TrimSpace(string(data))
		}
	}
	t.Fatalf("%s was not written", path)
	return ""
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{})
	write := func(name, content string, mode os.FileMode) func(*testing.T, runner.Task) {
		return func(t *testing.T, task runner.Task) {
			if err := os.WriteFile(filepath.Join(task.Dir, name), []byte(content), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := map[string]struct {
		command []string
		env     map[string]string
		dir     string // below the task's own directory
		prepare func(*testing.T, runner.Task)
		want    runner.Result
	}{
		"success":             {command: []string{"true"}, want: runner.Result{Outcome: runner.Exited}},
		"exit code":           {command: []string{"sh", "-c", "exit 3"}, want: runner.Result{Outcome: runner.Exited, ExitCode: 3}},
		"exit code 255":       {command: []string{"sh", "-c", "exit 255"}, want: runner.Result{Outcome: runner.Exited, ExitCode: 255}},
		"signal":              {command: []string{"sh", "-c", "kill -SEGV $$"}, want: runner.Result{Outcome: runner.Signaled, Signal: "SIGSEGV"}},
		"own SIGTERM":         {command: []string{"sh", "-c", "kill -TERM $$"}, want: runner.Result{Outcome: runner.Signaled, Signal: "SIGTERM"}},
		"not in path":         {command: []string{"no-such-program"}, want: runner.Result{Outcome: runner.NotFound, Detail: "no-such-program: not found in PATH"}},
		"two words":           {command: []string{"echo hi"}, want: runner.Result{Outcome: runner.NotFound, Detail: `a program and its arguments are elements of their own: ["echo", "hi"]`}},
		"two words of a file": {command: []string{"./script x"}, prepare: write("script", "#!/bin/sh\n", 0o700), want: runner.Result{Outcome: runner.NotFound, Detail: `own: ["./script", "x"]`}},
		"empty path":          {command: []string{"true"}, env: map[string]string{"PATH": ""}, want: runner.Result{Outcome: runner.NotFound, Detail: "not found in PATH"}},
		"no such file":        {command: []string{"./missing"}, want: runner.Result{Outcome: runner.NotFound, Detail: "no such file"}},
		"not executable":      {command: []string{"./plain"}, prepare: write("plain", "x", 0o600), want: runner.Result{Outcome: runner.NotExecutable, Detail: "permission denied"}},
		"not in path marked":  {command: []string{"plain"}, env: map[string]string{"PATH": "."}, prepare: write("plain", "x", 0o600), want: runner.Result{Outcome: runner.NotExecutable, Detail: "not marked as executable"}},
		"not in path, a directory": {command: []string{"plain"}, env: map[string]string{"PATH": "."}, prepare: func(t *testing.T, task runner.Task) {
			if err := os.Mkdir(filepath.Join(task.Dir, "plain"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, want: runner.Result{Outcome: runner.NotFound, Detail: "not found in PATH"}},
		"a directory":     {command: []string{"./"}, want: runner.Result{Outcome: runner.NotExecutable, Detail: "it is a directory"}},
		"wrong format":    {command: []string{"./text"}, prepare: write("text", "echo no", 0o700), want: runner.Result{Outcome: runner.NotExecutable, Detail: "#!/bin/sh"}},
		"no interpreter":  {command: []string{"./script"}, prepare: write("script", "#!/no/such/shell\n", 0o700), want: runner.Result{Outcome: runner.NotExecutable, Detail: "interpreter"}},
		"no directory":    {command: []string{"true"}, dir: "missing", want: runner.Result{Outcome: runner.NotExecutable, Detail: "missing does not exist"}},
		"relative to dir": {command: []string{"./script"}, prepare: write("script", "#!/bin/sh\nexit 4\n", 0o700), want: runner.Result{Outcome: runner.Exited, ExitCode: 4}},
		"relative path":   {command: []string{"script"}, env: map[string]string{"PATH": ".:/bin"}, prepare: write("script", "#!/bin/sh\nexit 5\n", 0o700), want: runner.Result{Outcome: runner.Exited, ExitCode: 5}},
		"NUL in argument": {command: []string{"echo", "a\x00b"}, want: runner.Result{Outcome: runner.NotExecutable, Detail: "NUL"}},
		"too long":        {command: []string{"true", strings.Repeat("x", 1<<20)}, want: runner.Result{Outcome: runner.NotExecutable, Detail: "too long"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := command(t, test.command...)
			task.Env = test.env
			if test.prepare != nil {
				test.prepare(t, task)
			}
			task.Dir = filepath.Join(task.Dir, test.dir)
			got := run(t, e, task)
			if got.Outcome != test.want.Outcome || got.ExitCode != test.want.ExitCode || got.Signal != test.want.Signal || !strings.Contains(got.Detail, test.want.Detail) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if len(got.Leftovers) != 0 {
				t.Errorf("leftovers %+v", got.Leftovers)
			}
			if got.Ended.Before(got.Started) || got.Started.IsZero() {
				t.Errorf("started %v, ended %v", got.Started, got.Ended)
			}
		})
	}
}

func TestRefusesWhatCannotRun(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{})
	tests := map[string]func(*runner.Task){
		"no command":         func(task *runner.Task) { task.Command = nil },
		"relative dir":       func(task *runner.Task) { task.Dir = "here" },
		"log is a directory": func(task *runner.Task) { task.Log = task.Dir },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := command(t, "true")
			change(&task)
			if result, err := e.Run(context.Background(), task, nil); err == nil {
				t.Errorf("ran: %+v", result)
			}
		})
	}
}

func TestOutputGoesToTheLogByteForByte(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{})
	task := shell(t, `printf 'a\000\377b\n'; printf 'err\n' >&2; cat; ls -l /dev/fd/0 >&2`)
	if err := os.MkdirAll(filepath.Dir(task.Log), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(task.Log, []byte("what an earlier attempt wrote, which was much longer than this one"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, e, task)
	if got := logOf(t, task); !strings.HasPrefix(got, "a\x00\xffb\nerr\n") || !strings.Contains(got, os.DevNull) {
		t.Errorf("log: %q", got)
	}
}

func TestEnvironmentOfTheChild(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{BaseEnv: []string{"A=1", "B=1", "A=2", "RUNNER_SESSION=old", "no variable", "NUL=a\x00b", "PATH=" + os.Getenv("PATH")}})
	task := command(t, "env")
	task.Env = map[string]string{"B": "3", "C": "4\n5", "RUNNER_SESSION": "wrong"}
	run(t, e, task)
	got := "\n" + logOf(t, task)
	for _, want := range []string{"\nA=2\n", "\nB=3\n", "\nC=4\n5\n", "\nRUNNER_SESSION=" + task.Session + "\n"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not once in the environment:%s", want, got)
		}
	}
	for _, name := range []string{"\nA=", "\nB=", "\nRUNNER_SESSION=", "\nRUNNER_TASK_TOKEN="} {
		if strings.Count(got, name) != 1 {
			t.Errorf("%q is not once in the environment:%s", name, got)
		}
	}
	if strings.Contains(got, "no variable") || strings.Contains(got, "NUL=") {
		t.Errorf("entries that no environment can hold are in it:%s", got)
	}
	if strings.Contains(got, "\nHOME=") {
		t.Errorf("the environment is not only what was given:%s", got)
	}
}

func TestSameIDTwiceAtOnce(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{})
	task := command(t, "sleep", "60")
	ctx, cancel := context.WithCancel(context.Background())
	_, result := background(ctx, t, e, task)
	if _, err := e.Run(ctx, task, nil); !errors.Is(err, ErrRunning) {
		t.Errorf("the second run: %v, want ErrRunning", err)
	}
	cancel()
	result()
	task.Command = []string{"true"}
	if got := run(t, e, task); !got.Succeeded() {
		t.Errorf("after the end of the first run: %+v", got)
	}
}

func TestCancelledBeforeItStarts(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{})
	task := shell(t, "echo ran > ran")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	result, err := e.Run(ctx, task, nil)
	if err != nil || result.Outcome != runner.Cancelled {
		t.Errorf("got %+v, %v", result, err)
	}
	if _, err := os.Stat(filepath.Join(task.Dir, "ran")); err == nil {
		t.Error("the task ran")
	}
}

func TestTimeoutAndCancellationDecideTheOutcome(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{})
	// The shell reports that its trap is set, and exits with 0 when it is asked to end.
	const script = `trap 'echo asked; exit 0' TERM; echo > ready; while :; do sleep 0.01; done`
	t.Run("timed out", func(t *testing.T) {
		t.Parallel()
		task := shell(t, script)
		task.Timeout = 500 * time.Millisecond
		if got := run(t, e, task); got.Outcome != runner.TimedOut || got.ExitCode != 0 || got.Signal != "" {
			t.Errorf("got %+v", got)
		}
		if got := logOf(t, task); !strings.Contains(got, "asked") {
			t.Errorf("the task got no SIGTERM; log: %q", got)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		task := shell(t, script)
		ctx, cancel := context.WithCancel(context.Background())
		_, result := background(ctx, t, e, task)
		awaitLine(t, filepath.Join(task.Dir, "ready"))
		cancel()
		if got := result(); got.Outcome != runner.Cancelled || got.ExitCode != 0 || got.Signal != "" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestSIGTERMIgnored(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{})
	task := shell(t, `trap '' TERM; echo > ready; while :; do sleep 60; done`)
	task.Grace = 200 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	_, result := background(ctx, t, e, task)
	awaitLine(t, filepath.Join(task.Dir, "ready"))
	asked := time.Now()
	cancel()
	got := result()
	if got.Outcome != runner.Cancelled {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(asked); took < task.Grace || took > 20*time.Second {
		t.Errorf("ended after %v with a grace of %v", took, task.Grace)
	}
}

// TestInterruptOnceGracefulTwiceAtOnce: the first Ctrl+C cancels the context, the second
// closes the executor.
func TestInterruptOnceGracefulTwiceAtOnce(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{})
	task := shell(t, `exec 2>/dev/null; trap 'echo asked' TERM; echo > ready; while :; do sleep 0.01; done`) // the shell reports the end of its sleep, too
	task.Grace = time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	_, result := background(ctx, t, e, task)
	awaitLine(t, filepath.Join(task.Dir, "ready"))
	cancel()
	if got := awaitLine(t, task.Log); !strings.Contains(got, "asked") {
		t.Errorf("log: %q", got)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if got := result(); got.Outcome != runner.Cancelled {
		t.Errorf("got %+v", got)
	}
	if _, err := e.Run(context.Background(), task, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

// TestNoSignalToAReapedPID cancels tasks at about the time when they end. A task never
// gets a signal once its pid is free.
func TestNoSignalToAReapedPID(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{})
	task := command(t, "true")
	for i := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		var stopping sync.WaitGroup
		stopping.Go(func() {
			time.Sleep(time.Duration(i%20) * 100 * time.Microsecond)
			cancel()
		})
		task.ID = t.Name() + strconv.Itoa(i)
		result, err := e.Run(ctx, task, nil)
		stopping.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if result.Outcome != runner.Cancelled && !result.Succeeded() {
			t.Fatalf("got %+v", result)
		}
	}
	// After its end a task can't be stopped.
	held, err := e.newTask(task)
	if err != nil {
		t.Fatal(err)
	}
	defer e.dismiss(held)
	out, err := e.openOutput(task)
	if err != nil {
		t.Fatal(err)
	}
	var result runner.Result
	onWorkerThread(func() { err = e.supervise(context.Background(), held, out, nil, &result) })
	if err := errors.Join(err, out.finish()); err != nil || !result.Succeeded() {
		t.Fatalf("got %+v, %v", result, err)
	}
	held.stopTask(runner.TimedOut, 0)
	if held.reason != "" {
		t.Error("a task that has ended was stopped: its pid was signalled")
	}
}

// upper is a mask that writes the text in upper case, and "<closed>" when it is closed.
type upper struct{ w io.Writer }

func (u upper) Write(p []byte) (int, error) { return u.w.Write([]byte(strings.ToUpper(string(p)))) }
func (u upper) Close() error                { _, err := io.WriteString(u.w, "<closed>"); return err }

func mask(w io.Writer) io.WriteCloser { return upper{w} }

func TestMaskedOutput(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{Mask: mask})
	task := shell(t, `i=0; while [ $i -lt 5000 ]; do echo "line $i of the output"; i=$((i+1)); done; exit 7`)
	task.Mask = true
	if got := run(t, e, task); got.Outcome != runner.Exited || got.ExitCode != 7 {
		t.Errorf("got %+v", got)
	}
	if got := logOf(t, task); strings.Count(got, "OF THE OUTPUT\n") != 5000 || !strings.HasSuffix(got, "LINE 4999 OF THE OUTPUT\n<closed>") {
		t.Errorf("log of %d bytes ends %q", len(got), got[max(0, len(got)-60):])
	}
	task.Mask = false
	run(t, e, task)
	if got := logOf(t, task); strings.Contains(got, "OUTPUT") {
		t.Error("the output is masked, although task.Mask is false")
	}
}
