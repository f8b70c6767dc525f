// Package view shows a run: to a user at a terminal (Auto), in a log (Plain), to a program
// (JSON), or only its failures (Quiet). Each view is a runner.View, which receives only
// durable events. WritePlan, Terminal and the functions in text.go serve commands too.
//
// What a view prints from outside (messages, names, the end of a log) goes through Clean
// first, so that no output can control the terminal.
//
// To show a new kind of event, add a case to printEvent in events.go; the JSON view prints
// every event. To add a view, add a Mode in view.go, and a case to New.
package view

import (
	"context"
	"fmt"
	"io"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// Mode selects a view. Its values are those of --output.
type Mode string

// The modes.
const (
	Auto  Mode = "auto" // live on a terminal, otherwise plain
	Plain Mode = "plain"
	JSON  Mode = "json"
	Quiet Mode = "quiet"
)

// Options configures a view. Out is required.
type Options struct {
	Out     io.Writer
	Logs    Logs
	Now     func() time.Time
	Color   bool
	Verbose bool // also print starts, attempts and every checkpoint
	Stream  bool // also print what the steps print, while they run; Quiet does not
	// Size returns the size of the terminal that Out is, 0 while it belongs to another program.
	// nil: Out is none on which the cursor can be moved.
	Size func() (columns, rows int)
	// Control is the keyboard of that terminal. nil: the view reads no keys.
	Control Control
	// Pause asks the run to pause at its next boundary; nil: it can't be asked. The view
	// calls it in a goroutine of its own.
	Pause func()
	// Heartbeat is after how long without output a plain view says what goes on; 0: never.
	Heartbeat time.Duration
	// Typical returns how long workstreams take, by name, as sessions before the named one say. The live view,
	// and a plain one with a heartbeat, calls it in a goroutine of its own if the run takes longer than a moment. nil:
	// the view makes no estimate.
	Typical func(ctx context.Context, session string) map[string]time.Duration
	// Past is the number of the last commit that the user need not see, since the run was under way
	// when the view began: what happened up to it is said in one line. 0: every commit is shown.
	// The JSON and the quiet view show every commit.
	Past uint64
	// Markup is what the log of a CI system has besides plain text; nil: nothing.
	Markup Markup
	// Neutral is used if Markup is nil. It removes the commands of a CI system from a text, as
	// Markup.Neutral does. nil: texts are printed unchanged.
	Neutral func(text string) string
}

// Markup writes what a CI system reads in the log of a job.
type Markup interface {
	// Fold returns the lines before and after a part of the log that is shown folded, under a
	// title in one line. The second may be "". What failed is shown unfolded, where that can be said.
	Fold(title string, failed bool) (begin, end string)
	// Annotate returns the line that shows a failure at its place in the sources, "" if the
	// system has none.
	Annotate(as Severity, f state.Failure) string
	// Neutral returns text in one line so that the system takes no part of it for a command.
	Neutral(text string) string
}

// Severity says how an annotation is marked.
type Severity int

// The severities.
const (
	Error   Severity = iota
	Warning          // what it says fails nothing
)

// Logs is the directory of the files in Failure.Log.
type Logs struct {
	Dir  string
	Name string // how messages name it; relative to the workspace if it is there
	// Carried says that logs may be missing: the session was imported, perhaps without them.
	Carried bool
}

// View is a runner.View that reports write errors.
type View interface {
	runner.View
	// Err returns the first write error, after which the view writes nothing more. The run
	// continues.
	Err() error
	// Close ends what the view does beside the run. The caller calls it when the run is over,
	// with or without an end.
	Close()
}

// Holder is implemented by views that leave the screen to other output for a while.
type Holder interface {
	// Hold takes the frame off the screen. The view writes nothing more until release is
	// called.
	Hold() (release func())
}

// Lender is implemented by views that read the keyboard, and lend it to a question.
type Lender interface {
	Holder
	// Lend holds the view as Hold does, and gives the keyboard back as the view found it, until
	// giveBack is called. What others write meanwhile comes after that: see Defer.
	Lend() (giveBack func())
	// Defer takes text that another would write to the screen while a question is open. It reports
	// false if none is: then the other writes the text.
	Defer(text []byte) bool
}

// New returns a view of the given mode.
func New(mode Mode, o Options) View {
	if o.Now == nil {
		o.Now = time.Now
	}
	switch mode {
	case JSON:
		v := newJSON(o)
		if o.Stream {
			return newTimed(v, streamInterval)
		}
		return v
	case Quiet:
		return newQuiet(o)
	case Auto:
		if o.Size != nil {
			return newLive(o)
		}
	case Plain:
	}
	v := newPlain(o)
	switch {
	case o.Stream:
		return newTimed(v, streamInterval)
	case o.Heartbeat > 0:
		return newTimed(v, v.firstTick())
	}
	return v
}

// output is a writer that stops at the first error, so that a reader that went away does
// not end the run.
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
