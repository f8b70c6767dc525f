package disk

import "os"

// processExists reports whether there is a process with this number. On Windows it opens
// the process to find out.
func processExists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release() // it was opened only for this
	return true
}
