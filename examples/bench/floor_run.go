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

// The floors of running commands start each command with its own log, wait for it, and remove
// the log, which is empty. A run that can be resumed also needs a record: for each command, as
// many bytes as Runner was measured to write to its journal, durable before a command that
// depends on it starts.
const (
	recordFile = "record"
	chainLine  = 1540 // bytes for each command in a chain
	wideLine   = 650  // bytes for each command on which no other depends
)

// The bounds within which Runner fsyncs records on which no other step depends: a number of
// lines and a time.
const (
	unsyncedLines = 64
	syncWindow    = 5 * time.Millisecond
)

// plainFloor returns a contestant that runs n commands, two at a time, and keeps no
// record.
func plainFloor(n int) contestant {
	run, missing := itself(floorCommand, strconv.Itoa(n))
	return contestant{name: floorName, missing: missing, command: run}
}

// groupFloor returns a contestant that runs n commands, two at a time, and keeps a record.
func groupFloor(n int) contestant { return recordFloor(groupCommand, n) }

// chainFloor returns a contestant that runs n commands, each of which depends on the one
// before it, and keeps a record.
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

// runChained appends a line for each command and fsyncs it before it starts the next
// command.
func runChained(n string) (err error) {
	f, err := newRecord()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	line := recordLine(chainLine)
	return runFloor(n, 1, func() error { return appendDurably(f, line) })
}

// runGrouped fsyncs the lines of several commands together while other commands run.
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

// appendGroups appends lines in groups until the channel is closed. It fsyncs each group.
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

// newRecord creates an empty record in the working directory and makes its name durable.
func newRecord() (*os.File, error) {
	f, err := openFile(recordFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return f, syncDir(".")
}

// recordLine returns a line of size bytes.
func recordLine(size int) []byte {
	return append(bytes.Repeat([]byte("."), size-1), '\n')
}

func appendDurably(f *os.File, data []byte) error {
	_, err := f.Write(data)
	return errors.Join(err, f.Sync())
}

// runFloor runs commands in the working directory, atOnce at a time, and calls finished
// after each command.
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
	return errors.Join(err, f.Close(), os.Remove(log))
}
