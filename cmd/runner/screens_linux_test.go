package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateScreens = flag.Bool("screens.update", false, "write the golden files of TestScreens")

// busyPipeline has workstreams of every kind that a terminal shows at work. Each does what it does
// once the files that it waits for are there.
const busyPipeline = `
pipeline "PRD-001" {
  title = "Busy"

  phase "prepare" {
    workstream "fetch" { script = "true" }
  }

  phase "build" {
    workstream "hangs" { script = "trap '' TERM; echo 'reading the first of many files'; until test -e end; do sleep 0.02; done" }
    workstream "flaky" {
      script = "until test -e fail; do sleep 0.02; done; test -e again || { touch again; echo 'connection reset by peer' >&2; exit 1; }"
      retry {
        attempts         = 3
        initial_interval = "100m30s"
        jitter           = 0
      }
    }
    workstream "broken" {
      script    = "until test -e break; do sleep 0.02; done; echo 'api/main.go:12:5: undefined: handler' >&2; exit 1"
      fail_fast = false
    }
    workstream "package" {
      for_each = toset([for i in range(6) : "number-${i}"])
      script   = "printf '10 %%\\r%s' '60 %'; until test -e end; do sleep 0.02; done"
    }
    workstream "a-workstream-with-a-rather-long-name-of-its-own" { script = "until test -e end; do sleep 0.02; done" }
    workstream "after" {
      depends_on = [workstream.hangs]
      script     = "true"
    }
  }

  phase "test" {
    workstream "unit" { script = "true" }
  }

  phase "release" {
    workstream "ship" { script = "true" }
  }
}
`

// terminal is a terminal of tmux in which a shell runs.
type terminal struct {
	t      *testing.T
	socket string
}

// openTerminal opens a terminal of a width in a directory.
func openTerminal(t *testing.T, dir string, columns int) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		skipUnlessCI(t, "tmux is not installed")
	}
	x := &terminal{t, filepath.Join(t.TempDir(), "tmux")}
	x.tmux("-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(columns), "-y", "32", "-c", dir,
		"env", "HOME="+dir, "PS1=> ", "LC_ALL=C.UTF-8", "sh")
	t.Cleanup(func() { x.tmux("kill-server") })
	return x
}

// tmux runs a command of tmux, and returns what it prints.
func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", x.socket}, args...)...).CombinedOutput() //nolint:noctx // it ends at once
	if err != nil {
		x.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// screenOf removes from a screen what differs between runs: times and ids. Colours are shown as
// <31>, the number of their escape sequence.
func screenOf(shown string) string {
	for _, r := range []struct{ pattern, to string }{
		{`\x1b\[([\d;]+)m`, "<$1>"},
		{`\d+(m\d\d)?(\.\d+)?m?s\b( {0,2}) *`, "TIME$3"},
		{`CP-[a-z]+-\d{8}T\d{6}Z-[0-9a-f]{8}`, "CHECKPOINT"},
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "SESSION"},
	} {
		shown = regexp.MustCompile(r.pattern).ReplaceAllString(shown, r.to)
	}
	return strings.TrimRight(shown, "\n") + "\n"
}

// showing waits until the terminal shows texts, and returns what it shows from the line on that has
// the first of them.
func (x *terminal) showing(texts ...string) string {
	x.t.Helper()
	x.await(fmt.Sprintf("the terminal shows %q", texts), func(shown string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(shown, text) })
	})
	lines := strings.SplitAfter(screenOf(x.tmux("capture-pane", "-e", "-p")), "\n")
	first := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, texts[0]) })
	return strings.Join(lines[max(0, first):], "")
}

// await waits until holds returns true for what the terminal shows.
func (x *terminal) await(what string, holds func(shown string) bool) {
	x.t.Helper()
	await(x.t, what, func() bool { return holds(x.tmux("capture-pane", "-p")) })
}

// TestScreens holds what terminals of three widths show of a run while it works, after failures,
// while it stops, and at its end.
func TestScreens(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{60, 100, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			dir := newWorkspace(t, busyPipeline)
			touch := func(name string) {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			x := openTerminal(t, dir, columns)
			x.tmux("send-keys", "clear; runner build PRD-001 --parallel 16; echo exit $?; exec sleep 60", "Enter")
			printed := map[int]string{60: `["numbe`, 100: "60 %", 200: "60 %"}[columns] // what an instance has printed
			got := "-- working --\n" + x.showing("Busy", "10 running", "reading", printed)
			touch("fail")
			x.showing("↻ flaky")
			touch("break")
			got += "-- after failures --\n" + x.showing("Busy", "broken failed after", "1 failed", "↻ flaky")
			x.tmux("send-keys", "C-c")
			x.await("only one still runs", func(shown string) bool {
				return strings.Contains(shown, "stopping") && strings.Count(shown, "●") == 1
			})
			got += "-- stopping --\n" + x.showing("stopping", "● hangs")
			touch("end")
			got += "-- at the end --\n" + x.showing("interrupted by SIGINT", "exit 130")
			compareScreens(t, fmt.Sprint(columns), got)
		})
	}
}

// compareScreens compares screens with those in a golden file.
func compareScreens(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "screens", name+".txt")
	if *updateScreens {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -screens.update writes it):\n%s", path, diff)
	}
}
