//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// lineInterval is how often awaitLine looks whether its context has ended.
const lineInterval = 100 * time.Millisecond

// awaitLine waits until a read from a terminal gives a line or its end at once. While this process is in the
// background, where a read would stop it, it goes on waiting. After a stop, when it is in the foreground again, it calls
// again.
func awaitLine(ctx context.Context, f *os.File, again func()) error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	isContinued := func() bool {
		select {
		case <-continued:
			return true
		default:
			return false
		}
	}
	pause := func() {
		select {
		case <-time.After(lineInterval):
		case <-ctx.Done():
		}
	}
	away := false // another process has had the terminal
	for ctx.Err() == nil {
		if !inForeground(f) {
			away = true
			pause()
			continue
		}
		if away = isContinued() || away; away {
			pause() // a shell gives the terminal first and continues the process then
			isContinued()
			away = false
			again()
		}
		waited := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(waited, int(lineInterval/time.Millisecond))
		if !inForeground(f) || len(continued) > 0 { // this process was stopped meanwhile: what was typed is the shell's
			continue
		}
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) { // some systems can't wait for a terminal; then the read waits
			return nil
		}
	}
	return context.Cause(ctx)
}
