package cli

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// enableControlSequences makes a console carry control sequences out instead of printing them, until restore is
// called. It reports false if the console can't, as before Windows 10.
func enableControlSequences(out io.Writer) (restore func(), ok bool) {
	f, isFile := out.(*os.File)
	if !isFile {
		return func() {}, true // it stands for a terminal in a test
	}
	console := windows.Handle(f.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return nil, false
	}
	const needed = windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	if mode&needed == needed {
		return func() {}, true
	}
	if err := windows.SetConsoleMode(console, mode|needed); err != nil {
		return nil, false
	}
	return func() { _ = windows.SetConsoleMode(console, mode) }, true
}
