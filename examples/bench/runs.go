package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// emptiedRun is the name of the contest in a directory from which files were removed.
const emptiedRun = "run in an emptied directory"

// runs returns the contests of running commands that do nothing.
func runs(n sizes) []contest {
	onGraphs := []string{"runner", "make", "ninja", "go-task"}
	return []contest{
		newRun(wide(n.wide), n.fewRounds, "runner, for_each", "runner", "make", "ninja", "go-task").and(groupFloor(n.wide)),
		newRun(wide(n.wide), n.moreRounds, "runner, for_each").and(plainFloor(n.wide)).named(ownCPU),
		newRun(wide(n.wide), n.fewRounds, "runner, for_each", "make").named(emptiedRun).emptied(n.wide),
		newRun(wide(n.few), n.fewRounds, "runner, for_each", "make", "snakemake").and(groupFloor(n.few)),
		newRun(wide(n.many), 1, "runner, for_each", "make").and(groupFloor(n.many)),
		newRun(wide(n.fewest), n.rounds, "runner, for_each", "make").and(groupFloor(n.fewest)),
		newRun(deep(n.chain), 3*n.rounds, onGraphs...).and(chainFloor(n.chain), parseGraph(deep(n.chain))),
		newRun(diamond(n.chain), n.fewRounds, onGraphs...),
		newRun(random(n.chain), n.fewRounds, onGraphs...),
	}
}

// and returns the contest with more contestants.
func (c contest) and(more ...contestant) contest {
	c.contestants = append(c.contestants, more...)
	return c
}

// named returns the contest with another name.
func (c contest) named(name string) contest {
	c.name = name
	return c
}

// emptied returns the contest in a directory in which n files were made and removed. After that
// a file system such as ext4 makes new files more slowly, for a while.
func (c contest) emptied(n int) contest {
	for i, who := range c.contestants {
		c.contestants[i].prepare = func(dir string) error { return errors.Join(who.prepare(dir), makeAndRemove(dir, n)) }
	}
	return c
}

func makeAndRemove(dir string, n int) error {
	name := func(i int) string { return filepath.Join(dir, strconv.Itoa(i)+".removed") }
	for i := range n {
		if err := os.WriteFile(name(i), nil, 0o600); err != nil {
			return err
		}
	}
	for i := range n {
		if err := os.Remove(name(i)); err != nil {
			return err
		}
	}
	return nil
}

// newRun returns the contest of running a graph with the tools of the given names.
func newRun(g graph, rounds int, names ...string) contest {
	c := contest{name: runName(g.shape, len(g.steps)), rounds: rounds}
	known := tools()
	for _, name := range names {
		t := known[name]
		run, missing := program(t.run...)
		who := contestant{name: name, missing: missing, command: run, prepare: func(dir string) error { return t.lay(dir, g) }}
		if t.run[0] == "runner" {
			who.check = func(dir, _ string) error { return completed(dir, len(g.steps)) }
		}
		c.contestants = append(c.contestants, who)
	}
	return c
}

func runName(shape string, n int) string { return fmt.Sprintf("run %s %d", shape, n) }

// completed returns an error unless the session in a directory has n workstreams and all
// of them are done.
func completed(dir string, n int) error {
	cmd := exec.Command("runner", "status", "PRD-001", "--json")
	cmd.Dir = dir
	shown, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	var status struct{ Workstreams struct{ Total, Done int } }
	if err := json.Unmarshal(shown, &status); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if w := status.Workstreams; w.Total != n || w.Done != n {
		return fmt.Errorf("%d of %d workstreams are done, want %d", w.Done, w.Total, n)
	}
	return nil
}
