package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// durable returns the contests of making boundaries durable, in which perf counts the
// fsyncs. perf does not slow down a command. strace does, several times, so that fewer
// commands would share an fsync.
func durable(n sizes) []contest {
	counted := func(name string, g graph, tool string) contest {
		c := newRun(g, 1, tool)
		c.name = name
		c.contestants[0] = c.contestants[0].counted()
		return c
	}
	return []contest{
		counted(durableChain, deep(n.chain), "runner"),
		counted(durableWide, wide(n.wide), "runner, for_each"),
	}
}

// countFile is the file in the directory of a run to which perf writes the counts.
const countFile = "fsyncs.csv"

// perf returns a command that runs argv and counts the fsyncs of it and of all its child
// processes.
func perf(argv ...string) []string {
	return append([]string{
		"perf", "stat", "--field-separator", ",", "--output", countFile,
		"--event", "syscalls:sys_enter_fsync,syscalls:sys_enter_fdatasync", "--",
	}, argv...)
}

// counted returns the contestant with its fsyncs counted. If perf cannot count them, the
// contestant is missing.
func (c contestant) counted() contestant {
	if c.missing != "" {
		return c
	}
	if c.missing = cannotCount(); c.missing != "" {
		return c
	}
	command := c.command
	c.command = func(dir string) *exec.Cmd {
		cmd := command(dir)
		run, _ := program(perf(cmd.Args...)...)
		return run(dir)
	}
	c.fsyncs = func(dir string) (int64, error) {
		data, err := os.ReadFile(filepath.Join(dir, countFile))
		if err != nil {
			return 0, err
		}
		return readCounts(data)
	}
	return c
}

// cannotCount returns why fsyncs cannot be counted on this machine, "" if they can.
func cannotCount() string {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err.Error()
	}
	defer func() { _ = os.RemoveAll(dir) }() // a leftover temporary directory does no harm
	run, missing := program(perf("true")...)
	if missing != "" {
		return missing
	}
	if err := run(dir).Run(); err != nil {
		return "perf may not count system calls here"
	}
	return ""
}

// readCounts adds up the counts that perf wrote. Each line begins with a number.
func readCounts(data []byte) (sum int64, err error) {
	events := 0
	for line := range bytes.Lines(data) {
		number, rest, ok := bytes.Cut(line, []byte(","))
		if !ok || !bytes.Contains(rest, []byte("syscalls:")) {
			continue
		}
		count, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("perf counted nothing: %q", line)
		}
		sum, events = sum+count, events+1
	}
	if events == 0 {
		return 0, fmt.Errorf("perf counted nothing: %q", data)
	}
	return sum, nil
}
