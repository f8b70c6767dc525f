//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lineInterval is how often awaitLine looks whether its context has ended.
const lineInterval = 100 * time.Millisecond

// awaitLine waits until a read from a terminal gives a line or its end at once. While this process is in the
// background, where a read would stop it, it goes on waiting.
func awaitLine(ctx context.Context, f *os.File) error {
	for ctx.Err() == nil {
		if !inForeground(f) {
			select {
			case <-time.After(lineInterval):
			case <-ctx.Done():
			}
			continue
		}
		waited := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(waited, int(lineInterval/time.Millisecond))
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) { // some systems can't wait for a terminal; then the read waits
			return nil
		}
	}
	return context.Cause(ctx)
}
