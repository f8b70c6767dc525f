package runner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// story returns the captures, starts (+) and completions (-) that a run recorded, in
// order.
func (b *bench) story() string {
	var told []string
	for _, c := range b.commits {
		for _, e := range c.Events {
			switch e := e.(type) {
			case state.WorkspaceCaptured:
				told = append(told, "captured")
			case state.WorkstreamStarted:
				told = append(told, "+"+e.Workstream)
			case state.WorkstreamCompleted:
				told = append(told, "-"+e.Workstream)
			}
		}
	}
	return strings.Join(told, " ")
}

// TestCaptureAtBoundaries: the files are captured when a workstream is complete, before
// anything else starts, and only while nothing else runs.
func TestCaptureAtBoundaries(t *testing.T) {
	t.Parallel()
	nothing := func(*runner.Options) {}
	for name, c := range map[string]struct {
		src, want string
		with      func(*runner.Options)
	}{
		"chain": {
			`workstream "A" {
				artifacts = ["a"]
				script    = "echo A > a"
			}
			workstream "B" {
				depends_on = [workstream.A]
				artifacts  = ["b"]
				script     = "echo B > b"
			}`,
			"captured +A -A captured +B -B captured", nothing,
		},
		"one at a time": {
			`workstream "A" {
				artifacts = ["a"]
				script    = "echo A > a"
			}
			workstream "B" {
				artifacts = ["b"]
				script    = "echo B > b"
			}`,
			"captured +A -A captured +B -B captured", func(o *runner.Options) { o.Parallel = 1 },
		},
		"side by side": {
			`workstream "A" {
				artifacts = ["a"]
				script    = "until test -e c; do sleep 0.01; done; sleep 0.5; echo A > a"
			}
			workstream "B" {
				artifacts = ["b"]
				script    = "echo B > b"
			}
			workstream "C" {
				depends_on = [workstream.B]
				artifacts  = ["c"]
				script     = "echo C > c"
			}`,
			"captured +A +B -B +C -C -A captured", nothing,
		},
		"beside one that is tried again": {
			`workstream "A" {
				artifacts = ["a"]
				script    = "test -e failed && echo A > a || { touch failed; exit 1; }"
				retry {
					attempts         = 2
					initial_interval = "1s"
				}
			}
			workstream "B" {
				artifacts = ["b"]
				script    = "until test -e failed; do sleep 0.01; done; echo B > b"
			}`,
			"captured +A +B -B +A -A captured", nothing,
		},
		"unchanged": {
			`workstream "A" { script = "true" }`,
			"captured +A -A", nothing,
		},
		"at phases only": {
			`workstream "A" {
				artifacts = ["a"]
				script    = "echo A > a"
			}
			workstream "B" {
				depends_on = [workstream.A]
				artifacts  = ["b"]
				script     = "echo B > b"
			}`,
			"captured +A -A +B -B captured", func(o *runner.Options) { o.Capture = runner.CapturePhase },
		},
		"off": {
			`workstream "A" {
				artifacts = ["a"]
				script    = "echo A > a"
			}`,
			"+A -A", func(o *runner.Options) { o.Capture = runner.CaptureOff },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "phase \"one\" {\n"+c.src+"\n}\n")
			b.must(state.StatusComplete, c.with)
			if got := b.story(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestCapturesEndWhereTheyTakeTooLong: Runner makes no capture at a boundary while
// captures have taken more than a tenth of the session's time.
func TestCapturesEndWhereTheyTakeTooLong(t *testing.T) {
	t.Parallel()
	var src strings.Builder
	src.WriteString("phase \"one\" {\n")
	for i := range 30 {
		fmt.Fprintf(&src, "workstream \"s%02[1]d\" {\n artifacts = [\"s%02[1]d\"]\n script = \"echo > s%02[1]d\"\n", i)
		if i > 0 {
			fmt.Fprintf(&src, " depends_on = [workstream.s%02d]\n", i-1)
		}
		src.WriteString("}\n")
	}
	src.WriteString("workstream \"last\" {\n depends_on = [workstream.s29]\n script = \"test -e go\"\n}\n}\n")
	b := newBench(t, src.String())
	began, reads := time.Now(), 0
	b.must(state.StatusFailed, func(o *runner.Options) {
		o.Now = func() time.Time { // each reading of the clock advances it by a second, so that each capture takes a second
			reads++
			return began.Add(time.Duration(reads) * time.Second)
		}
	})
	captured := strings.Count(b.story(), "captured")
	if captured < 10 || captured > 20 {
		t.Errorf("%d captures, want 10 to 20", captured)
	}
	if made := b.state().Captures; made.Made != captured {
		t.Errorf("%+v is recorded, want %d captures", made, captured)
	}
}
