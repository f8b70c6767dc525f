package cli

import (
	"os"
	"sync"

	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

// LiveTerminal is a terminal on which a view draws again and again.
type LiveTerminal struct {
	// Size returns the size that the terminal has at that moment, 0 while this process is in the background.
	Size    func() (columns, rows int)
	Control view.Control
	// Close leaves the terminal as it was.
	Close func()
}

// LiveTerminal returns the terminal that a stream is. Its Size is nil if the stream is no terminal on which the
// cursor can be moved. The view reads the keyboard if standard input is a terminal, too.
func (e *Environment) LiveTerminal(stream *show.Screen) LiveTerminal {
	none := LiveTerminal{Close: func() {}}
	size := e.TerminalSize(stream)
	if size == nil {
		return none
	}
	restore, ok := enableControlSequences(stream.Raw)
	if !ok {
		return none
	}
	in, isFile := e.Stdin.(*os.File)
	if !isFile || !e.IsTerminal(in) {
		in = nil
	}
	control, end := newControl(in)
	leave := sync.OnceFunc(func() { end(); restore() })
	e.Signals.RestoreWith(leave)
	return LiveTerminal{Size: size, Control: control, Close: func() { leave(); e.Signals.RestoreWith(nil) }}
}
