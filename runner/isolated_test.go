package runner_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// inTrees lets a build make its work trees in a directory of its own.
func inTrees(dir string) func(*runner.Options) {
	return func(o *runner.Options) { o.WorkTrees = dir }
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("left over: %s", e.Name())
	}
}

// TestIsolatedInstances runs many instances that change the same file.
func TestIsolatedInstances(t *testing.T) {
	t.Parallel()
	const n = 60
	b := newBench(t, fmt.Sprintf(`
phase "one" {
  workstream "fix" {
    for_each  = toset([for i in range(%d) : tostring(i)])
    script    = "echo ${each.key} >> shared; cp shared fix-${each.key}; echo n=${each.key} >> $RUNNER_OUTPUT"
    artifacts = ["fix-${each.key}"]
    isolate { include = ["shared"] }
    gate "one" {
      condition     = workstream.fix[each.key].outputs.n == each.key
      error_message = "no output"
    }
  }
}
`, n))
	b.write("shared", "base\n")
	trees := t.TempDir()
	b.must(state.StatusComplete, inTrees(trees))
	for i := range n {
		b.wantFile(fmt.Sprintf("fix-%d", i), fmt.Sprintf("base\n%d", i))
	}
	b.wantFile("shared", "base")
	isEmpty(t, trees)
}

// TestHeldResult follows the record of a workstream from its work to its completion.
func TestHeldResult(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" {
    script    = "echo two > old; echo new > new; rm gone"
    artifacts = ["old", "new", "go*"]
    isolate {}
    gate "check" { command = ["test", "-e", "new"] }
  }
}
`)
	for _, name := range []string{"old", "gone", "go"} {
		b.write(name, name)
	}
	b.must(state.StatusComplete, inTrees(t.TempDir()))
	var kinds []string
	for _, c := range b.commits {
		for _, e := range c.Events {
			switch e := e.(type) {
			case state.WorkstreamSucceeded:
				var before []string
				for _, a := range e.Held.Before {
					before = append(before, fmt.Sprintf("%s:%v", a.Path, a.Digest != ""))
				}
				kinds = append(kinds, "held "+strings.Join(before, " "))
			case state.GatePassed, state.WorkstreamCompleted:
				kinds = append(kinds, string(e.Kind()))
			}
		}
	}
	if want := []string{"held gone:true new:false old:true", "gate.passed", "workstream.completed"}; !slices.Equal(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
	if w := b.state().Workstream("a"); w.Held != nil || w.Status != state.Completed || w.FilesSeq <= w.WorkSeq {
		t.Errorf("%+v", w)
	}
}

// stopBefore ends a build in its middle: the journal takes no commit from the one that has
// a certain event.
type stopBefore struct {
	runner.Executor
	stop func()
}

func (s stopBefore) Run(ctx context.Context, task runner.Task, sink runner.Sink) (runner.Result, error) {
	if strings.Contains(task.ID, ".check/") {
		s.stop()
	}
	return s.Executor.Run(ctx, task, sink)
}

// TestIsolatedInterrupted stops a build while the gate is judged in the work tree: nothing
// comes back, and the workstream runs again.
func TestIsolatedInterrupted(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" {
    script    = "echo $RUNNER_ATTEMPT > made"
    artifacts = ["made"]
    isolate {}
    gate "check" { script = "test -e go || sleep 60" }
  }
}
`)
	trees, signals := t.TempDir(), make(chan string, 1)
	b.must(state.StatusPaused, inTrees(trees), func(o *runner.Options) {
		o.Interrupts, o.Executor = signals, stopBefore{o.Executor, func() { signals <- "SIGINT" }}
	})
	if w := b.state().Workstream("a"); w.Held != nil || w.Status != state.Interrupted || len(w.Artifacts) > 0 {
		t.Errorf("%+v", w)
	}
	if _, err := os.Stat(b.path("made")); err == nil {
		t.Error("made came back")
	}
	isEmpty(t, trees)
	b.write("go", "")
	b.must(state.StatusComplete, inTrees(trees))
	b.wantFile("made", "2")
}

