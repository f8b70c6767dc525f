package checkpoint

import "os"

// processExists reports whether there is a process with this number. On Windows, it exists
// if it can be opened.
func processExists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release() // the process was opened only for the check
	return true
}
