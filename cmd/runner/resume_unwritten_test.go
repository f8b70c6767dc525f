//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// derivedFiles holds the files and directories in .runner, besides the journal, that
// Runner writes with each checkpoint.
var derivedFiles = []string{"PRD-001.json", "PRD-001/checkpoints", "PRD-001/manifest.json", "PRD-001/latest"}

// unwritable returns a desk whose first workstream replaces a derived file with a
// directory, or the directory of checkpoints with a file, so that Runner can't write
// there.
func unwritable(t *testing.T, file string) *desk {
	t.Helper()
	// Runner may write the file again just before mkdir.
	blocks := fmt.Sprintf("until mkdir -p .runner/%s/in/the/way; do rm -rf .runner/%[1]s; done", file)
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

// TestACheckpointThatCannotBeWrittenIsNotPassedOver makes each file of a checkpoint
// unwritable. By default the build must pause and say why; with "skip" it must continue
// and record that it skipped; with "retry" it must wait until the file can be written
// (nextflow-io/nextflow 7471: the run reported success).
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
				t.Errorf("the build does not say that it skipped a checkpoint:\n%s", d.out)
			}
			journal, err := os.ReadFile(d.path(".runner/PRD-001/journal.jsonl"))
			if err != nil || !strings.Contains(string(journal), `"checkpoint.skipped"`) {
				t.Errorf("the journal does not say that the checkpoint was skipped: %v", err)
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

// again builds again while the file still can't be written. The build must run nothing.
// It must fail and name what is in the way or, if that is the link latest, pause again.
func (d *desk) again(file string) {
	d.t.Helper()
	if file != "PRD-001/latest" {
		d.build(5)
		if !strings.Contains(d.out, file+": ") {
			d.t.Errorf("the build does not name %s:\n%s", file, d.out)
		}
		if file != "PRD-001/checkpoints" && !strings.Contains(d.out, "hint: move away") {
			d.t.Errorf("the build does not say what to move away:\n%s", d.out)
		}
	} else {
		d.stands("PRD-001", "paused")
		d.build(3)
		d.toldUnwritten(d.t)
	}
	d.ran()
}

// toldUnwritten checks that the last command reported a checkpoint that could not be
// written, and no complete session.
func (d *desk) toldUnwritten(t *testing.T) {
	t.Helper()
	if !strings.Contains(d.out, "a checkpoint could not be written") || strings.Contains(d.out, "PRD-001 complete") {
		t.Errorf("the build does not report the checkpoint, or reports a complete session:\n%s", d.out)
	}
}

// TestTheLastCheckpointIsNotPassedOver runs a pipeline whose only workstream makes a file
// of the last checkpoint unwritable. The session must not count as complete until a later
// build has written the checkpoint.
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
