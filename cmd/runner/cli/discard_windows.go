package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// discardTyped forgets what was typed at a terminal and not read. If that fails, nothing was typed, or
// the next read fails, too.
func discardTyped(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
