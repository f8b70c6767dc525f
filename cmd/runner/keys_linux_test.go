package main

import (
	"strings"
	"testing"
)

// keysPipeline has two workstreams that end when a file is there, and an approval.
const keysPipeline = `
pipeline "PRD-001" {
  title = "Keys"

  phase "build" {
    workstream "one" { script = "echo 'the first line of one'; until test -e go; do sleep 0.02; done" }
    workstream "two" { script = "echo 'the first line of two'; until test -e go; do sleep 0.02; done" }
    workstream "after" {
      script     = "true"
      depends_on = [workstream.two]
    }
  }

  phase "release" {
    workstream "ship" { script = "true" }
    gate "sign-off" {
      approval { message = "Ship it?" }
    }
  }
}
`

// settings prints whether the terminal gives whole lines and shows what is typed.
const settings = `stty -a | tr ' ;' '\n\n' | grep -xe '-*icanon' -e '-*echo' | paste -sd+`

// startKeys starts a build at a terminal, and waits until its workstreams run.
func startKeys(t *testing.T) (dir string, x *terminal) {
	t.Helper()
	dir = newWorkspace(t, keysPipeline)
	x = openTerminal(t, dir, 100)
	x.tmux("send-keys", "clear; runner build PRD-001 --parallel 4; echo exit $?", "Enter")
	x.showing("● one", "● two", "2 running")
	return dir, x
}

// once waits until the terminal shows a text in one line only.
func (x *terminal) once(text string) {
	x.t.Helper()
	x.await("only one line has "+text, func(shown string) bool { return strings.Count(shown, text) == 1 })
}

// TestKeysOfTheLiveView: j and k and the arrows select a row, l shows its log, ? shows help, and p pauses. Other
// keys show nothing. In the end the terminal is as it was.
func TestKeysOfTheLiveView(t *testing.T) {
	t.Parallel()
	dir, x := startKeys(t)
	x.tmux("send-keys", "Enter", "Enter", "x", "y", "Enter")
	x.tmux("send-keys", "j")
	x.showing("› ● one")
	x.tmux("send-keys", "Down")
	x.showing("› ● two")
	x.tmux("send-keys", "k", "j", "l")
	x.showing("log: .runner/PRD-001/logs/two.1.log", "│ the first line of two", "› ● two")
	x.tmux("send-keys", "?")
	got := "-- help --\n" + x.showing("2 running", "p: pause", "waiting: after for two")
	x.once("● one")
	if shown := x.tmux("capture-pane", "-p"); strings.Contains(shown, "xy") {
		t.Errorf("the terminal shows what was typed:\n%s", shown)
	}
	x.tmux("send-keys", "?", "p")
	x.showing("! pause requested by", "pausing")
	write(t, dir, "go")
	x.showing("PRD-001 paused", "exit 3")
	x.tmux("send-keys", "clear; "+settings, "Enter")
	x.showing("icanon+echo")
	x.tmux("send-keys", "clear; echo recorded $(grep '\"what\":\"pause\"' .runner/audit.log | grep -c '\"result\":\"ok\"'); runner build PRD-001 --resume; echo exit $?", "Enter")
	x.showing("recorded 1", "Ship it?", "(l)ater:")
	x.tmux("send-keys", "y", "Enter")
	x.showing("(l)ater: y", "exit 0")
	compareScreens(t, "keys", got)
}

// TestStopAndGoOn: Ctrl-Z leaves the screen to the shell, and fg draws below what the shell has shown. A run that
// goes on in the background is not stopped by the terminal, and takes the keyboard again in the foreground.
func TestStopAndGoOn(t *testing.T) {
	t.Parallel()
	dir, x := startKeys(t)
	x.tmux("send-keys", "C-z")
	x.await("the shell has the terminal, without rows", func(shown string) bool {
		return strings.Contains(shown, "Stopped") && !strings.Contains(shown, "●")
	})
	x.tmux("send-keys", settings, "Enter")
	x.showing("icanon+echo")
	x.tmux("send-keys", "fg", "Enter")
	x.showing("● one", "● two")
	x.once("● one")
	x.tmux("send-keys", "j")
	x.showing("› ● one")

	x.tmux("send-keys", "C-z")
	x.await("it is stopped again", func(shown string) bool {
		return strings.Count(shown, "Stopped") == 2 && !strings.Contains(shown, "●")
	})
	x.tmux("send-keys", "clear; bg", "Enter")
	x.tmux("send-keys", "echo in the; echo foreground", "Enter")
	x.showing("in the\nforeground")
	x.tmux("send-keys", "fg", "Enter")
	x.showing("● one", "● two")
	x.tmux("send-keys", "j", "j")
	x.showing("› ● two")
	x.tmux("send-keys", "C-c")
	x.showing("interrupted by SIGINT")
	x.tmux("send-keys", "clear; "+settings, "Enter")
	x.showing("icanon+echo")
	write(t, dir, "go")
}