// TestIsolatedAllowedToFail lets a gate fail in the work tree of a workstream that may fail.
func TestIsolatedAllowedToFail(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" {
    script        = "touch made"
    artifacts     = ["made"]
    allow_failure = true
    isolate {}
    gate "check" { command = ["false"] }
  }
  workstream "b" {
    depends_on = [workstream.a]
    script     = "test ! -e made; echo ${workstream.a.status} > status"
  }
}
`)
	b.must(state.StatusComplete, inTrees(t.TempDir()))
	b.wantFile("status", "failed")
}

// TestCachedIsolated takes the result of an earlier run, without a work tree.
func TestCachedIsolated(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" {
    script    = "cat in > out; echo ran >> $RUNNER_STATE_DIR/../ran"
    inputs    = ["in"]
    artifacts = ["out"]
    effect    = "pure"
    cache     = true
    isolate {}
    gate "check" { command = ["test", "-s", "out"] }
  }
}
`)
	for _, text := range []string{"one", "two", "one"} {
		b.write("in", text)
		b.must(state.StatusComplete, inTrees(t.TempDir()))
		b.wantFile("out", text)
	}
	b.wantFile("ran", "ran\nran")
}

// TestIsolatedGateThatWrites fails a gate that changes what it judges.
func TestIsolatedGateThatWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" {
    script    = "echo one > made"
    artifacts = ["made"]
    isolate {}
    gate "format" { script = "echo two > made" }
  }
}
`)
	e := b.must(state.StatusFailed, inTrees(t.TempDir()))
	if !strings.Contains(string(e.Error.Message), "it changed what it judges") {
		t.Error(e.Error.Message)
	}
}

// TestHeldResultComesBackLater puts something in the way of a result whose gates have passed.
// The next build brings it back without a new attempt, unless the files have changed.
func TestHeldResultComesBackLater(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		edit    func(b *bench)
		want    string
		ran     string
		warning string
	}{
		{"later", func(*bench) {}, "1", "ran", ""},
		{"changed", func(b *bench) { b.write("other", "mine\n") }, "2", "ran\nran", "other changed in the workspace since the work tree was made"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `
phase "one" {
  workstream "a" {
    script    = "echo $RUNNER_ATTEMPT > made; echo other >> other; echo ran >> $RUNNER_STATE_DIR/../ran"
    artifacts = ["made", "other"]
    isolate {}
    gate "check" { script = "test -e ran || { mkdir $RUNNER_STATE_DIR/../made; touch $RUNNER_STATE_DIR/../made/in-the-way; }" }
  }
}
`)
			trees := t.TempDir()
			b.must(state.StatusPaused, inTrees(trees))
			if w := b.state().Workstream("a"); !w.Returns() {
				t.Errorf("%+v", w)
			}
			if _, err := os.Stat(b.path("other")); err == nil {
				t.Error("half of the result came back")
			}
			b.remove("made/in-the-way")
			b.remove("made")
			test.edit(b)
			b.must(state.StatusComplete, inTrees(trees))
			b.wantFile("made", test.want)
			b.wantFile("ran", test.ran)
			if warned := strings.Join(b.warned, "\n"); !strings.Contains(warned, test.warning) || (test.warning == "") != (warned == "") {
				t.Errorf("warned %q", warned)
			}
			isEmpty(t, trees)
		})
	}
}

// TestHeldResultIsTakenBack begins a new session although a result has come back in part.
func TestHeldResultIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" {
    script    = "echo new > made; echo new > other"
    artifacts = ["made", "other"]
    isolate {}
    gate "check" { script = "mkdir $RUNNER_STATE_DIR/../made; touch $RUNNER_STATE_DIR/../made/in-the-way" }
  }
}
`)
	b.write("other", "old\n")
	b.must(state.StatusPaused, inTrees(t.TempDir()))
	b.remove("made/in-the-way")
	b.remove("made")
	b.write("other", "new\n")
	b.rewrite(`
phase "one" {
  workstream "a" { command = ["grep", "old", "other"] }
}
`)
	b.must(state.StatusComplete, inTrees(t.TempDir()), func(o *runner.Options) { o.Fresh = true })
	b.wantFile("other", "old")
	if warned := strings.Join(b.warned, "\n"); !strings.Contains(warned, "it had not come back as a whole") {
		t.Error(warned)
	}
}
