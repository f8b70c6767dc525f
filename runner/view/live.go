package view

import (
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// eraseLine moves to the beginning of the line and erases the line.
const eraseLine = "\r\x1b[K"

// live is the plain view with a status line at the bottom. The status line is erased before
// anything else is printed, and never ends with a newline.
type live struct {
	*plain
	width   int
	total   int // number of workstreams to run
	running []string
	waiting []string // workstreams that wait for their next attempt
	drawn   bool
}

func newLive(o Options) *live { return &live{plain: newPlain(o), width: o.Width} }

// Begin implements runner.View.
func (v *live) Begin(b runner.Beginning) {
	if b.Plan != nil {
		for _, d := range []plan.Decision{plan.Run, plan.Rerun, plan.Cached, plan.Depends, plan.Judge, plan.Blocked, plan.Uncertain} {
			v.total += b.Plan.Count(d)
		}
	}
	v.printBegin(b)
	v.redraw()
}

// Commit implements runner.View.
func (v *live) Commit(c state.Commit) {
	for _, e := range c.Events {
		v.follow(e)
	}
	v.printCommit(c)
	v.redraw()
}

// Warn implements runner.View.
func (v *live) Warn(message string) {
	v.printWarning(message)
	v.redraw()
}

// End implements runner.View.
func (v *live) End(e runner.Ending) {
	v.running, v.waiting = nil, nil
	v.printEnd(e)
	v.redraw()
}

// follow updates the list of running workstreams, in the order of their starts.
func (v *live) follow(e state.Event) {
	switch e := e.(type) {
	case state.WorkstreamStarted:
		v.removeRunning(e.Workstream)
		v.running = append(v.running, e.Workstream)
	case state.GateStarted:
		v.running = append(v.running, e.Gate)
	case state.WorkstreamAttemptFailed:
		v.removeRunning(e.Workstream)
		v.waiting = append(v.waiting, e.Workstream)
	case state.WorkstreamSucceeded:
		v.removeRunning(e.Workstream)
	case state.WorkstreamCompleted:
		v.removeRunning(e.Workstream)
	case state.WorkstreamFailed:
		v.removeRunning(e.Workstream)
	case state.WorkstreamInterrupted:
		v.removeRunning(e.Workstream)
	case state.WorkstreamUncertain:
		v.removeRunning(e.Workstream)
	case state.GatePassed:
		v.removeRunning(e.Gate)
	case state.GateFailed:
		v.removeRunning(e.Gate)
	case state.GateAsked: // the prompt replaces the status line
		v.running = nil
	}
}

func (v *live) removeRunning(name string) {
	is := func(s string) bool { return s == name }
	v.running, v.waiting = slices.DeleteFunc(v.running, is), slices.DeleteFunc(v.waiting, is)
}

// status returns the status line: running workstreams, and those that wait for their next
// attempt.
func (v *live) status() string {
	status := fmt.Sprintf("%d/%d", v.finished, max(v.total, v.finished))
	for _, list := range []struct {
		what  string
		names []string
	}{{"running", v.running}, {"to be tried again", v.waiting}} {
		if len(list.names) > 0 {
			status += "  " + list.what + ": " + OneLine(strings.Join(list.names, ", "))
		}
	}
	return status
}

// redraw prints the page above the status line, in one write.
func (v *live) redraw() {
	body := strings.Clone(v.page.String())
	v.page.Reset()
	if v.drawn {
		v.page.WriteString(eraseLine)
	}
	v.page.WriteString(body)
	v.drawn = len(v.running)+len(v.waiting) > 0
	if v.drawn {
		v.page.WriteString(string(v.page.paint(dim, truncate(v.status(), v.width-1))))
	}
	v.writePage()
}
