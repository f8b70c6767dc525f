//go:build !linux

package process

import "os/exec"

// awaitGroup waits for a command and calls disarm. There is no portable way to wait without
// reaping. Between the two, a stop may signal a group that has ended, and the rest of the
// group goes on running.
func awaitGroup(cmd *exec.Cmd, disarm func()) error {
	err := cmd.Wait()
	disarm()
	return err
}
