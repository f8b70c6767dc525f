package checkpoint

import "os"

// processExists asks whether there is a process of the number at all: on
// Windows, finding it opens it.
func processExists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release() // only asked
	return true
}
