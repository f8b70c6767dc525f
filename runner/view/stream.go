package view

import (
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"prdrunner/runner/plan"
	"prdrunner/runner/stream"
)

const (
	// streamInterval is how often the output of what runs is looked for.
	streamInterval = 100 * time.Millisecond
	// maxAligned is the widest name in columns that the lines of other names are aligned with.
	maxAligned = 24
)

// printOutput prints a line that a step has printed, after the name of the step.
func (v *plain) printOutput(l stream.Line) {
	ended := l.Text == "" && v.goesOn[l.Step] // nothing followed but the end of the line
	v.goesOn[l.Step], v.streamed[l.Step] = l.GoesOn, l.Log
	if ended {
		return
	}
	text := l.Text
	if i := strings.LastIndexByte(text, '\r'); i >= 0 { // a terminal would show only what overwrites the rest
		text = text[i+1:]
	}
	if l.GoesOn {
		text += stream.Begun
	}
	name := l.Step + strings.Repeat(" ", max(0, v.nameWidth-displaywidth.String(l.Step)))
	v.page.Printf("%s %s\n", v.page.Paint(Dim, name+" │"), text)
}

// alignNames takes the width of the names before lines of output from the steps of a plan.
func (v *plain) alignNames(p *plan.Plan) {
	for _, phase := range p.Phases {
		for _, s := range phase.Steps {
			if width := displaywidth.String(s.Name); width <= maxAligned {
				v.nameWidth = max(v.nameWidth, width)
			}
		}
	}
}

// closeStream prints what is left of the output of steps that did not end.
func (v *plain) closeStream() {
	if v.stream != nil {
		v.stream.Close(v.printOutput)
	}
}

// tick prints what the steps have printed since the last time, and after a long silence what goes on.
func (v *plain) tick() (next time.Duration) {
	next = streamInterval
	if v.stream != nil {
		v.stream.Poll(v.now(), v.printOutput)
		v.writePage()
	}
	if v.heartbeat == 0 {
		return next
	}
	if silent := v.beat(); v.stream == nil {
		next = silent
	}
	return next
}
