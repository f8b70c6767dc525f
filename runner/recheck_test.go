package runner_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// onceOnRecord returns a script that waits until the journal contains record, and then
// runs the command edit.
func onceOnRecord(record, edit string) string {
	return "until grep -q '" + record + "' .runner/PRD-001/journal.jsonl; do :; done; " + edit
}

const (
	good    = `script = "echo good > notes.md"`
	checked = `gate "ok" {
      inputs = ["notes.*"]
      script = "echo ok >> ran; test -e notes.md"
    }`
	publishes = `workstream "pub" {
    effect = "once"
    inputs = ["notes.*"]
    script = "cat notes.md > published; echo pub >> ran"
  }`
)

// TestEditOfWhatWasJudgedOrMadeStopsTheRun edits a file after a gate judged it in the
// same run. No later step uses the edit: the run pauses and names the file. The resumed
// run judges the gate again.
func TestEditOfWhatWasJudgedOrMadeStopsTheRun(t *testing.T) {
	t.Parallel()
	judged := func(edit string) string {
		return `phase "one" {
  workstream "notes" {
    ` + good + "\n" + checked + `
  }
  workstream "slow" { script = "` + onceOnRecord("gate.passed", edit) + `" }
}
phase "two" {
  ` + publishes + `
}
`
	}
	cases := map[string]struct {
		pipeline string
		ran      []string
		message  string
		resumed  []string // the workstreams that run when resumed
		failed   bool     // whether the resumed run fails
	}{
		"a judged file is changed":     {judged("echo evil > notes.md"), []string{"ok"}, "notes.md was changed after ok (notes) judged it", []string{"ok", "pub"}, false},
		"the mode of a judged file":    {judged("chmod 755 notes.md"), []string{"ok"}, "notes.md was changed after ok (notes) judged it", []string{"ok", "pub"}, false},
		"a judged file is deleted":     {judged("rm notes.md"), []string{"ok"}, "notes.md was deleted after ok (notes) judged it", []string{"ok"}, true},
		"a file to be judged is added": {judged("echo evil > notes.more"), []string{"ok"}, "notes.more was added after ok (notes) judged it", []string{"ok", "pub"}, false},
		"before a step of another phase": {`phase "one" {
  workstream "notes" {
    ` + good + "\n" + checked + `
  }
}
phase "two" {
  workstream "slow" { script = "echo evil > notes.md" }
}
phase "three" {
  ` + publishes + `
}
`, []string{"ok"}, "notes.md was changed after ok (notes) judged it", []string{"ok", "pub"}, false},
		"deleted before a step of another phase": {`phase "one" {
  workstream "notes" {
    ` + good + "\n" + checked + `
  }
}
phase "two" {
  workstream "slow" { script = "rm notes.md" }
}
phase "three" {
  ` + publishes + `
}
`, []string{"ok"}, "notes.md was deleted after ok (notes) judged it", []string{"ok"}, true},
		"before a gate of another phase": {`phase "one" {
  workstream "notes" {
    ` + good + "\n" + checked + `
  }
}
phase "two" {
  workstream "slow" { script = "echo evil > notes.md" }
  gate "again" {
    inputs = ["notes.md"]
    script = "echo again >> ran"
  }
}
phase "three" {
  workstream "last" { script = "echo last >> ran" }
}
`, []string{"ok"}, "notes.md was changed after ok (notes) judged it", []string{"ok", "again", "last"}, false},
		"before the session is complete": {`phase "one" {
  workstream "notes" {
    ` + good + "\n" + checked + `
  }
}
phase "two" {
  workstream "slow" { script = "echo slow >> ran; echo evil > notes.md" }
}
`, []string{"ok", "slow"}, "notes.md was changed after ok (notes) judged it", []string{"ok"}, false},
		"and the last phase is skipped": {`phase "one" {
  workstream "notes" {
    ` + good + "\n" + checked + `
  }
}
phase "two" {
  workstream "slow" { script = "echo slow >> ran; echo evil > notes.md" }
}
phase "three" {
  when = false
  workstream "never" { script = "echo never >> ran" }
}
`, []string{"ok", "slow"}, "notes.md was changed after ok (notes) judged it", []string{"ok"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.pipeline)
			e := b.must(state.StatusPaused)
			b.wantRan(c.ran...)
			want := c.message + ", while the run was under way; nothing more was started; `runner build PRD-001 --resume` judges it again"
			if e.Pause == nil || string(e.Pause.Message) != want {
				t.Errorf("pause %+v, want %q", e.Pause, want)
			}
			if _, err := os.Stat(b.path("published")); err == nil {
				t.Error("pub ran after the edit")
			}
			status := state.StatusComplete
			if c.failed {
				status = state.StatusFailed
			}
			b.must(status)
			b.wantRan(c.resumed...)
		})
	}
}

