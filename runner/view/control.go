package view

// Control is the keyboard of the terminal on which a live view is, and what makes this process stop and go on
// there. One goroutine at a time calls its methods.
type Control interface {
	// Take has the terminal give each key at once and show none. It reports whether it does: not while this
	// process is in the background, nor without a keyboard. It may be called again.
	Take() bool
	// Give gives the keyboard back as it was before Take. It may be called again.
	Give()
	// Keys returns what was typed since Take or the last call. The key that stops a process is StopKey. It does
	// not wait.
	Keys() []byte
	// Stop stops this process, as the key for that does, and returns when it goes on, or if it can't be stopped.
	Stop()
	// Continued reports whether this process has been stopped and continued since the last call.
	Continued() bool
}

// StopKey is the key that stops a process (Ctrl-Z), in what Keys returns.
const StopKey = '\x1a'

// noControl is the Control of a terminal without any.
type noControl struct{}

// Take implements Control.
func (noControl) Take() bool { return false }

// Give implements Control.
func (noControl) Give() {}

// Keys implements Control.
func (noControl) Keys() []byte { return nil }

// Stop implements Control.
func (noControl) Stop() {}

// Continued implements Control.
func (noControl) Continued() bool { return false }
