// Package view shows a run to somebody: to a person at a terminal (Auto), in
// a log (Plain), to a program (JSON), or only where something went wrong
// (Quiet). Each is a runner.View, so it is told only of what is durable.
//
// What a view prints of somebody else's making (messages, names, the end of a
// log) goes through Clean first, so that no output can steer a terminal.
package view

import (
	"fmt"
	"io"
	"time"

	"prdrunner/runner"
)

// Mode is the way in which a run is shown: the values of --output.
type Mode string

// The modes.
const (
	Auto  Mode = "auto" // for a person on a terminal, otherwise plain
	Plain Mode = "plain"
	JSON  Mode = "json"
	Quiet Mode = "quiet"
)

// Options is where and how a run is shown. Out is required.
type Options struct {
	Out     io.Writer
	Logs    string // the directory that Failure.Log is a name in
	Now     func() time.Time
	Color   bool
	Live    bool // Out is a terminal that understands cursor movement
	Width   int  // of the terminal, in columns; 0: 80
	Verbose bool // starts, attempts and every checkpoint too
}

// View is a runner.View that remembers whether it could still write.
type View interface {
	runner.View
	// Err returns the first error of writing, after which nothing more was
	// written. The run goes on without being watched.
	Err() error
}

// New returns a view of the given mode.
func New(mode Mode, o Options) View {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Width <= 0 {
		o.Width = 80
	}
	switch mode {
	case JSON:
		return newJSON(o)
	case Quiet:
		return newQuiet(o)
	case Auto:
		if o.Live {
			return newLive(o)
		}
	case Plain:
	}
	return newPlain(o)
}

// output writes what belongs together at once, and stops at the first error:
// a reader that went away must not end the run.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	if len(b) == 0 {
		return 0, nil
	}
	n, err := o.w.Write(b)
	if err != nil {
		o.err = fmt.Errorf("write output: %w", err)
	}
	return n, o.err
}
