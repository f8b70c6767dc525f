package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// unjudged is a case in which the work of A is done, and the gate of A has not passed.
type unjudged struct {
	name, gate string
	leave      func(b *bench) // makes the run reach the gate, which does not pass
	pass       func(b *bench, o *runner.Options)
	taken      bool // whether an edit is kept if the user has not chosen
}

// unjudgedWork returns all these cases. A makes out/a.txt and out/b.txt, and B reads them
// after the gate has passed.
func unjudgedWork() []unjudged {
	const command = `gate "check" { script = "test -e ok" }`
	mend := func(b *bench, _ *runner.Options) { b.write("ok", "") }
	return []unjudged{
		{"red", command, func(b *bench) { b.must(state.StatusFailed) }, mend, true},
		{"waiting", `gate "check" {
		  approval { message = "fine?" }
		}`, func(b *bench) { b.must(state.StatusPaused) }, func(_ *bench, o *runner.Options) { o.Asker = deciding{} }, false},
		{"killed", command, func(b *bench) {
			b.must(state.StatusFailed)
			b.locked(func(x *checkpoint.Session) {
				x.Add(state.SessionResumed{}, state.GateStarted{Gate: "check (A)", Attempt: 2})
			})
		}, mend, false},
	}
}

func (u unjudged) bench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out/*.txt"]
    script    = "echo A >> ran; mkdir -p out; echo a > out/a.txt; echo b > out/b.txt"
    `+u.gate+`
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; cat out/a.txt out/b.txt > seen"
  }
}
`)
	u.leave(b)
	b.wantRan("A")
	return b
}

// deciding is an Asker whose user approves, and decides about edits.
type deciding struct {
	approving
	choice plan.OnConflict
}

func (d deciding) Resolve(context.Context, *runner.ConflictError) (plan.OnConflict, error) {
	return d.choice, nil
}

// TestArtifactsGoneBeforeTheirGateArePutBack: artifacts that were removed are restored
// before their gate is judged and before dependents read them, whatever the choice about
// edits.
func TestArtifactsGoneBeforeTheirGateArePutBack(t *testing.T) {
	t.Parallel()
	for _, u := range unjudgedWork() {
		for _, choice := range []plan.OnConflict{"", plan.ConflictAsk, plan.ConflictFail, plan.ConflictRestore, plan.ConflictKeep} {
			for _, gone := range [][]string{{"out/a.txt"}, {"out/a.txt", "out/b.txt"}} {
				t.Run(u.name+" "+string(choice)+" "+gone[len(gone)-1], func(t *testing.T) {
					t.Parallel()
					b := u.bench(t)
					for _, path := range gone {
						b.remove(path)
					}
					chosen := func(o *runner.Options) { o.OnConflict = choice }
					if step := b.preview(chosen)["A"]; step.Decision != plan.Judge || len(step.Restores) != len(gone) || step.Refused != "" {
						t.Errorf("the plan for A is %+v", step)
					}
					b.must(state.StatusComplete, chosen, func(o *runner.Options) { u.pass(b, o) })
					b.wantRan("B")
					b.wantFile("seen", "a\nb")
					if a := b.state().Workstream("A"); len(a.Artifacts) != 2 || len(a.Edited) > 0 {
						t.Errorf("the recorded artifacts are %+v, the edited ones %q", a.Artifacts, a.Edited)
					}
				})
			}
		}
	}
}

// TestArtifactsGoneBeforeTheirGateArePutBackInGit removes an artifact in a git work tree.
// The artifact is restored before its gate is judged.
func TestArtifactsGoneBeforeTheirGateArePutBackInGit(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out.txt"]
    script    = "echo A >> ran; echo a > out.txt"
    gate "check" { script = "test -e ok" }
  }
}
`)
	git := b.inGit()
	b.must(state.StatusFailed, git)
	b.remove("out.txt")
	b.write("ok", "")
	b.must(state.StatusComplete, git)
	b.wantRan("A")
	b.wantFile("out.txt", "a")
}

// TestLostArtifactsOfUnjudgedWorkAreMadeAgain removes an artifact and the objects from
// which it could be restored. The workstream runs again before its gate is judged. For a
// once step the run pauses and asks the user.
func TestLostArtifactsOfUnjudgedWorkAreMadeAgain(t *testing.T) {
	t.Parallel()
	for _, effect := range []string{"idempotent", "once"} {
		for _, u := range unjudgedWork() {
			t.Run(effect+" "+u.name, func(t *testing.T) {
				t.Parallel()
				u.gate += "\n effect = \"" + effect + "\""
				b := u.bench(t)
				b.remove("out/a.txt")
				if err := os.RemoveAll(filepath.Join(b.dir, ".runner", "objects")); err != nil {
					t.Fatal(err)
				}
				if effect == "once" {
					e := b.must(state.StatusPaused, func(o *runner.Options) { u.pass(b, o) })
					if b.wantRan(); e.Pause.Reason != state.PauseUncertain {
						t.Errorf("paused for %+v", e.Pause)
					}
					return
				}
				b.must(state.StatusComplete, func(o *runner.Options) { u.pass(b, o) })
				b.wantRan("A", "B")
				b.wantFile("seen", "a\nb")
			})
		}
	}
}

// TestEditsBeforeTheirGateAreDecided: an edit of work that is not judged yet needs a
// decision like any other edit. Without a choice it is kept if a gate has failed, because
// users repair work in this way.
func TestEditsBeforeTheirGateAreDecided(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		choice, answer plan.OnConflict
		want           string // the content of the artifact that B reads; "": the build refuses to start
	}{
		{name: "keep", choice: plan.ConflictKeep, want: "edited"},
		{name: "restore", choice: plan.ConflictRestore, want: "a"},
		{name: "fail", choice: plan.ConflictFail},
		{name: "ask nobody", choice: plan.ConflictAsk},
		{name: "ask and keep", choice: plan.ConflictAsk, answer: plan.ConflictKeep, want: "edited"},
		{name: "ask and restore", choice: plan.ConflictAsk, answer: plan.ConflictRestore, want: "a"},
		{name: "not chosen"},
	}
	for _, u := range unjudgedWork() {
		for _, test := range tests {
			t.Run(u.name+" "+test.name, func(t *testing.T) {
				t.Parallel()
				b := u.bench(t)
				b.write("out/a.txt", "edited\n")
				if test.choice == "" && u.taken {
					test.want = "edited"
				}
				chosen := func(o *runner.Options) { o.OnConflict = test.choice }
				step := b.preview(chosen)["A"]
				if refused := test.want == "" || test.answer != ""; step.Decision != plan.Judge || refused != (step.Refused != "") {
					t.Errorf("the plan for A is %+v", step)
				}
				asked := func(o *runner.Options) {
					if test.answer != "" {
						o.Asker = deciding{choice: test.answer}
					}
				}
				if test.want == "" {
					_, err := b.build(chosen)
					if !errors.Is(err, runner.ErrConflict) {
						t.Errorf("the build ended with %v, want a conflict", err)
					}
					b.wantRan()
					b.wantFile("out/a.txt", "edited")
					return
				}
				b.must(state.StatusComplete, chosen, func(o *runner.Options) { u.pass(b, o) }, asked)
				b.wantRan("B")
				b.wantFile("seen", test.want+"\nb")
				a := b.state().Workstream("A")
				if kept := slices.Equal(a.Edited, []state.Text{"out/a.txt"}); len(a.Artifacts) != 2 || kept != (test.want == "edited") {
					t.Errorf("the recorded artifacts are %+v, the edited ones %q", a.Artifacts, a.Edited)
				}
				inCheckpoint := slices.ContainsFunc(b.state().Checkpoints, func(c *state.CheckpointRef) bool { return c.Trigger == state.TriggerConflictStart })
				if inCheckpoint != (test.want == "a") {
					t.Errorf("the edit is in a checkpoint: %t", inCheckpoint)
				}
			})
		}
	}
}

// TestEditIsKeptBesideWhatIsPutBack: if some artifacts are missing and others edited,
// both the restore and the edit are recorded.
func TestEditIsKeptBesideWhatIsPutBack(t *testing.T) {
	t.Parallel()
	for _, u := range unjudgedWork() {
		b := u.bench(t)
		b.remove("out/b.txt")
		b.write("out/a.txt", "edited\n")
		b.must(state.StatusComplete, func(o *runner.Options) { o.OnConflict = plan.ConflictKeep }, func(o *runner.Options) { u.pass(b, o) })
		b.wantFile("seen", "edited\nb")
		if a := b.state().Workstream("A"); len(a.Artifacts) != 2 {
			t.Errorf("%s: the recorded artifacts are %+v", u.name, a.Artifacts)
		}
	}
}
