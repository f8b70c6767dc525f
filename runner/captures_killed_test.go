package runner_test

import (
	"os"
	"regexp"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// TestAStepWhoseCaptureWasKilled cuts the session as if Runner was killed while it
// captured the files of step 1. The next run makes the missing checkpoint, without edits
// made after the kill. A rollback to the step restores its state only if all work of the
// step can be restored; otherwise A runs again.
func TestAStepWhoseCaptureWasKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit    func(*bench)
		with    func(*runner.Options)
		a, note string   // the content of these files after the rollback to the step
		again   []string // the workstreams that run after the rollback
	}{
		"nothing edited": {
			edit: func(*bench) {},
			a:    "A\n", note: "as it was", again: []string{"B"},
		},
		"an input edited": {
			edit: func(b *bench) { b.write("note", "edited") },
			note: "as it was", again: []string{"A", "B"},
		},
		"its artifact edited, and put back": {
			edit: func(b *bench) { b.write("a", "edited") },
			with: func(o *runner.Options) { o.OnConflict = plan.ConflictRestore },
			a:    "A\n", note: "as it was", again: []string{"B"},
		},
		"invalidated by the run that goes on": {
			edit: func(*bench) {},
			with: func(o *runner.Options) { o.Select.Invalidate = []string{"A"} },
			a:    "A\n", note: "as it was", again: []string{"B"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["a"]
    script    = "echo A >> ran; echo A > a"
  }
  workstream "B" {
    depends_on = [workstream.A]
    inputs     = ["note"]
    artifacts  = ["b"]
    script     = "echo B >> ran; echo B > b"
  }
}
`)
			b.write("note", "as it was")
			b.must(state.StatusComplete)
			b.ran()
			b.killedAfter(`"workstream\.completed",("after_ms":\d+,)?"workstream":"A".*\n`)
			b.remove("b")
			c.edit(b)
			if c.with == nil {
				c.with = func(*runner.Options) {}
			}
			b.must(state.StatusComplete, c.with)
			b.ran()
			ref, err := b.state().FindCheckpoint("1")
			if err != nil || ref.StepName != "A" {
				t.Fatalf("step 1 is %+v, %v", ref, err)
			}
			if id := b.checkpointOf(state.TriggerBatchComplete, 1); b.state().Names()[id] == "" {
				t.Errorf("no checkpoint of the batch")
			}
			b.goBack("1")
			if text, _ := os.ReadFile(b.path("a")); string(text) != c.a {
				t.Errorf("a is %q, want %q", text, c.a)
			}
			b.wantFile("note", c.note)
			b.must(state.StatusComplete)
			b.wantRan(c.again...)
		})
	}
}

// killedAfter cuts the journal after the matching line and removes the derived files, as
// if Runner was killed as soon as the line was durable.
func (b *bench) killedAfter(line string) {
	b.t.Helper()
	journal := b.path(".runner/PRD-001/journal.jsonl")
	data, err := os.ReadFile(journal)
	if err != nil {
		b.t.Fatal(err)
	}
	found := regexp.MustCompile(line).FindIndex(data)
	if found == nil {
		b.t.Fatalf("no line matches %s", line)
	}
	if err := os.WriteFile(journal, data[:found[1]], 0o600); err != nil {
		b.t.Fatal(err)
	}
	for _, derived := range []string{"PRD-001.json", "PRD-001/manifest.json", "PRD-001/latest", "PRD-001/checkpoints"} {
		if err := os.RemoveAll(b.path(".runner/" + derived)); err != nil {
			b.t.Fatal(err)
		}
	}
}
