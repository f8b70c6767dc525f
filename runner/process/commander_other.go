//go:build !linux

package process

import "os/exec"

// awaitGroup waits for a command and disarms what would stop it. There is no
// portable way to wait without collecting: for the moment between the two a
// stop may signal a group that has ended, and what is left of it lives on.
func awaitGroup(cmd *exec.Cmd, disarm func()) error {
	err := cmd.Wait()
	disarm()
	return err
}