// TestEditAfterAnApprovalStopsTheRun edits a file in the run in which the user approved
// it. The run publishes nothing and pauses, and the resumed run asks again.
func TestEditAfterAnApprovalStopsTheRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, `phase "one" {
  workstream "notes" {
    `+good+`
    gate "sign-off" {
      inputs = ["notes.md"]
      approval { message = "Publish?" }
    }
  }
  workstream "slow" { script = "`+onceOnRecord("gate.approved", "echo evil > notes.md")+`" }
}
phase "two" {
  `+publishes+`
}
`)
	approve := checkpoint.Request{PRD: "PRD-001", Verb: checkpoint.VerbApprove, Gate: "sign-off (notes)", By: state.Actor{User: "ann"}}
	answered := make(chan error, 1)
	asked := onEvent(func(e state.Event) bool { return e.Kind() == state.KindGateAsked }, func() {
		go func() {
			answered <- b.store.Ask(context.Background(), approve, func(*checkpoint.Session) error { return errors.New("no build is running") })
		}()
	})
	e := b.must(state.StatusPaused, asked)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	b.wantRan()
	if e.Pause == nil || e.Pause.Reason != state.PauseRequested || !strings.HasPrefix(string(e.Pause.Message), "notes.md was changed after sign-off (notes) judged it") {
		t.Errorf("pause %+v", e.Pause)
	}
	if e := b.must(state.StatusPaused); e.Pause.Reason != state.PauseApproval {
		t.Errorf("pause %+v, want the gate to ask again", e.Pause)
	}
	b.wantRan()
}

// TestEditOfAnArtifactStopsTheRun edits an artifact of a done workstream in the same run,
// whether or not a gate judged the artifact. The run pauses. No step reads the edit, and
// the edit is not recorded as the work of the workstream.
func TestEditOfAnArtifactStopsTheRun(t *testing.T) {
	t.Parallel()
	const makes = good + "\n artifacts = [\"notes.md\"]\n"
	edits := func(record, before string) string {
		return `phase "one" {
  workstream "notes" {
    ` + before + `
  }
  workstream "slow" { script = "` + onceOnRecord(record, "echo evil > notes.md") + `" }
}
phase "two" {
  ` + publishes + `
}
`
	}
	for name, c := range map[string]struct{ pipeline, message string }{
		"that nobody judged": {edits(`workstream.completed`, makes), "notes.md was changed after notes made it"},
		"that was judged":    {edits(`gate.passed`, makes+checked), "notes.md was changed after ok (notes) judged it"},
		"before a step of its phase": {`phase "one" {
  workstream "notes" {
    ` + makes + `
  }
  workstream "slow" {
    depends_on = [workstream.notes]
    script     = "echo evil > notes.md"
  }
  ` + strings.Replace(publishes, `effect = "once"`, `effect = "once"
    depends_on = [workstream.slow, workstream.notes]`, 1) + `
}
`, "notes.md was changed after notes made it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.pipeline)
			e := b.must(state.StatusPaused)
			if slices.Contains(b.ran(), "pub") {
				t.Error("pub ran after the edit")
			}
			if e.Pause == nil || !strings.HasPrefix(string(e.Pause.Message), c.message) || !strings.Contains(string(e.Pause.Message), "`runner build PRD-001 --resume --on-conflict keep`") {
				t.Errorf("pause %+v, want %q and how to resume", e.Pause, c.message)
			}
			if _, err := b.build(); !errors.Is(err, runner.ErrConflict) {
				t.Errorf("error %v, want a conflict", err)
			}
			b.must(state.StatusComplete, func(o *runner.Options) { o.OnConflict = plan.ConflictRestore })
			b.wantFile("published", "good")
		})
	}
}

// TestEditBeforeItsTurnIsNotTaken edits an artifact during a run, before the run comes to
// the workstream that made it. The user has not decided to keep the edit. So the run
// pauses, and the edit is not recorded.
func TestEditBeforeItsTurnIsNotTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "Z" {
    inputs = ["in"]
    script = "if test -e again; then echo evil > out; fi"
  }
}
phase "two" {
  workstream "A" {
    artifacts = ["out"]
    script    = "echo A >> ran; echo a > out"
  }
}
phase "three" {
  workstream "C" { script = "test -e mended" }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("A")
	b.write("again", "")
	b.write("mended", "")
	b.write("in", "other")
	if e := b.must(state.StatusPaused); e.Pause == nil || !strings.HasPrefix(string(e.Pause.Message), "out was changed after A made it") {
		t.Errorf("pause %+v", e.Pause)
	}
	if edited := b.state().Workstream("A").Edited; len(edited) > 0 {
		t.Errorf("the edit of %q was recorded as kept", edited)
	}
}

