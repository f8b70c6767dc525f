package view

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/progress"
)

// began is when the run of every frame began.
func began() time.Time { return time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC) }

// monorepo is the plan of a build of many packages, with a phase after it.
func monorepo(packages int) *plan.Plan {
	build := plan.Phase{Name: "build", Number: 1}
	add := func(name string, d plan.Decision) {
		build.Steps = append(build.Steps, plan.Step{Kind: plan.WorkstreamStep, Name: name, Decision: d})
	}
	add("a-name-so-long-that-it-takes-more-than-two-fifths-of-a-narrow-terminal", plan.Run)
	add("fetch", plan.Run)
	add("lint", plan.Reuse)
	for i := range packages {
		add(fmt.Sprintf("package[%q]", fmt.Sprint("p", i)), plan.Run)
	}
	build.Steps = append(build.Steps, plan.Step{Kind: plan.GateStep, Name: "vet (fetch)", Decision: plan.Run}, plan.Step{Kind: plan.GateStep, Name: "ready (build)", Decision: plan.Run})
	phases := []plan.Phase{build}
	for i := range 12 {
		phases = append(phases, plan.Phase{Name: fmt.Sprint("phase-", i+2), Number: i + 2})
	}
	return &plan.Plan{Phases: phases}
}

func started(names ...string) []state.Event {
	events := make([]state.Event, len(names))
	for i, name := range names {
		events[i] = state.WorkstreamStarted{Workstream: name, Attempt: 1}
	}
	return events
}

// frames are runs, with what has happened in each second.
func frames() map[string][][]state.Event {
	long := "a-name-so-long-that-it-takes-more-than-two-fifths-of-a-narrow-terminal"
	failure := state.Failure{Message: "connection reset by peer"}
	asked, retried := []state.Event{state.PhaseStarted{Phase: "build"}}, []state.Event{state.PhaseStarted{Phase: "build"}}
	for i, seconds := range []int64{60, 40, 25, 30, 50} {
		name := fmt.Sprintf("package[%q]", fmt.Sprint("p", i))
		asked = append(asked, state.GateAsked{Verdict: state.Verdict{Gate: "ship (" + name + ")"}, Message: state.Text("Ship p" + fmt.Sprint(i) + "?")})
		retried = append(retried, state.WorkstreamAttemptFailed{Workstream: name, Attempt: 1, Error: failure, RetryInMS: seconds * 1000})
	}
	many := make([]string, 30)
	for i := range many {
		many[i] = fmt.Sprintf("package[%q]", fmt.Sprint("p", i))
	}
	phase := state.PhaseStarted{Phase: "build"}
	return map[string][][]state.Event{
		"nothing": {},
		"few":     {{phase}, started(long, "fetch"), {state.WorkstreamCompleted{Workstream: long}}, started(`package["p0"]`)},
		"attention": {{phase}, started("fetch", long, `package["p1"]`), {
			state.WorkstreamAttemptFailed{Workstream: "fetch", Attempt: 1, Error: failure, RetryInMS: 8500},
			state.WorkstreamFailed{Workstream: `package["p1"]`, Error: failure},
			state.GateAsked{Verdict: state.Verdict{Gate: "ready (build)"}, Message: "Ship it?\nThink first."},
		}},
		"asked":    {asked},   // each approval has a row of its own
		"retried":  {retried}, // those of one workstream share a row, which counts down to the first attempt
		"judged":   {{phase}, started("fetch"), {state.WorkstreamSucceeded{Workstream: "fetch"}, state.GateStarted{Gate: "vet (fetch)", Attempt: 1}}},
		"review":   {{state.ReviewStarted{Attempt: 2, Max: 3, Run: 4}}},
		"services": {{phase, state.ServiceStarted{Service: "db", Attempt: 1}}, {state.ServiceReady{Service: "db"}, state.ServiceStarted{Service: "api", Attempt: 1}}, started("fetch")},
		"hooks":    {{phase}, started("fetch"), {state.WorkstreamFailed{Workstream: "fetch", Error: failure}}, {state.SessionFailed{Error: failure}, state.HooksDue{Event: "failed", Hooks: 2}}, {state.HookEnded{Event: "failed", Hook: 1}}},
		"many":     {{phase}, started(many...), {state.WorkstreamCompleted{Workstream: many[3]}}, {state.WorkstreamAttemptFailed{Workstream: many[4], Attempt: 1, Error: failure, RetryInMS: 60000}}},
		"failures": {{phase}, started(append(many[:20:20], "fetch")...), failedAll(many[:15], failure), {state.WorkstreamFailed{Workstream: "fetch", Allowed: true, Error: failure}}},
		"between":  {{phase}, started("fetch"), {state.WorkstreamCompleted{Workstream: "fetch"}, state.PhaseCompleted{Phase: "build"}}},
	}
}

// failedAll returns the events of workstreams that fail.
func failedAll(names []string, failure state.Failure) (events []state.Event) {
	for _, name := range names {
		events = append(events, state.WorkstreamFailed{Workstream: name, Error: failure})
	}
	return events
}

// frameOf returns the frame 65 seconds after a run began.
func frameOf(happened [][]state.Event, width, height int) *frame {
	p := progress.New(runner.Beginning{Plan: monorepo(40)})
	for i, events := range happened {
		p.Commit(state.Commit{Time: began().Add(time.Duration(i) * time.Second), Events: events})
	}
	f := &frame{progress: p, now: began().Add(8 * time.Second), width: width, height: height, lastLine: func(a progress.Active) string {
		return "compiling the files of " + a.Name + ", 日本語 and \x1b[2Jmore, of which there are rather many"
	}}
	f.choose(&keyboard{})
	return f
}

