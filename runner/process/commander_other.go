//go:build !linux

package process

import "os/exec"

// awaitGroup waits for a command and calls disarm. There is no portable way to wait
// without reaping. After the command has ended and before disarm, a stop may signal a
// group that has ended. The rest of the group keeps running.
func awaitGroup(cmd *exec.Cmd, disarm func()) error {
	err := cmd.Wait()
	disarm()
	return err
}
