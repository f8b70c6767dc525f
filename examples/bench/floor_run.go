package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// The floors of running commands start them, each with a log of its own, and wait
// for them. What is to be resumed needs a record, too: of each command, as large as
// Runner's journal takes, measured, and durable before what depends on it starts.
const (
	recordFile = "record"
	chainLine  = 1540 // bytes of a command in a chain
	wideLine   = 650  // bytes of one that nothing depends on
)

// A record of what nothing depends on is durable soon: Runner's bounds.
const (
	unsyncedLines = 64
	syncWindow    = 5 * time.Millisecond
)

// plainFloor runs so many commands, two at a time, and keeps no record.
func plainFloor(n int) contestant {
	run, missing := itself(floorCommand, strconv.Itoa(n))
	return contestant{name: floorName, missing: missing, command: run}
}

// groupFloor runs so many commands, two at a time, and keeps a record of them.
func groupFloor(n int) contestant { return recordFloor(groupCommand, n) }

// chainFloor runs so many commands, each of which depends on the one before, and
// keeps a record of them.
func chainFloor(n int) contestant { return recordFloor(chainCommand, n) }

func recordFloor(command string, n int) contestant {
	run, missing := itself(command, strconv.Itoa(n))
	return contestant{name: recordFloorName, missing: missing, command: run, check: func(dir, _ string) error {
		data, err := os.ReadFile(filepath.Join(dir, recordFile))
		if lines := bytes.Count(data, []byte("\n")); err == nil && lines != n {
			err = fmt.Errorf("%d commands are in the record, want %d", lines, n)
		}
		return err
	}}
}

func runPlain(n string) error { return runFloor(n, 2, func() error { return nil }) }

// runChained appends a line for each command, and syncs it before the next is
// started.
func runChained(n string) (err error) {
	f, err := newRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	line := recordLine(chainLine)
	return runFloor(n, 1, func() error { return appendDurably(f, line) })
}

// runGrouped has the lines of several commands share one sync, beside which others run.
func runGrouped(n string) (err error) {
	f, err := newRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	line, lines, done := recordLine(wideLine), make(chan []byte, unsyncedLines), make(chan error)
	go func() { done <- appendGroups(f, lines) }()
	err = runFloor(n, 2, func() error {
		lines <- line
		return nil
	})
	close(lines)
	return errors.Join(err, <-done)
}

// appendGroups appends lines until there are no more.
func appendGroups(f *os.File, lines <-chan []byte) (err error) {
	for line := range lines {
		group, window := bytes.Clone(line), time.After(syncWindow)
		for waiting := true; waiting && len(group) < unsyncedLines*len(line); {
			select {
			case next, ok := <-lines:
				group, waiting = append(group, next...), ok
			case <-window:
				waiting = false
			}
		}
		err = errors.Join(err, appendDurably(f, group))
	}
	return err
}

// newRecord makes an empty record in the working directory, whose name is durable.
func newRecord() (*os.File, error) {
	f, err := openFile(recordFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return f, syncDir(".")
}

// recordLine is a line of so many bytes.
func recordLine(size int) []byte {
	return append(bytes.Repeat([]byte("."), size-1), '\n')
}

func appendDurably(f *os.File, data []byte) error {
	_, err := f.Write(data)
	return errors.Join(err, f.Sync())
}

// runFloor runs commands below the working directory, some at a time, and tells of
// each one that has finished.
func runFloor(number string, atOnce int, finished func() error) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	path, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	numbers := make(chan int)
	errs := make([]error, atOnce)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for number := range numbers {
				errs[i] = errors.Join(errs[i], runNothing(path, strconv.Itoa(number)+".log"), finished())
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	wg.Wait()
	return errors.Join(errs...)
}

func runNothing(path, log string) error {
	f, err := openFile(log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	p, err := os.StartProcess(path, []string{"true"}, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, f, f}})
	if err != nil {
		return errors.Join(err, f.Close())
	}
	state, err := p.Wait()
	if err == nil && !state.Success() {
		err = fmt.Errorf("true: %s", state)
	}
	return errors.Join(err, f.Close())
}
