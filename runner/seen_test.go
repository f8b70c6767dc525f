package runner_test

import (
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// sharedFile is a pipeline in which a later workstream writes a file that a
// workstream reads and its gate judges.
const sharedFile = `
phase "one" {
  workstream "review" {
    inputs = ["f"]
    script = "echo review >> ran"
    gate "check" { script = "echo check >> ran" }
  }
}
phase "two" {
  workstream "before" { script = "echo before >> ran; MEDDLE" }
  workstream "address" {
    depends_on = [workstream.before]
    script     = "echo address >> ran; echo 2 >> f; test -e ok"
    artifacts  = ["f"]
  }
  workstream "last" {
    depends_on = [workstream.address]
    script     = "test -e well"
  }
}
`

func newShared(t *testing.T, meddle string) *bench {
	t.Helper()
	b := newBench(t, strings.Replace(sharedFile, "MEDDLE", meddle, 1))
	b.write("f", "1\n")
	return b
}

// TestWhatALaterWorkstreamWritesVoidsNothing: a later workstream changes an input of an
// earlier one. Its recorded changes and its partial work do not make the earlier
// workstream run again.
func TestWhatALaterWorkstreamWritesVoidsNothing(t *testing.T) {
	t.Parallel()
	b := newShared(t, "true")
	b.must(state.StatusFailed)
	b.wantRan("review", "check", "before", "address")
	b.write("ok", "")
	b.must(state.StatusFailed) // f has the partial work of address
	b.wantRan("address")
	b.write("well", "")
	b.must(state.StatusComplete)
	b.wantRan()
}

// TestAnEditOfWhatALaterWorkstreamWritesIsSeen: an edit counts, whether the workstream
// that writes the file later has not begun, has failed, or is done.
func TestAnEditOfWhatALaterWorkstreamWritesIsSeen(t *testing.T) {
	t.Parallel()
	t.Run("before it has begun", func(t *testing.T) {
		t.Parallel()
		b := newShared(t, "test -e go")
		b.must(state.StatusFailed)
		b.wantRan("review", "check", "before")
		b.write("f", "edited\n")
		b.must(state.StatusFailed)
		b.wantRan("review", "check", "before")
	})
	t.Run("after it has failed", func(t *testing.T) {
		t.Parallel()
		b := newShared(t, "true")
		b.must(state.StatusFailed)
		b.write("f", "edited\n")
		b.write("ok", "")
		b.must(state.StatusFailed)
		b.wantRan("review", "check", "before", "address", "review", "check", "address")
	})
	t.Run("after it is done", func(t *testing.T) {
		t.Parallel()
		b := newShared(t, "true")
		b.write("ok", "")
		b.must(state.StatusFailed)
		b.wantRan("review", "check", "before", "address")
		b.write("f", "edited\n")
		b.must(state.StatusFailed, func(o *runner.Options) { o.OnConflict = plan.ConflictRestore })
		b.wantRan()
		b.write("f", "edited\n")
		b.must(state.StatusFailed, func(o *runner.Options) { o.OnConflict = plan.ConflictKeep })
		b.wantRan("review", "check")
		b.must(state.StatusFailed)
		b.wantRan()
	})
	t.Run("in the run that is under way", func(t *testing.T) {
		t.Parallel()
		b := newShared(t, "echo meddled >> f")
		e := b.must(state.StatusPaused)
		b.wantRan("review", "check", "before")
		if !strings.Contains(string(e.Pause.Message), "f was changed after check (review) judged it") {
			t.Errorf("the run paused with %q", e.Pause.Message)
		}
		b.must(state.StatusFailed)
		b.wantRan("review", "check", "address")
	})
}

// TestWhatAParallelWorkstreamWritesVoidsNothing: recorded changes by a workstream that
// runs at the same time do not make the other workstream run again.
func TestWhatAParallelWorkstreamWritesVoidsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "review" {
    inputs = ["f*"]
    script = "echo review >> ran"
    gate "check" { script = "echo check >> ran" }
  }
  workstream "address" {
    script    = "echo address >> ran; echo 2 > f2; rm f1"
    artifacts = ["f[0-9]"]
  }
}
phase "two" {
  workstream "last" { script = "test -e ok" }
}
`)
	b.write("f1", "1")
	one := func(o *runner.Options) { o.Parallel = 1 }
	b.must(state.StatusFailed, one)
	b.wantRan("review", "check", "address")
	b.must(state.StatusFailed, one)
	b.wantRan()
	b.write("f1", "edited")
	b.must(state.StatusFailed, one)
	b.wantRan("review", "check")
}

// TestWhatALaterWorkstreamMakesOfAnArtifactVoidsNothing: an earlier and a later
// workstream make the same file. The version of the later one counts as unchanged for the
// workstreams between them.
func TestWhatALaterWorkstreamMakesOfAnArtifactVoidsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "make" {
    script    = "echo make >> ran; echo 1 > f"
    artifacts = ["f"]
    gate "check" { script = "echo check >> ran" }
  }
}
phase "two" {
  workstream "review" {
    inputs = ["f"]
    script = "echo review >> ran"
    gate "approved" { script = "echo approved >> ran" }
  }
}
phase "three" {
  workstream "address" {
    script    = "echo address >> ran; echo 2 >> f"
    artifacts = ["f"]
  }
  workstream "last" {
    depends_on = [workstream.address]
    script     = "test -e ok"
  }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("make", "check", "review", "approved", "address")
	b.must(state.StatusFailed)
	b.wantRan()
	b.write("f", "edited\n")
	b.must(state.StatusFailed, func(o *runner.Options) { o.OnConflict = plan.ConflictKeep })
	b.wantRan("check", "review", "approved")
}
