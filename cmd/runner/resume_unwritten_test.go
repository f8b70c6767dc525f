//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// derivedFiles are what is written of a checkpoint beside the journal.
var derivedFiles = []string{"PRD-001.json", "PRD-001/checkpoints", "PRD-001/manifest.json", "PRD-001/latest"}

// unwritable is a pipeline whose first step puts something in the place of a
// derived file, so that it can't be written any more.
func unwritable(t *testing.T, file string) *desk {
	t.Helper()
	blocks := "mkdir -p .runner/" + file + "/in/the/way"
	if file == "PRD-001/checkpoints" {
		blocks = "echo > .runner/" + file
	}
	return newDesk(t, fmt.Sprintf(`
phase "one" {
  workstream "A" { script = "echo A >> ran; rm -rf .runner/%s; %s; echo > blocked" }
}
phase "two" {
  workstream "B" { script = "echo B >> ran" }
}`, file, blocks))
}

// TestACheckpointThatCannotBeWrittenIsNotPassedOver: the work is done, and what
// was to be written of it is not, in each of its files and whatever the
// configuration says (nextflow-io/nextflow 7471: the run was green).
func TestACheckpointThatCannotBeWrittenIsNotPassedOver(t *testing.T) {
	t.Parallel()
	for _, file := range derivedFiles {
		t.Run("pause, "+file, func(t *testing.T) {
			t.Parallel()
			d := unwritable(t, file)
			d.runs(3, "build", "PRD-001")
			d.ran("A")
			d.toldUnwritten(t)
			d.again(file)
			d.remove(".runner/" + file)
			d.build(0)
			d.ran("B")
			d.runs(0, "checkpoint", "validate", "PRD-001", "--deep")
		})
		t.Run("skip, "+file, func(t *testing.T) {
			t.Parallel()
			d := unwritable(t, file)
			d.runsWith([]string{"PRDRUNNER_ON_CHECKPOINT_ERROR=skip"}, 0, "build", "PRD-001")
			d.ran("A", "B")
			if !strings.Contains(d.out, "skipped") {
				t.Errorf("nothing says that it was skipped:\n%s", d.out)
			}
			journal, err := os.ReadFile(d.path(".runner/PRD-001/journal.jsonl"))
			if err != nil || !strings.Contains(string(journal), `"checkpoint.skipped"`) {
				t.Errorf("it is not on record as skipped: %v", err)
			}
		})
		t.Run("retry, "+file, func(t *testing.T) {
			t.Parallel()
			d := unwritable(t, file)
			d.write("runner.yaml", "on_checkpoint_error: retry\n")
			cmd := d.start("blocked")
			d.remove(".runner/" + file)
			if err := cmd.Wait(); err != nil {
				t.Fatalf("build: %v", err)
			}
			d.ran("A", "B")
			d.runs(0, "checkpoint", "validate", "PRD-001", "--deep")
		})
	}
}

// again goes on while what can't be written still can't: what is in its place is
// named, where it is not even opened.
func (d *desk) again(file string) {
	d.t.Helper()
	if file != "PRD-001/latest" {
		d.build(5)
		if !strings.Contains(d.out, file+": ") {
			d.t.Errorf("it does not say what is in the way:\n%s", d.out)
		}
		if file != "PRD-001/checkpoints" && !strings.Contains(d.out, "hint: move away") {
			d.t.Errorf("it does not say what to do:\n%s", d.out)
		}
	} else {
		d.stands("PRD-001", "paused")
		d.build(3)
		d.toldUnwritten(d.t)
	}
	d.ran()
}

func (d *desk) toldUnwritten(t *testing.T) {
	t.Helper()
	if !strings.Contains(d.out, "a checkpoint could not be written") || strings.Contains(d.out, "PRD-001 complete") {
		t.Errorf("it is not told:\n%s", d.out)
	}
}

// TestTheLastCheckpointIsNotPassedOver: everything is done, and the session is
// not complete, since its end could not be written.
func TestTheLastCheckpointIsNotPassedOver(t *testing.T) {
	t.Parallel()
	for _, file := range derivedFiles {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			d := unwritable(t, file)
			d.pipeline(d.source[:strings.Index(d.source, `phase "two"`)])
			d.runs(3, "build", "PRD-001")
			d.toldUnwritten(t)
			d.ran("A")
			d.again(file)
			d.remove(".runner/" + file)
			d.build(0)
			d.ran()
			d.runs(0, "checkpoint", "validate", "PRD-001", "--deep")
		})
	}
}
