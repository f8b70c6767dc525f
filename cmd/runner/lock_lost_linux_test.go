package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunStopsWhenItsLockIsTakenAway deletes or moves the lock file of a build whose
// workstream is running, with and without a second build that takes the new lock at once.
// The first build must notice that by itself, end its workstream and exit 4. The next
// build must complete.
func TestRunStopsWhenItsLockIsTakenAway(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, path string) {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		lose  func(t *testing.T, state string)
		again []string
		ran   int // how often WS1 runs in total
	}{
		"lock file deleted": {
			func(t *testing.T, state string) { remove(t, filepath.Join(state, "locks", "PRD-001.lock")) },
			[]string{"build", "PRD-001", "--resume"}, 2,
		},
		"all locks deleted": {
			func(t *testing.T, state string) { remove(t, filepath.Join(state, "locks")) },
			[]string{"build", "PRD-001", "--resume"}, 2,
		},
		"state directory moved": {
			func(t *testing.T, state string) {
				if err := os.Rename(state, state+"-old"); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"build", "PRD-001"}, 2,
		},
	} {
		for _, another := range []bool{false, true} {
			label := name + ", nobody else"
			if another {
				label = name + ", and taken by another at once"
			}
			t.Run(label, func(t *testing.T) {
				t.Parallel()
				dir := newWorkspace(t, heldPipeline())
				first := launch(t, dir, "build", "PRD-001")
				child := awaitPID(t, dir, "pid")
				tt.lose(t, filepath.Join(dir, ".runner"))
				var second *launched
				if another {
					second = launch(t, dir, tt.again...)
				}
				if said := first.exits(4); !strings.Contains(said, "lock file was moved, deleted or replaced") || !strings.Contains(said, "hint: `runner status` shows") {
					t.Errorf("the first build does not say what happened to its lock: %q", said)
				}
				if shown := first.stdout.String(); strings.Contains(shown, "inbox") {
					t.Errorf("the first build printed something unrelated to its lock: %q", shown)
				}
				if isAlive(child) {
					t.Error("the workstream of the first build is still alive")
				}
				write(t, dir, "go")
				if second == nil {
					second = launch(t, dir, tt.again...)
				}
				second.exits(0)
				if got := lines(t, dir, "ran"); got != tt.ran {
					t.Errorf("WS1 ran %d times", got)
				}
				if got := lines(t, dir, "ran2"); got != 1 {
					t.Errorf("WS2 ran %d times", got)
				}
				run(t, dir, 0, "checkpoint", "validate", "PRD-001", "--deep")
			})
		}
	}
}
