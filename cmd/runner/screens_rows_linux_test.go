package main

import (
	"os"
	"path/filepath"
	"testing"
)

// mixedPipeline has what takes time besides workstreams: a review, a service, an approval and a hook. Each
// does what it does once the file that it waits for is there.
const mixedPipeline = `
pipeline "PRD-001" {
  title = "Mixed"

  review { script = "echo 'reading the document'; until test -e reviewed; do sleep 0.02; done; echo '[]' > \"$RUNNER_FINDINGS\"" }

  service "db" {
    script = "echo 'replaying the log'; exec sleep 1000"
    ready { command = ["test", "-e", "ready"] }
  }

  phase "build" {
    workstream "schema" {
      script   = "until test -e built; do sleep 0.02; done"
      services = [service.db]
    }
    workstream "slow" { script = "echo 'still at it'; until test -e slept; do sleep 0.02; done" }
    gate "sign-off" {
      approval { message = "Ship it?" }
    }
  }

  hook {
    on     = ["paused", "complete"]
    script = "echo 'telling the others'; until test -e told; do sleep 0.02; done"
  }
}
`

// TestScreensOfEverything holds what a terminal shows of a review, a service, an approval and a hook, and of
// the approval again when the run is resumed.
func TestScreensOfEverything(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, mixedPipeline)
	x := openTerminal(t, dir, 100)
	x.tmux("send-keys", "clear; runner build PRD-001 --parallel 16; echo exit $?", "Enter")
	got := "-- the review --\n" + x.showing("all phases", "● review", "reading the document")
	write(t, dir, "reviewed")
	got += "-- a service gets ready --\n" + x.showing("build  0 of 2", "gets ready  replaying the log", "still at it")
	write(t, dir, "ready")
	got += "-- a service is ready --\n" + x.showing("build  0 of 2", "● schema", "ready  replaying the log")
	write(t, dir, "built")
	x.showing("✓ schema")
	write(t, dir, "slept")
	got += "-- a question --\n" + x.showing("✓ service db", "✓ schema", "✓ slow", "(l)ater:")
	x.tmux("send-keys", "l", "Enter")
	got += "-- a hook --\n" + x.showing("ending", "● hook 1 for paused", "telling the others")
	write(t, dir, "told")
	x.showing("exit 3")
	if err := os.Remove(filepath.Join(dir, "told")); err != nil {
		t.Fatal(err)
	}
	x.tmux("send-keys", "clear; runner build PRD-001 --resume; echo exit $?", "Enter")
	x.showing("Resuming PRD-001", "(l)ater:")
	x.tmux("send-keys", "l", "Enter")
	got += "-- the same question, when it is resumed --\n" + x.showing("ending", "● hook 1 for paused", "telling the others")
	write(t, dir, "told")
	x.showing("exit 3")
	compareScreens(t, "everything", got)
}
