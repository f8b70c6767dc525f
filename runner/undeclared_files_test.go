package runner_test

import (
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// TestVerdictIsNotBoundToIgnoredFiles: a capture does not hold files that git ignores. So
// the capture does not prove that these are unchanged, and a gate that may have judged
// them is judged again.
func TestVerdictIsNotBoundToIgnoredFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran; mkdir -p build; echo app > build/app"
    gate "check" { script = "echo check >> ran; grep -q app build/app" }
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; false"
  }
}
`)
	git := b.inGit()
	b.write(".gitignore", ".runner\nran\nbuild/\n")
	b.must(state.StatusFailed, git)
	b.wantRan("A", "check", "B")
	b.write("build/app", "broken")
	b.must(state.StatusFailed, git)
	b.wantRan("check")
}

// TestVerdictIsOlderThanAnEditInItsRun edits a file in a run after a gate passed that
// declares no files. The capture at the end of the run holds the edit, but the gate did
// not judge it, so the next run judges again.
func TestVerdictIsOlderThanAnEditInItsRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    gate "check" { script = "echo check >> ran; grep -q good main.go" }
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; echo bad > main.go; false"
  }
}
`)
	git := b.inGit()
	b.write("main.go", "good")
	b.must(state.StatusFailed, git)
	b.wantRan("A", "check", "B")
	b.must(state.StatusFailed, git)
	b.wantRan("check")
}

// TestVerdictWhereOneOfTwoDeclares: the gate of a phase also judges the work of a
// workstream that declares no files.
func TestVerdictWhereOneOfTwoDeclares(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out"]
    script    = "echo A >> ran; echo a > out"
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran"
  }
  gate "check" { script = "echo check >> ran; grep -q good main.go" }
}
phase "two" {
  workstream "C" { script = "echo C >> ran; false" }
}
`)
	git := b.inGit()
	b.write("main.go", "good")
	b.must(state.StatusFailed, git)
	b.wantRan("A", "B", "check", "C")
	b.must(state.StatusFailed, git)
	b.wantRan("C")
	b.write("main.go", "bad")
	b.must(state.StatusFailed, git)
	b.wantRan("check")
}

// TestApprovalIsVoidedByAnEdit: an approval of work that declares no files is void after
// an edit. Without an edit it is not asked for again.
func TestApprovalIsVoidedByAnEdit(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    gate "review" {
      approval { message = "Is it good?" }
    }
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; false"
  }
}
`)
	git := b.inGit()
	b.write(".gitignore", ".runner\nran\nkeep\n")
	b.write("keep", "ignored")
	b.write("main.go", "good")
	b.must(state.StatusPaused, git)
	b.wantRan("A")
	if err := b.ask(checkpoint.Request{Verb: checkpoint.VerbApprove, Gate: "review (A)", By: state.Actor{User: "ann"}}); err != nil {
		t.Fatal(err)
	}
	b.must(state.StatusFailed, git)
	b.wantRan("B")
	b.must(state.StatusFailed, git)
	b.wantRan("B")
	b.write("main.go", "edited")
	b.must(state.StatusPaused, git)
	b.wantRan()
	if got := b.decision("review (A)"); got != plan.Judge {
		t.Errorf("the approval is %s, want it judged again", got)
	}
}
