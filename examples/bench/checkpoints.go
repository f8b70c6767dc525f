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
	list, _ := program("runner", "checkpoint", "list", "PRD-001")
	prune, _ := program("runner", "checkpoint", "prune", "PRD-001", "--yes")
	newest := 0 // of the copies that are pruned
	number := func(dir string) string { return filepath.Join(dir, fmt.Sprint("copy", newest)) }
	return []contest{
		{
			name: listCheckpoints, rounds: n.rounds,
			shared: func(dir string) error { return manyCheckpoints(dir, n.checkpoints) },
			contestants: []contestant{
				{name: "runner version", missing: missing, command: version},
				{name: "runner", missing: missing, command: list, check: func(_, shown string) error {
					return atLeast(strings.Count(shown, "CP-"), n.checkpoints)
				}},
			},
		},
		{
			name: pruneCheckpoints, rounds: n.rounds,
			shared: func(dir string) error {
				all := filepath.Join(dir, "all")
				return errors.Join(os.Mkdir(all, 0o755), manyCheckpoints(all, n.checkpoints))
			},
			contestants: []contestant{{
				name: "runner", missing: missing,
				prepare: func(dir string) error {
					newest++
					if err := call(dir, "cp", "-a", "all", number(dir)); err != nil {
						return err
					}
					return os.Remove(filepath.Join(number(dir), "runner.yaml"))
				},
				command: func(dir string) *exec.Cmd { return prune(number(dir)) },
				check: func(dir, _ string) error {
					left, err := os.ReadDir(filepath.Join(number(dir), ".runner", "PRD-001", "checkpoints"))
					if err == nil && len(left) > 20 {
						err = fmt.Errorf("%d checkpoints are left", len(left))
					}
					return err
				},
			}},
		},
	}
}

// manyCheckpoints makes a session with at least n checkpoints in a directory,
// whose configuration keeps them all.
func manyCheckpoints(dir string, n int) error {
	const config = "checkpoint:\n  retention: { workstream_complete: -1, batch_complete: -1 }\n  storage: { max_size_mb: 100000 }\n"
	if err := os.WriteFile(filepath.Join(dir, "runner.yaml"), []byte(config), 0o644); err != nil {
		return err
	}
	if err := tools()["runner"].lay(dir, deep(n)); err != nil {
		return err
	}
	if err := call(dir, "runner", "build", "PRD-001", "--output", "quiet"); err != nil {
		return err
	}
	left, err := os.ReadDir(filepath.Join(dir, ".runner", "PRD-001", "checkpoints"))
	if err != nil {
		return err
	}
	return atLeast(len(left), n)
}

func atLeast(got, want int) error {
	if got < want {
		return fmt.Errorf("%d checkpoints, want %d", got, want)
	}
	return nil
}
