package runner_test

import (
	"errors"
	"os"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// looping returns a bench whose workstream fix has failed twice. Each attempt added a
// line to f and removed extra, the two artifacts of the workstream make.
func looping(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, loopOf("test $(grep -c fixed f) = 3"))
	b.must(state.StatusFailed)
	b.wantFile("f", "made\nfixed\nfixed")
	return b
}

// loopOf returns a pipeline whose workstream fix fails until the command enough succeeds.
func loopOf(enough string) string {
	return `
phase "all" {
  workstream "make" {
    artifacts = ["f", "extra"]
    script    = "echo made > f; echo extra > extra"
  }
  workstream "fix" {
    depends_on = [workstream.make]
    artifacts  = ["f", "extr?"]
    script     = "cp extra was || :; echo fixed >> f; rm -f extra; ` + enough + ` && echo done > extra"
    retry {
      attempts         = 2
      initial_interval = "1ms"
    }
  }
}
`
}

// cutShort records one more attempt of fix, which was killed after it had written f.
func (b *bench) cutShort() {
	b.t.Helper()
	b.locked(func(x *checkpoint.Session) {
		fix := x.State().Workstream("fix")
		x.Add(state.SessionResumed{}, state.WorkstreamStarted{Workstream: "fix", Attempt: fix.Attempts + 1, Digest: fix.Digest})
	})
	b.write("f", "cut short")
}

// TestAnAttemptStartsFromWhatTheLastOneLeft: an attempt starts from the files that the
// last failed attempt left, even if attempts were killed after it.
func TestAnAttemptStartsFromWhatTheLastOneLeft(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(b *bench){
		"it failed":                       func(*bench) {},
		"it was killed":                   (*bench).cutShort,
		"it was killed with what is gone": func(b *bench) { b.cutShort(); b.write("extra", "cut short") },
		"its kill removed the rest":       func(b *bench) { b.cutShort(); b.remove("f") },
		"it was killed twice":             func(b *bench) { b.cutShort(); b.cutShort() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := looping(t)
			between(b)
			b.must(state.StatusComplete)
			b.wantFile("f", "made\nfixed\nfixed\nfixed")
			b.wantFile("extra", "done")
			if left := b.state().Workstream("fix").Left; left != nil {
				t.Errorf("fix is complete, but its state still has %+v from failed attempts", left)
			}
		})
	}
}

// TestAnEditOfWhatAnAttemptLeft edits a file that a failed attempt changed. The edit is a
// conflict. It is kept, or the content that the attempt left is restored.
func TestAnEditOfWhatAnAttemptLeft(t *testing.T) {
	t.Parallel()
	for choice, want := range map[plan.OnConflict]string{
		plan.ConflictKeep:    "by hand\nfixed\nfixed\nfixed",
		plan.ConflictRestore: "made\nfixed\nfixed\nfixed",
	} {
		t.Run(string(choice), func(t *testing.T) {
			t.Parallel()
			b := looping(t)
			b.write("f", "by hand\nfixed\nfixed\n")
			var conflict *runner.ConflictError
			if _, err := b.build(); !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Path != "f" {
				t.Fatalf("%v, want a conflict over f alone", err)
			}
			b.must(state.StatusComplete, func(o *runner.Options) { o.OnConflict = choice })
			b.wantFile("f", want)
		})
	}
}

// TestAFileInPlaceOfOneThatWasLeftGone creates a file at the path of an artifact that a
// failed attempt removed. The file is no conflict, and the next attempt finds it.
func TestAFileInPlaceOfOneThatWasLeftGone(t *testing.T) {
	t.Parallel()
	b := looping(t)
	b.write("extra", "by hand")
	b.must(state.StatusComplete)
	b.wantFile("was", "by hand")
	b.wantFile("f", "made\nfixed\nfixed\nfixed")
}

// TestAKeptEditTakesThePlaceOfWhatWasLeft keeps an edit of a file that a failed attempt
// changed. After a kill, Runner restores the file with the edit, not without it.
func TestAKeptEditTakesThePlaceOfWhatWasLeft(t *testing.T) {
	t.Parallel()
	b := looping(t)
	b.rewrite(loopOf("test -e enough"))
	b.write("f", "by hand\n")
	b.must(state.StatusFailed, func(o *runner.Options) { o.OnConflict = plan.ConflictKeep })
	b.wantFile("f", "by hand\nfixed\nfixed")
	b.cutShort()
	b.write("enough", "")
	b.must(state.StatusComplete)
	b.wantFile("f", "by hand\nfixed\nfixed\nfixed")
}

// TestAnotherDefinitionBeginsAnew changes the definition of a workstream after failed
// attempts. Runner undoes the changes of these attempts, including the removal of a file.
func TestAnotherDefinitionBeginsAnew(t *testing.T) {
	t.Parallel()
	b := looping(t)
	b.rewrite(loopOf("test $(grep -c fixed f) = 1"))
	b.remove("was")
	b.must(state.StatusComplete)
	b.wantFile("f", "made\nfixed")
	b.wantFile("was", "extra")
}

// TestWhatWasLeftIsMadeAnew runs the maker of the artifacts again. The changes by failed
// attempts before that no longer count.
func TestWhatWasLeftIsMadeAnew(t *testing.T) {
	t.Parallel()
	b := looping(t)
	b.must(state.StatusFailed, func(o *runner.Options) { o.Select.Invalidate = []string{"make"} })
	b.wantFile("f", "made\nfixed\nfixed")
	b.cutShort()
	b.must(state.StatusComplete)
	b.wantFile("f", "made\nfixed\nfixed\nfixed")
}

// TestARollbackTakesBackWhatWasLeft: after a rollback, state and files are those of the
// checkpoint, and the next attempts start from them.
func TestARollbackTakesBackWhatWasLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t, loopOf("test $(grep -c fixed f) = 5"))
	b.must(state.StatusFailed)
	b.must(state.StatusFailed)
	b.wantFile("f", "made\nfixed\nfixed\nfixed\nfixed")
	b.goBack(b.checkpointOf(state.TriggerFailure, 1))
	b.wantFile("f", "made\nfixed\nfixed")
	if _, err := os.Stat(b.path("extra")); !os.IsNotExist(err) {
		t.Errorf("extra exists after a rollback to a checkpoint without it: %v", err)
	}
	b.must(state.StatusFailed)
	b.wantFile("f", "made\nfixed\nfixed\nfixed\nfixed")
	b.cutShort()
	b.must(state.StatusComplete)
	b.wantFile("f", "made\nfixed\nfixed\nfixed\nfixed\nfixed")
}

// TestTwoLeftOneFile: if two failed workstreams changed the same file, the record has the
// content of the attempt that ended last.
func TestTwoLeftOneFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "all" {
  workstream "make" {
    artifacts = ["f"]
    script    = "echo made > f"
  }
  workstream "one" {
    depends_on = [workstream.make]
    artifacts  = ["f"]
    script     = "echo one >> f; test -e mended || test $RUNNER_ATTEMPT = 1"
  }
  workstream "two" {
    depends_on = [workstream.one]
    artifacts  = ["f"]
    script     = "echo two >> f; test -e mended"
  }
}
`)
	b.must(state.StatusFailed)
	b.wantFile("f", "made\none\ntwo")
	b.must(state.StatusFailed, func(o *runner.Options) { o.Select.Invalidate = []string{"one"} })
	b.wantFile("f", "made\none\ntwo\none")
	b.write("mended", "")
	b.must(state.StatusComplete)
	b.wantFile("f", "made\none\ntwo\none\none\ntwo")
}
