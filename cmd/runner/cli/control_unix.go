//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"bytes"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"prdrunner/runner/view"
)

// control is the view.Control of a terminal.
type control struct {
	in *os.File // nil: there is no keyboard

	mu    sync.Mutex    // of the fields below: a signal may end the process while the view has the keyboard
	taken bool          // the keyboard is as Take sets it
	saved *unix.Termios // the settings before that
	ended bool          // the keyboard is not taken again

	continued chan os.Signal // receives a value when this process was stopped and goes on
}

// newControl returns the control of a terminal, until end is called, which also gives the keyboard back. Any
// goroutine may call end. in is nil if there is no keyboard.
func newControl(in *os.File) (c view.Control, end func()) {
	x := &control{in: in, continued: make(chan os.Signal, 1)}
	signal.Notify(x.continued, unix.SIGCONT)
	return x, func() {
		signal.Stop(x.continued)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.ended = true
		x.give()
	}
}

// Take implements view.Control. The keys that send SIGINT and SIGQUIT do so still. A read does not wait, so that no goroutine is left
// in one that takes the next line.
func (c *control) Take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken || c.ended || c.in == nil {
		return c.taken
	}
	if !inForeground(c.in) { // setting the terminal would stop the process
		return false
	}
	now, err := unix.IoctlGetTermios(int(c.in.Fd()), getTermios)
	if err != nil {
		return false
	}
	set := *now
	set.Lflag &^= unix.ICANON | unix.ECHO
	set.Cc[unix.VMIN], set.Cc[unix.VTIME] = 0, 0
	if !signal.Ignored(unix.SIGTSTP) {
		set.Cc[unix.VSUSP] = noKey // Keys returns it
	}
	if c.saved == nil || *now != set { // otherwise the process was stopped before it could give the keyboard back
		c.saved = now
	}
	if unix.IoctlSetTermios(int(c.in.Fd()), setTermios, &set) != nil {
		return false
	}
	discardTyped(c.in) // it was not meant for the view
	c.taken = true
	return true
}

// Give implements view.Control.
func (c *control) Give() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.give()
}

// give does what Give does. The caller holds c.mu.
func (c *control) give() {
	if !c.taken {
		return
	}
	c.taken = false
	if inForeground(c.in) {
		_ = unix.IoctlSetTermios(int(c.in.Fd()), setTermios, c.saved) // if it fails, the terminal has gone
	}
}

// Keys implements view.Control.
func (c *control) Keys() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.taken || !inForeground(c.in) { // reading would stop the process
		return nil
	}
	typed := make([]byte, 256)
	n, err := unix.Read(int(c.in.Fd()), typed)
	if err != nil {
		return nil
	}
	typed = typed[:max(0, n)]
	if stop := c.saved.Cc[unix.VSUSP]; stop != noKey {
		typed = bytes.ReplaceAll(typed, []byte{stop}, []byte{view.StopKey})
	}
	return typed
}

// stopWait is how long this process waits for its stop. If nothing could continue it, as at a login without a
// shell, the system does not stop it.
const stopWait = 200 * time.Millisecond

// Stop implements view.Control. Go can't give SIGTSTP its effect back once it was caught, so it never is.
func (c *control) Stop() {
	c.Continued()
	if unix.Kill(0, unix.SIGTSTP) != nil { // the whole job, as the terminal does
		return
	}
	for range 2 { // the first wait may be over because of the stop, before the signal is there
		select {
		case <-c.continued:
			return
		case <-time.After(stopWait):
		}
	}
}

// Continued implements view.Control.
func (c *control) Continued() bool {
	select {
	case <-c.continued:
		return true
	default:
		return false
	}
}
