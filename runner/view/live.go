package view

import (
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// eraseLine goes to the beginning of the line and erases it.
const eraseLine = "\r\x1b[K"

// live is the plain view with a last line that says what is running. The line
// is erased before anything else is printed, and never ends with a newline.
type live struct {
	*plain
	width   int
	total   int // workstreams that this run has to do
	running []string
	waiting []string // for their next attempt
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
	v.begin(b)
	v.draw()
}

// Commit implements runner.View.
func (v *live) Commit(c checkpoint.Commit) {
	for _, e := range c.Events {
		v.follow(e)
	}
	v.commit(c)
	v.draw()
}

// Warn implements runner.View.
func (v *live) Warn(message string) {
	v.warn(message)
	v.draw()
}

// End implements runner.View.
func (v *live) End(e runner.Ending) {
	v.running, v.waiting = nil, nil
	v.end(e)
	v.draw()
}

// follow keeps the list of what is running, in the order of its start.
func (v *live) follow(e checkpoint.Event) {
	switch e := e.(type) {
	case checkpoint.WorkstreamStarted:
		v.stop(e.Workstream)
		v.running = append(v.running, e.Workstream)
	case checkpoint.GateStarted:
		v.running = append(v.running, e.Gate)
	case checkpoint.WorkstreamAttemptFailed:
		v.stop(e.Workstream)
		v.waiting = append(v.waiting, e.Workstream)
	case checkpoint.WorkstreamSucceeded:
		v.stop(e.Workstream)
	case checkpoint.WorkstreamCompleted:
		v.stop(e.Workstream)
	case checkpoint.WorkstreamFailed:
		v.stop(e.Workstream)
	case checkpoint.WorkstreamInterrupted:
		v.stop(e.Workstream)
	case checkpoint.WorkstreamUncertain:
		v.stop(e.Workstream)
	case checkpoint.GatePassed:
		v.stop(e.Gate)
	case checkpoint.GateFailed:
		v.stop(e.Gate)
	case checkpoint.GateAsked: // the prompt takes the place of the line
		v.running = nil
	}
}

func (v *live) stop(name string) {
	is := func(s string) bool { return s == name }
	v.running, v.waiting = slices.DeleteFunc(v.running, is), slices.DeleteFunc(v.waiting, is)
}

// status is the last line: what runs, and what waits for its next attempt.
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

// draw prints what was collected above the status line, in one write.
func (v *live) draw() {
	body := strings.Clone(v.page.String())
	v.page.Reset()
	if v.drawn {
		v.page.WriteString(eraseLine)
	}
	v.page.WriteString(body)
	v.drawn = len(v.running)+len(v.waiting) > 0
	if v.drawn {
		v.page.WriteString(string(v.page.paint(dim, cut(v.status(), v.width-1))))
	}
	v.flush()
}
