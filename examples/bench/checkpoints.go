package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// checkpoints are the contests of looking through many checkpoints, and of
// removing most of them.
func checkpoints(n sizes) []contest {
	version, missing := program("runner", "version")
	list, _ := program("runner", "checkpoint", "list", "--all")
	prune, _ := program("runner", "checkpoint", "prune", "--yes")
	newest := 0 // of the copies that are pruned
	copied := func(dir string) string { return filepath.Join(dir, fmt.Sprint("copy", newest)) }
	return []contest{
		{
			name: listCheckpoints, rounds: 4*n.rounds + 1,
			shared: func(dir string) error { return n.crowd.lay(dir) },
			contestants: []contestant{
				{name: "runner version", missing: missing, command: version},
				{name: "runner", missing: missing, command: list, check: func(_, shown string) error {
					return atLeast(strings.Count(shown, "CP-"), n.crowd.total())
				}},
			},
		},
		{
			name: pruneCheckpoints, rounds: n.fewRounds,
			shared: func(dir string) error {
				all := filepath.Join(dir, "all")
				if err := os.Mkdir(all, 0o755); err != nil {
					return err
				}
				return errors.Join(n.crowd.lay(all), call(all, "runner", "checkpoint", "validate"))
			},
			contestants: []contestant{{
				name: "runner", missing: missing,
				prepare: func(dir string) error {
					newest++
					// What is removed lies on the disk, as what was written long ago does.
					return calls(dir, []string{"cp", "-a", "all", copied(dir)}, []string{"sync"})
				},
				command: func(dir string) *exec.Cmd { return prune(copied(dir)) },
				check: func(dir, _ string) error {
					left, err := filepath.Glob(filepath.Join(copied(dir), ".runner", "PRD-*", "checkpoints", "CP-*"))
					if err == nil && len(left) != n.crowd.sessions {
						err = fmt.Errorf("%d checkpoints are left of %d sessions", len(left), n.crowd.sessions)
					}
					return err
				},
			}},
		},
	}
}

func atLeast(got, want int) error {
	if got < want {
		return fmt.Errorf("%d checkpoints, want %d", got, want)
	}
	return nil
}