// TestDeclaredRewriteIsNoEdit: a workstream may rewrite or remove files that another
// workstream made or a gate judged, if it declares them.
func TestDeclaredRewriteIsNoEdit(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"an artifact is made anew": "cp out/a out/b; echo later > out/a",
		"an artifact is deleted":   "mv out/a out/b",
		"a judged file":            "echo later > out/judged; echo > out/b",
		"a judged file is deleted": "rm out/judged; echo > out/b",
		"and fails before it does": "test -e out/once || { cp out/a out/once; echo later > out/a; exit 1; }; cat out/a > out/b",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out/a"]
    script    = "mkdir -p out; echo a > out/a; echo judged > out/judged"
    gate "ok" {
      inputs = ["out/a", "out/judged"]
      script = "cat out/a"
    }
  }
}
phase "two" {
  workstream "B" {
    depends_on = [workstream.A]
    artifacts  = ["out/*"]
    script     = "`+script+`"
    retry {
      attempts         = 2
      initial_interval = "1ms"
    }
  }
}
phase "three" {
  workstream "C" {
    inputs = ["out/*"]
    script = "echo C >> ran"
  }
}
`)
			b.must(state.StatusComplete)
			b.wantRan("C")
		})
	}
}

// TestRewriteUnderWayIsNoEdit: a workstream starts while another one writes its
// artifacts. Runner does not take the unfinished changes for edits.
func TestRewriteUnderWayIsNoEdit(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out/a"]
    script    = "mkdir -p out; echo a > out/a"
  }
}
phase "two" {
  workstream "B" {
    artifacts = ["out/*"]
    script    = "echo later > out/a; touch begun; until test -e done; do :; done"
    timeout   = "10s"
  }
  workstream "C" { script = "until test -e begun; do :; done" }
  workstream "D" {
    depends_on = [workstream.C]
    inputs     = ["out/a"]
    script     = "echo D >> ran; touch done"
  }
}
`)
	b.must(state.StatusComplete)
	b.wantRan("D")
}

// TestEditWhileAnApprovalIsAskedForIsWhatIsApproved: if an artifact is edited while its
// own gate waits for an approval, the gate asks about the edited file, and the approval
// records it.
func TestEditWhileAnApprovalIsAskedForIsWhatIsApproved(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out"]
    script    = "echo raw > out"
    gate "sign-off" {
      approval { message = "Publish?" }
    }
  }
}
phase "two" {
  workstream "B" {
    inputs = ["out"]
    script = "cat out >> ran"
  }
}
`)
	approve := checkpoint.Request{PRD: "PRD-001", Verb: checkpoint.VerbApprove, Gate: "sign-off (A)", By: state.Actor{User: "ann"}}
	answers, times := make(chan error, 2), 0
	asked := onEvent(func(e state.Event) bool { return e.Kind() == state.KindGateAsked }, func() {
		if times++; times == 1 {
			b.write("out", "edited")
		}
		go func() {
			answers <- b.store.Ask(context.Background(), approve, func(*checkpoint.Session) error { return errors.New("no build is running") })
		}()
	})
	b.must(state.StatusComplete, asked, func(o *runner.Options) { o.Asker = silent{asked: func() {}} })
	var refused *checkpoint.RefusedError
	if err := <-answers; !errors.As(err, &refused) {
		t.Errorf("the first answer: %v, want a refusal", err)
	}
	if err := <-answers; err != nil {
		t.Errorf("the second answer: %v", err)
	}
	b.wantRan("edited")
	if edited := b.state().Workstream("A").Edited; !slices.Equal(edited, []state.Text{"out"}) {
		t.Errorf("edited %q", edited)
	}
}

// TestGateThatMendsWhatItJudges: if the own gate of a workstream changes its artifacts,
// the gate judges them again, and the changed artifacts are recorded.
func TestGateThatMendsWhatItJudges(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out"]
    script    = "echo raw > out"
    gate "format" { script = "echo formatted > out" }
  }
}
phase "two" {
  workstream "B" {
    inputs = ["out"]
    script = "cat out >> ran"
  }
}
`)
	b.must(state.StatusComplete)
	b.wantRan("formatted")
	if edited := b.state().Workstream("A").Edited; !slices.Equal(edited, []state.Text{"out"}) {
		t.Errorf("edited %q", edited)
	}
}
