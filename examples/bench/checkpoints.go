package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// checkpoints returns the contests of listing many checkpoints and of removing most of
// them.
func checkpoints(n sizes) []contest {
	version, missing := program("runner", "version")
	list, _ := program("runner", "checkpoint", "list", "--all")
	return []contest{
		{
			name: listCheckpoints, rounds: n.manyRounds,
			shared: func(dir string) error { return n.crowd.lay(dir) },
			contestants: []contestant{
				{name: "runner version", missing: missing, command: version},
				{name: "runner", missing: missing, command: list, check: func(_, shown string) error {
					return atLeast(strings.Count(shown, "CP-"), n.crowd.total())
				}},
			},
		},
		pruning(n),
	}
}

// pruning returns the contest of removing all checkpoints except the newest of each
// session. Each run works on a new copy of the checkpoints.
func pruning(n sizes) contest {
	newest := 0
	copied := func(dir string) string { return filepath.Join(dir, fmt.Sprint("copy", newest)) }
	files := filepath.Join(".runner", "PRD-*", "checkpoints")
	another := func(dir string) error {
		newest++
		return call(dir, "cp", "-a", "all", copied(dir))
	}
	pruned := func(dir, _ string) error {
		left, err := filepath.Glob(filepath.Join(copied(dir), files, "CP-*"))
		if err == nil && len(left) != n.crowd.sessions {
			err = fmt.Errorf("%d checkpoints are left of %d sessions", len(left), n.crowd.sessions)
		}
		return err
	}
	prune, missing := program("runner", "checkpoint", "prune", "--yes")
	remove, noFloor := itself(removeCommand, files)
	return contest{
		name: pruneCheckpoints, rounds: n.moreRounds,
		shared: func(dir string) error {
			all := filepath.Join(dir, "all")
			if err := os.Mkdir(all, 0o755); err != nil {
				return err
			}
			return errors.Join(n.crowd.lay(all), call(all, "runner", "checkpoint", "validate"))
		},
		contestants: []contestant{
			{name: "runner", missing: missing, prepare: another, check: pruned, command: func(dir string) *exec.Cmd { return prune(copied(dir)) }},
			{name: floorName, missing: noFloor, prepare: another, check: pruned, command: func(dir string) *exec.Cmd { return remove(copied(dir)) }},
		},
	}
}

func atLeast(got, want int) error {
	if got < want {
		return fmt.Errorf("%d checkpoints, want %d", got, want)
	}
	return nil
}
