package main

import (
	"testing"
)

// TestScreenOfWhatIsLeft holds what a terminal shows of a resumed run that has earlier sessions: how long it still
// takes.
func TestScreenOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "first" { script = "true" }
    workstream "second" {
      script     = "test ! -e wait || until test -e go; do sleep 0.02; done"
      depends_on = [workstream.first]
    }
    workstream "third" {
      script     = "test ! -e broken"
      depends_on = [workstream.second]
    }
  }
}
`)
	run(t, dir, 0, "build", "PRD-001")
	write(t, dir, "broken")
	run(t, dir, 1, "build", "PRD-001", "--fresh")
	write(t, dir, "wait")
	x := openTerminal(t, dir, 100)
	x.tmux("send-keys", "clear; rm broken; runner build PRD-001 --resume --yes --invalidate second --parallel 4; echo exit $?", "Enter")
	got := x.showing("one  1 of 3", "a few seconds left", "● second", "waiting: third for second")
	compareScreens(t, "left", got)
	write(t, dir, "go")
	x.showing("exit 0")
}