// TestFrames holds what is shown of runs in narrow, usual and wide terminals.
func TestFrames(t *testing.T) {
	t.Parallel()
	for name, happened := range frames() {
		var got strings.Builder
		for _, width := range []int{40, 60, 100, 200} {
			fmt.Fprintf(&got, "-- %d columns --\n", width)
			for _, r := range frameOf(happened, width, 24).rows() {
				if columns := displaywidth.String(r.text); columns != r.columns || columns >= width {
					t.Errorf("%s: a row takes %d columns of %d, and says %d: %q", name, columns, width, r.columns, r.text)
				}
				got.WriteString(strings.TrimRight(r.text, " ") + "\n")
			}
		}
		compareGolden(t, filepath.Join("testdata", "frames", name+".txt"), got.String())
	}
}

// TestFrameFits: a frame leaves a line of the screen free, however many steps run.
func TestFrameFits(t *testing.T) {
	t.Parallel()
	for _, happened := range frames() {
		for height := 6; height < 40; height++ {
			if rows := len(frameOf(happened, 80, height).rows()); rows >= height {
				t.Errorf("%d rows on a screen of %d", rows, height)
			}
		}
	}
}

// TestFrameOnALargeScreen: more steps have a row on a higher screen, up to thirty.
func TestFrameOnALargeScreen(t *testing.T) {
	t.Parallel()
	var steps []progress.Active
	for i := range 50 {
		steps = append(steps, progress.Active{Name: fmt.Sprint("step-", i), Log: fmt.Sprint("step-", i)})
	}
	for height, want := range map[int]int{5: 1, 12: 6, 18: 12, 20: 12, 24: 14, 40: 30, 80: 30} {
		f := frameOf(nil, 80, height)
		f.groups = groupSteps(steps)
		if shown, above, below := f.stepRows(); len(shown) != want || above != 0 || below != len(steps)-want {
			t.Errorf("%d rows of %d, %d above and %d below, want %d", len(shown), height, above, below, want)
		}
	}
}

// TestFailedOnASmallScreen: on a small screen, what has failed has no row of its own.
func TestFailedOnASmallScreen(t *testing.T) {
	t.Parallel()
	for height, want := range map[int]int{otherRows: 0, otherRows + 1: 1} {
		if rows := frameOf(frames()["failures"], 80, height).failedRows(); len(rows) != want {
			t.Errorf("%d rows say what has failed on a screen of %d, want %d", len(rows), height, want)
		}
	}
}

// TestScroll: the selected row is always shown, a row further with each key, and what is selected stays so when others
// end.
func TestScroll(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint("step-", i))
	}
	p := progress.New(runner.Beginning{})
	p.Commit(state.Commit{Time: began(), Events: append([]state.Event{state.PhaseStarted{Phase: "one"}}, started(names...)...)})
	k := &keyboard{}
	frames := func() (shown []string, rest string) {
		f := frame{progress: p, now: began(), width: 80, height: 12, lastLine: func(progress.Active) string { return "" }}
		f.choose(k)
		for _, r := range f.rows() {
			switch text := strings.TrimSpace(r.text); {
			case strings.Contains(text, "step-"):
				shown = append(shown, strings.Fields(strings.TrimPrefix(text, "› "))[1])
			case strings.HasPrefix(text, "and "):
				rest = text
			}
			if strings.HasPrefix(r.text, "› ") {
				shown[len(shown)-1] = "›" + shown[len(shown)-1]
			}
		}
		return shown, rest
	}
	expect := func(what, want, wantRest string) {
		t.Helper()
		shown, rest := frames()
		if got := strings.Join(shown, " "); got != want || rest != wantRest {
			t.Errorf("%s: %s, %s, want %s, %s", what, got, rest, want, wantRest)
		}
	}
	move := func(by, times int) {
		for range times {
			k.move(by)
			frames()
		}
	}
	expect("nothing is selected", "step-0 step-1 step-2 step-3 step-4 step-5", "and 14 more")
	move(1, 6)
	expect("the last row", "step-0 step-1 step-2 step-3 step-4 ›step-5", "and 14 more")
	move(1, 2)
	expect("two below it", "step-2 step-3 step-4 step-5 step-6 ›step-7", "and 2 above, 12 below")
	p.Commit(state.Commit{Time: began(), Events: []state.Event{state.WorkstreamCompleted{Workstream: "step-0"}, state.WorkstreamCompleted{Workstream: "step-3"}}})
	expect("two above have ended", "step-4 step-5 step-6 ›step-7 step-8 step-9", "and 2 above, 10 below")
	move(-1, 4)
	expect("one above the first row", "›step-2 step-4 step-5 step-6 step-7 step-8", "and 1 above, 11 below")
	move(1, 40)
	expect("the last", "step-14 step-15 step-16 step-17 step-18 ›step-19", "and 12 above")
	p.Commit(state.Commit{Time: began(), Events: []state.Event{state.WorkstreamCompleted{Workstream: "step-19"}}})
	expect("it has ended", "step-13 step-14 step-15 step-16 step-17 ›step-18", "and 11 above")
	move(-1, 40)
	expect("the first", "›step-1 step-2 step-4 step-5 step-6 step-7", "and 11 more")
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update writes it):\n%s", path, diff)
	}
}
