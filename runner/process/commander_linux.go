package process

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitGroup waits for a command, disarms what would stop it, and kills what is
// left of its group. The main process stays a zombie until then, so that its
// number can't come to mean another group.
func awaitGroup(cmd *exec.Cmd, disarm func()) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
		if err != unix.EINTR {
			break // if something is wrong, Wait tells
		}
	}
	disarm()
	killGroup(cmd.Process)
	return cmd.Wait()
}