// TestWatchEndsAtOnce: a signal that ends a watch at once leaves the terminal as it was.
func TestWatchEndsAtOnce(t *testing.T) {
	t.Parallel()
	dir, x := startKeys(t)
	y := openTerminal(t, dir, 100)
	y.tmux("send-keys", "clear; runner watch PRD-001; echo exit $?", "Enter")
	y.showing("● one", "● two", "2 running")
	y.tmux("send-keys", "j")
	y.showing("› ● one")
	y.tmux("send-keys", "C-\\")
	y.showing("Interrupted by SIGQUIT", "exit ")
	y.tmux("send-keys", "clear; "+settings, "Enter")
	y.showing("icanon+echo")
	write(t, dir, "go")
	x.showing("Ship it?", "(l)ater:")
	x.tmux("send-keys", "y", "Enter")
	x.showing("PRD-001 complete", "exit 0")
}

// TestQuestionAfterKeys: a question gets whole lines, and none of the keys that were typed before it. What others
// ask for meanwhile is shown after the answer.
func TestQuestionAfterKeys(t *testing.T) {
	t.Parallel()
	dir, x := startKeys(t)
	x.tmux("send-keys", "a", "r")
	write(t, dir, "go")
	x.showing("Ship it?", "(l)ater:")
	run(t, dir, 0, "checkpoint", "create", "PRD-001", "-m", "meanwhile")
	x.tmux("send-keys", "x")
	x.showing("(l)ater: x")
	x.once("(l)ater:")
	if shown := x.tmux("capture-pane", "-p"); strings.Contains(shown, "meanwhile") || strings.Contains(shown, "manual") || strings.Contains(shown, "●") {
		t.Errorf("while the question is open, the terminal shows\n%s", shown)
	}
	x.tmux("send-keys", "BSpace", "y", "Enter")
	x.showing("PRD-001 complete", "exit 0")
	if shown := x.tmux("capture-pane", "-p"); strings.Index(shown, "(l)ater: y") > strings.Index(shown, "✓ checkpoint CP-release") {
		t.Errorf("the checkpoint that was made meanwhile is not after the answer:\n%s", shown)
	}
}

// TestStopAtAQuestion: after Ctrl-Z and fg, an open question is below what the shell has shown, with what it is about, and
// can be answered. One that goes on in the background is not shown before it is in the foreground.
func TestStopAtAQuestion(t *testing.T) {
	t.Parallel()
	dir, x := startKeys(t)
	write(t, dir, "go")
	x.showing("Ship it?", "(l)ater:")
	x.tmux("send-keys", "C-z")
	x.showing("Stopped")
	x.tmux("send-keys", "clear; fg", "Enter")
	x.showing("runner build", "sign-off (release) waits for approval", "Ship it?", "(l)ater:")
	x.once("(l)ater:")
	x.tmux("send-keys", "C-z")
	x.showing("Stopped")
	x.tmux("send-keys", "clear; bg", "Enter")
	x.tmux("send-keys", "echo in the; echo foreground", "Enter")
	if shown := x.showing("in the\nforeground"); strings.Contains(shown, "Ship it?") {
		t.Errorf("in the background, it asks:\n%s", shown)
	}
	x.tmux("send-keys", "fg", "Enter")
	x.await("the question is there again", func(shown string) bool {
		return strings.LastIndex(shown, "(l)ater:") > strings.LastIndex(shown, "foreground")
	})
	x.tmux("send-keys", "y", "Enter")
	x.showing("(l)ater: y", "PRD-001 complete")
}
