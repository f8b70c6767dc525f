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
	Raw   io.Writer
	Color bool // answers are written with colours
	// Columns returns the width of the terminal, 0 if the screen is none. nil: it is none.
	Columns func() int

	mu      sync.Mutex
	hold    func() (release func()) // nil: nothing on the screen changes
	later   func(text []byte) bool  // takes text that must not be on the screen now; nil: nothing does
	cleaner *view.Cleaner
	neutral func(line string) string // nil: lines stay as they are
	written bool                     // something was written with Write
}

// Width returns the width of the terminal, 0 if the screen is none.
func (s *Screen) Width() int {
	if s.Columns == nil {
		return 0
	}
	return s.Columns()
}

// NewScreen returns a screen that writes to raw.
func NewScreen(raw io.Writer) *Screen {
	s := &Screen{Raw: raw}
	s.cleaner = view.NewRevealer(now{s})
	return s
}

// now writes harmless text to the screen, or leaves it to the view with which the screen is shared while a question
// is open there. The caller holds the screen's mu.
type now struct{ screen *Screen }

// Write implements io.Writer.
func (n now) Write(b []byte) (int, error) {
	if n.screen.later != nil && n.screen.later(b) {
		return len(b), nil
	}
	return n.screen.Raw.Write(b)
}

// Write implements io.Writer. Several goroutines may call it at once.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = s.written || len(b) > 0
	if s.hold != nil {
		defer s.hold()()
	}
	if s.neutral != nil {
		return view.Neutralizer{W: s.cleaner, Change: s.neutral}.Write(b)
	}
	return s.cleaner.Write(b)
}

// Neutralize has the screen change each line that is written so that a CI system takes no part
// of it for a command.
func (s *Screen) Neutralize(change func(line string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.neutral = change
}

// writePainted writes text that is harmless and has colours.
func (s *Screen) writePainted(b []byte) error {
	s.mu.Lock()
	s.written = s.written || len(b) > 0
	s.mu.Unlock()
	_, err := s.Unchanged().Write(b)
	return err
}

// neutralizer returns what Neutralize set, nil if nothing.
func (s *Screen) neutralizer() func(line string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.neutral
}

// Share makes the screen hold a view while something is written on the same terminal, until
// the returned function is called.
func (s *Screen) Share(h view.Holder) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = h.Hold
	if l, ok := h.(view.Lender); ok {
		s.later = l.Defer
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hold, s.later = nil, nil
	}
}

// Unchanged returns a writer to Raw that also holds the view with which the screen is shared.
func (s *Screen) Unchanged() io.Writer { return unchanged{s} }

type unchanged struct{ screen *Screen }

// Write implements io.Writer.
func (u unchanged) Write(b []byte) (int, error) {
	u.screen.mu.Lock()
	defer u.screen.mu.Unlock()
	if u.screen.hold != nil {
		defer u.screen.hold()()
	}
	return now(u).Write(b)
}

// Used reports whether something was written with Write.
func (s *Screen) Used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}
