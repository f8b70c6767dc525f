package show

import (
	"io"
	"sync"

	"prdrunner/runner/view"
)

// Screen is a stream that people read. Write makes its text harmless first: names,
// paths, messages of the operating system and output of git come from outside, and
// the code that prints them need not clean them itself.
//
// Code that colours its text cleans it itself and writes to Raw. Code that writes
// bytes unchanged, such as an archive, a script or the text of a file, also writes
// to Raw.
type Screen struct {
	Raw io.Writer

	mu      sync.Mutex
	cleaner *view.Cleaner
	written bool // something was written with Write
}

// NewScreen returns a screen that writes to raw.
func NewScreen(raw io.Writer) *Screen { return &Screen{Raw: raw, cleaner: view.NewRevealer(raw)} }

// Write implements io.Writer. Several goroutines may call it at once.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = s.written || len(b) > 0
	return s.cleaner.Write(b)
}

// Used reports whether something was written with Write.
func (s *Screen) Used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}
