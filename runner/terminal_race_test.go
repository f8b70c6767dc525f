//go:build unix

package runner_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner"
)

var (
	raceRounds = flag.Int("race.rounds", 60, "how often a task ends, is cancelled and times out at the same moment")
	raceSeed   = flag.Uint64("race.seed", 1, "seed of these rounds")
)

// racing is an executor whose tasks end in a random way, at the moment of a signal or
// shortly before the run has handled it.
type racing struct {
	mu      sync.Mutex
	draw    *rand.Rand
	signals chan string
}

func (x *racing) Run(ctx context.Context, task runner.Task, sink runner.Sink) (runner.Result, error) {
	x.mu.Lock()
	how, signal, waits := x.draw.IntN(4), x.draw.IntN(3) == 0, x.draw.IntN(3) == 0
	x.mu.Unlock()
	sink.Started(1)
	if signal {
		select {
		case x.signals <- "SIGINT":
		default: // another one came first
			signal = false
		}
	}
	if signal && waits {
		<-ctx.Done()
	}
	r := runner.Result{Outcome: runner.Exited}
	switch {
	case ctx.Err() != nil && how == 3:
		r.Outcome = runner.Cancelled
	case how == 2:
		r.Outcome = runner.TimedOut
	case how == 1:
		r.ExitCode = 1
	}
	return r, nil
}

// TestOneEndWhateverComesTogether: tasks finish, fail and time out while a signal, a
// pause request and the timeout of the session come. In the journal each attempt has one
// end, each run has one, and the end of the run is its last event.
func TestOneEndWhateverComesTogether(t *testing.T) {
	t.Parallel()
	for round := range *raceRounds {
		seed := *raceSeed + uint64(round)
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { oneEnd(t, seed) }) {
			t.Logf("again: go test ./runner -run %s -race.seed=%d -race.rounds=1", strings.Split(t.Name(), "/")[0], seed)
		}
	}
}

func oneEnd(t *testing.T, seed uint64) {
	t.Helper()
	draw := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test's
	limit := []string{"1h", "1h", "1ms", "5ms"}[draw.IntN(4)]
	b := newBenchOn(t, store.NewMemory(), fmt.Sprintf(`
timeout = %q
phase "one" {
  workstream "a" {
    for_each = toset(["1", "2", "3", "4"])
    command  = ["true"]
    retry {
      attempts         = 2
      initial_interval = "1ms"
    }
  }
}
phase "two" {
  workstream "b" { command = ["true"] }
}
`, limit))
	x := &racing{draw: draw, signals: make(chan string, 1)}
	var asked sync.WaitGroup
	pauses := draw.IntN(3) == 0
	request := onEvent(func(e state.Event) bool { return e.Kind() == state.KindWorkstreamStarted }, func() {
		if pauses {
			asked.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_ = b.store.Ask(ctx, checkpoint.Request{PRD: "PRD-001", Verb: checkpoint.VerbPause}, func(*checkpoint.Session) error { return nil })
			})
		}
	})
	e, err := b.build(request, func(o *runner.Options) {
		o.Executor, o.Interrupts, o.KeepGoing = x, x.signals, seed%2 == 0
	})
	asked.Wait()
	if err != nil {
		t.Fatal(err)
	}
	runs, lastEvents := []state.Kind{}, map[string]state.Kind{}
	for c, err := range b.store.Follow(t.Context(), "PRD-001", 1) {
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range c.Events {
			name, kind := ofWorkstream(event), event.Kind()
			switch {
			case endsRun(kind):
				runs = append(runs, kind)
			case name != "" && (len(runs) > 0 || !slices.Contains(after(lastEvents[name]), kind)):
				t.Errorf("workstream %s has the event %s after %q, and after these ends of the run: %q", name, kind, lastEvents[name], runs)
			case name != "":
				lastEvents[name] = kind
			}
		}
	}
	for name, at := range lastEvents {
		if len(after(at)) > 0 {
			t.Errorf("the last event of workstream %s is %s", name, at)
		}
	}
	if len(runs) != 1 {
		t.Errorf("the journal has the ends %q of the run, and its status is %s", runs, e.Status)
	}
}

// after returns the events that may follow an event of a workstream in a run; none if it
// ends the workstream.
func after(kind state.Kind) []state.Kind {
	switch kind {
	case "":
		return []state.Kind{state.KindWorkstreamStarted}
	case state.KindWorkstreamStarted:
		return []state.Kind{
			state.KindWorkstreamAttemptFailed, state.KindWorkstreamFailed, state.KindWorkstreamInterrupted, state.KindWorkstreamCompleted,
		}
	case state.KindWorkstreamAttemptFailed: // the workstream waits for its next attempt
		return []state.Kind{state.KindWorkstreamStarted, state.KindWorkstreamFailed, state.KindWorkstreamInterrupted}
	default: // the event ends the workstream
		return nil
	}
}

// endsRun reports whether an event ends a run.
func endsRun(kind state.Kind) bool {
	return slices.Contains([]state.Kind{
		state.KindSessionPaused, state.KindSessionFailed, state.KindSessionInterrupted, state.KindSessionCompleted,
	}, kind)
}

// ofWorkstream returns the workstream of an event, "" if it has none.
func ofWorkstream(event state.Event) string {
	switch e := event.(type) {
	case state.WorkstreamStarted:
		return e.Workstream
	case state.WorkstreamAttemptFailed:
		return e.Workstream
	case state.WorkstreamFailed:
		return e.Workstream
	case state.WorkstreamInterrupted:
		return e.Workstream
	case state.WorkstreamCompleted:
		return e.Workstream
	case state.WorkstreamUncertain:
		return e.Workstream
	}
	return ""
}
