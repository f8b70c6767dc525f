package main

import (
	"io"
	"sync"

	"prdrunner/runner/view"
)

// screen is a stream that people read. What is written to it is made harmless
// first, since names, paths, messages of the system and what git says are
// somebody else's making, and no print of them should have to remember it.
//
// What colours its text cleans it itself and writes to raw, and so does what
// hands out bytes as they are: an archive, a script, the text of a file.
type screen struct {
	raw io.Writer

	mu      sync.Mutex
	cleaner *view.Cleaner
	written bool // something was written with Write
}

func newScreen(raw io.Writer) *screen { return &screen{raw: raw, cleaner: view.NewRevealer(raw)} }

// Write implements io.Writer. It may be called by several goroutines at once.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = s.written || len(b) > 0
	return s.cleaner.Write(b)
}

// used reports whether something was written with Write.
func (s *screen) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// bytesOut is standard output for what a file holds: as it is for a program,
// made harmless on a terminal.
func (e *environment) bytesOut() io.Writer {
	if e.isTerminal(e.stdout) {
		return e.stdout
	}
	return e.stdout.raw
}
