package process

import "os"

// lockLog does nothing: Windows does not remove a file that a process has open.
func lockLog(*os.File) {}

// removeUnheld removes an empty log, unless a process has it open.
func removeUnheld(path string) { _ = os.Remove(path) }
