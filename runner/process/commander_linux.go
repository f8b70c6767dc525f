package process

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitGroup waits for a command, calls disarm, and kills the rest of its group. Until then
// the main process remains a zombie, so that its number cannot become that of another
// group.
func awaitGroup(cmd *exec.Cmd, disarm func()) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
		if err != unix.EINTR {
			break // Wait reports the error
		}
	}
	disarm()
	killGroup(cmd.Process)
	return cmd.Wait()
}
