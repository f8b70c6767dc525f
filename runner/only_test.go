package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// aloneThen is a pipeline in which other workstreams depend only on the output of a,
// which is the text of a file. Tests replace the letters: B and G by declarations in b
// and w, W by one in phase two, P and Q by gates of the two phases.
const aloneThen = `
phase "one" {
  workstream "a" {
    effect = "pure"
    script = "echo a >> ran; cat given >> $RUNNER_OUTPUT"
  }
  workstream "b" {
    depends_on = [workstream.a]
    script     = "echo b >> ran"
    B
  }
  P
}
phase "two" {
  W
  workstream "w" {
    script = "echo w >> ran"
    G
  }
  Q
}
`

// TestOnlyLeavesWhatThePlanSaysIsBlocked runs only workstream a. The run does not touch
// the steps that the plan blocks because of that, even if it turns out that nothing has
// changed for them.
func TestOnlyLeavesWhatThePlanSaysIsBlocked(t *testing.T) {
	t.Parallel()
	const asks = `gate "ok" {
    approval { message = "Go on?" }
  }`
	command := func(name string) string {
		return `gate "` + name + `" { command = ["sh", "-c", "echo ` + name + ` >> ran"] }`
	}
	const output = `workstream.a.outputs.o == "1"`
	const same = "gate \"same\" {\n condition = workstream.a.outputs.o != \"3\"\n error_message = \"It is 3.\"\n}"
	onlyA := plan.Selection{Only: []string{"a"}}
	for name, test := range map[string]struct {
		with    []string // for the letters of aloneThen
		given   string   // the output of a, when it runs again
		choice  plan.Selection
		blocked []string
	}{
		"a gate of the phase":                    {[]string{"P", command("check")}, "o=1", onlyA, []string{"b", "check (one)"}},
		"an approval of the phase":               {[]string{"P", asks}, "o=1", onlyA, []string{"b", "ok (one)"}},
		"where another result is given":          {[]string{"P", command("check")}, "o=2", onlyA, []string{"b", "check (one)"}},
		"a when that turns out false":            {[]string{"B", "when = " + output}, "o=2", onlyA, []string{"b"}},
		"a when that stays true":                 {[]string{"B", "when = " + output}, "o=1", onlyA, []string{"b"}},
		"the when of a phase":                    {[]string{"W", "when = " + output, "B", "when = false", "Q", command("last")}, "o=2", onlyA, []string{"w", "last (two)"}},
		"the when of a phase that stays true":    {[]string{"W", "when = " + output, "B", "when = false", "Q", command("last")}, "o=1", onlyA, []string{"w", "last (two)"}},
		"a gate of what was not chosen":          {[]string{"G", same, "B", "when = false"}, "o=1", onlyA, []string{"w", "same (w)"}},
		"such a gate, where it is another":       {[]string{"G", same, "B", "when = false"}, "o=2", onlyA, []string{"w", "same (w)"}},
		"and all runs again from its phase on":   {[]string{"P", command("check")}, "o=1", plan.Selection{Only: []string{"a"}, From: "one"}, []string{"b", "check (one)", "w"}},
		"and all runs again from another phase":  {[]string{"P", command("check"), "Q", asks}, "o=1", plan.Selection{Only: []string{"a"}, From: "two"}, []string{"b", "check (one)", "w", "ok (two)"}},
		"and it is invalidated":                  {[]string{"P", command("check")}, "o=1", plan.Selection{Only: []string{"a"}, Invalidate: []string{"a"}}, []string{"b", "check (one)"}},
		"and another is invalidated":             {[]string{"P", command("check")}, "o=1", plan.Selection{Only: []string{"a"}, Invalidate: []string{"b"}}, []string{"b", "check (one)"}},
		"and one of another phase is, which has": {[]string{"Q", asks, "B", "when = false"}, "o=1", plan.Selection{Only: []string{"a"}, Invalidate: []string{"w"}}, []string{"w", "ok (two)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := aloneThen
			for _, letter := range []string{"B", "P", "W", "G", "Q"} {
				with := ""
				if i := slices.Index(test.with, letter); i >= 0 {
					with = test.with[i+1]
				}
				source = strings.Replace(source, " "+letter+"\n", " "+with+"\n", 1)
			}
			b := newBench(t, source)
			approve := func(o *runner.Options) { o.Asker = approving{} }
			b.write("given", "o=1\n")
			b.must(state.StatusComplete, approve)
			b.ran()
			before := b.state()
			b.write("given", test.given+"\n")
			choose := func(o *runner.Options) { o.Select = test.choice }
			planned := blockedIn(b.preview(choose))
			if want := slices.Sorted(slices.Values(test.blocked)); !slices.Equal(planned, want) {
				t.Errorf("the plan blocks %q, want %q", planned, want)
			}
			if e := b.must(state.StatusPaused, choose, approve); e.Pause.Message != "only some workstreams were chosen" {
				t.Errorf("paused: %+v", e.Pause)
			}
			b.wantRan("a")
			for _, name := range planned {
				if was, is := recordIn(t, before, name), recordIn(t, b.state(), name); !is.leftAs(was) {
					t.Errorf("the plan blocks %s, but its record is %+v, and was %+v", name, is, was)
				}
			}
			b.must(state.StatusComplete, approve)
		})
	}
}

// blockedIn returns the steps that a plan blocks.
func blockedIn(steps map[string]plan.Step) (names []string) {
	for name, s := range steps {
		if s.Decision == plan.Blocked {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// onRecord is the record of a workstream or a gate.
type onRecord struct {
	status   state.StepStatus
	attempts int
	at       string // the commit that recorded the work, or the files that the gate judged
}

func recordIn(t *testing.T, st *state.State, name string) onRecord {
	t.Helper()
	if w := st.Workstream(name); w != nil {
		return onRecord{w.Status, w.Attempts, fmt.Sprint(w.WorkSeq)}
	}
	g := st.Gate(name)
	if g == nil {
		t.Fatalf("%s is not recorded", name)
	}
	return onRecord{g.Status, g.Attempts, g.Judged}
}

// leftAs reports whether the record is the same as before. A verdict may have been
// invalidated together with the judged work.
func (r onRecord) leftAs(was onRecord) bool {
	return r == was || r == onRecord{state.Pending, was.attempts, ""}
}
