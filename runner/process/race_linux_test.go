package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/runner"
)

// TestFirstOfFinishCancelAndTimeoutDecides: a process ends by itself, is cancelled and
// times out, in every order. The first of these decides the outcome.
func TestFirstOfFinishCancelAndTimeoutDecides(t *testing.T) {
	e := newExecutor(t, Options{})
	session := sessionOf(t)
	t.Run("in each order", func(t *testing.T) { // the subtest ends when all of them have ended
		for _, order := range permutations([]string{"finish", "cancel", "timeout"}) {
			for _, grace := range []time.Duration{0, time.Hour} {
				t.Run(fmt.Sprintf("%s, grace %v", strings.Join(order, ", "), grace), func(t *testing.T) {
					t.Parallel()
					firstDecides(t, e, session, order, grace)
				})
			}
		}
	})
	noOrphans(t, e, session)
}

// firstDecides makes a process end, be cancelled and time out in the given order.
func firstDecides(t *testing.T, e *Executor, session string, order []string, grace time.Duration) {
	// The task ignores SIGTERM, so that the grace makes a difference.
	task := shell(t, `trap '' TERM; echo > ready; until test -e finish; do sleep 0.01; done`)
	task.Session, task.Grace = session, grace
	of, result := held(t, e, task)
	awaitLine(t, filepath.Join(task.Dir, "ready"))
	for _, act := range order {
		switch act {
		case "finish":
			if err := os.WriteFile(filepath.Join(task.Dir, "finish"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, of)
		case "cancel":
			of.stopTask(runner.Cancelled, grace)
		case "timeout":
			of.stopTask(runner.TimedOut, grace)
		}
	}
	want := map[string]runner.Outcome{"finish": runner.Exited, "cancel": runner.Cancelled, "timeout": runner.TimedOut}[order[0]]
	if got := result(); got.Outcome != want || got.ExitCode != 0 || got.Signal != "" {
		t.Errorf("got %+v, want %s", got, want)
	}
}

func permutations(of []string) [][]string {
	if len(of) < 2 {
		return [][]string{of}
	}
	var all [][]string
	for i, first := range of {
		for _, rest := range permutations(slices.Delete(slices.Clone(of), i, i+1)) {
			all = append(all, append([]string{first}, rest...))
		}
	}
	return all
}

// hold keeps an executor from waiting for a task that it has started, as if the program
// were stopped.
type hold struct {
	started chan int
	release chan struct{}
}

func (h hold) Started(pid int) {
	h.started <- pid
	<-h.release
}

// held starts a task for which the executor waits only when the test asks for the result.
func held(t *testing.T, e *Executor, work runner.Task) (of *task, result func() runner.Result) {
	t.Helper()
	h := hold{make(chan int, 1), make(chan struct{})}
	var got runner.Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		got, err = e.Run(t.Context(), work, h)
	}()
	pid := <-h.started
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running[pid], func() runner.Result {
		t.Helper()
		close(h.release)
		<-done
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
}

// awaitEnd waits until the main process is a zombie, or no longer exists.
func awaitEnd(t *testing.T, of *task) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if info, ok := readProc(of.pid); !ok || info.zombie {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d does not end", of.pid)
		}
	}
}

// TestTimeoutThatComesAfterTheEndIsNone: a task ends in time while Runner is stopped for
// longer than the task's timeout. When Runner is continued, it finds both the timeout and
// the end of the process. The end counts.
func TestTimeoutThatComesAfterTheEndIsNone(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{})
	task := shell(t, "exit 7")
	task.Timeout = time.Nanosecond // has passed at the first check
	of, result := held(t, e, task)
	awaitEnd(t, of)
	if got := result(); got.Outcome != runner.Exited || got.ExitCode != 7 {
		t.Errorf("got %+v", got)
	}
}
