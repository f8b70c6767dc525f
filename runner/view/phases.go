package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"prdrunner/runner/progress"
)

// maxPhases is how many phases before the current one have rows, and how many after it. If there are more, several
// phases share one row.
const maxPhases = 4

// phaseLine is what the row of a phase says. Its columns are below those of the other phases.
type phaseLine struct {
	mark    string // "": there are no other phases
	style   Style  // of the mark
	name    string
	weight  Style // of the name
	passed  string
	took    string
	left    string // how long the run still takes
	pausing bool
	counts  progress.Counts
	// iteration is that of a phase that repeats, from 2; 0 for the first.
	iteration int
}

// phaseColumns are the widths of the columns of phases.
type phaseColumns struct{ name, passed, took int }

// behind returns the lines of the phases before the current one, in up to so many rows. If there are more phases, the
// earlier ones share the first row.
func (f *frame) behind(rows int) (lines []phaseLine) {
	phases := f.progress.Behind()
	if rows <= 0 || len(phases) == 0 {
		return nil
	}
	if shared := len(phases) - rows + 1; len(phases) > rows {
		lines, phases = append(lines, sharedLine(phases[:shared])), phases[shared:]
	}
	for _, p := range phases {
		l := lineBehind(p.Outcome(), p.Name, p.Counts, p.Took)
		l.iteration = p.Iteration
		lines = append(lines, l)
	}
	return lines
}

// sharedLine is the line of several phases that the run has left.
func sharedLine(phases []*progress.Phase) phaseLine {
	var sum progress.Counts
	var took time.Duration
	outcome := progress.Skipped
	for _, p := range phases {
		sum, took = sum.Plus(p.Counts), took+p.Took
		if o := p.Outcome(); o == progress.Failed || o == progress.Passed && outcome == progress.Skipped {
			outcome = o
		}
	}
	return lineBehind(outcome, Plural(len(phases), "phase"), sum, took)
}

func lineBehind(outcome progress.Outcome, name string, c progress.Counts, took time.Duration) phaseLine {
	l := phaseLine{mark: "-", style: Dim, name: name, passed: passedOf(c), counts: c}
	if took > 0 {
		l.took = Duration(took)
	}
	switch outcome {
	case progress.Passed:
		l.mark, l.style = "✓", Green
	case progress.Failed:
		l.mark, l.style = "✗", Red
	case progress.Skipped:
		if c.Skipped == c.Total {
			l.passed, l.counts.Skipped = "skipped", 0
		}
	}
	return l
}

func passedOf(c progress.Counts) string { return fmt.Sprintf("%d of %d", c.Passed(), c.Total) }

// currentLine is the line of the current phase.
func (f *frame) currentLine(p *progress.Phase) phaseLine {
	l := phaseLine{
		name: p.Name, weight: Bold, passed: passedOf(p.Counts), took: clock(f.now.Sub(p.Began)), left: f.left,
		pausing: f.progress.Pausing(), counts: p.Counts, iteration: p.Iteration,
	}
	if len(f.progress.Phases()) > 1 {
		l.mark, l.style = "●", Green
	}
	return l
}

// columnsOf returns the widths of the columns in which all phases fit: the given lines, and the later phases if each of
// them has a row.
func (f *frame) columnsOf(lines []phaseLine, ahead []*progress.Phase) (c phaseColumns) {
	for _, l := range lines {
		c.name = max(c.name, displaywidth.String(OneLine(l.name)))
		c.passed, c.took = max(c.passed, len(l.passed)), max(c.took, len(l.took))
	}
	if len(lines) > 1 {
		c.took = max(c.took, clockColumns) // columns stay where they are when the clock goes on
	}
	if len(ahead) <= maxPhases {
		for _, p := range ahead {
			c.name = max(c.name, displaywidth.String(OneLine(p.Name)))
		}
	}
	c.name = min(c.name, max(12, f.width*2/5))
	return c
}

// writePhase writes the row of a phase: ● test  12 of 48  42s  3 running, 1 failed.
func (f *frame) writePhase(l phaseLine, c phaseColumns) row {
	w := f.row()
	indent := 0
	if l.mark != "" {
		w.add(l.style, l.mark)
		w.add(None, " ")
		indent = w.used
	}
	w.add(l.weight, cut(OneLine(l.name), c.name))
	column := func(at int, s Style, text string) {
		w.to(at)
		w.add(s, text)
	}
	at := indent + c.name + len(gap)
	column(at, None, l.passed)
	at += c.passed + len(gap)
	if at+c.took+len(gap)+len(fmt.Sprint(l.counts.Failed, " failed")) >= f.width && l.counts.Failed > 0 {
		c.took = 0 // a failure is worth more than the time
	} else {
		column(at, Dim, l.took)
	}
	at += c.took
	if c.took == 0 {
		at -= len(gap)
	}
	w.to(at)
	if text := gap + l.left; l.left != "" && displaywidth.String(text)+w.gap <= w.room() {
		w.add(Dim, text)
	}
	if l.pausing {
		w.add(Yellow, gap+"pausing")
	}
	f.addCounts(w, l)
	return w.row()
}

// addCounts adds the counts that are not zero, as far as there is room.
func (f *frame) addCounts(w *rowWriter, l phaseLine) {
	separator := gap
	for _, count := range []struct {
		n     int
		what  string
		style Style
	}{
		{l.counts.Failed, "failed", Red},
		{l.counts.Allowed, "failed (" + string(Allowed) + ")", Yellow},
		{l.counts.Running, "running", None},
		{l.counts.Waiting, "to be tried again", Yellow},
		{l.counts.Asking, "to be approved", Yellow},
		{l.counts.Skipped, "skipped", None},
		{l.counts.Reused, "reused", None},
		{l.iteration, "", None},
	} {
		text := fmt.Sprintf("%d %s", count.n, count.what)
		if count.what == "" {
			text = fmt.Sprintf("iteration %d", count.n)
		}
		if count.n > 0 && w.gap+displaywidth.String(separator+text) <= w.room() {
			w.add(None, separator)
			w.add(count.style, text)
			separator = ", "
		}
	}
}

// ahead is what comes after the current phase.
type ahead struct {
	halt   string // what a failure keeps from starting, "" if nothing
	then   string // when the first of the phases comes
	phases []*progress.Phase
}

func (f *frame) ahead() ahead {
	if f.stopping != nil || f.progress.Over() {
		return ahead{}
	}
	a := ahead{describeHalt(f.progress), describeThen(f.progress), f.progress.Ahead()}
	if len(a.phases) > 0 && f.progress.Stops() && !f.progress.Halted() {
		a.halt, a.then = "", "after the failure only these start"
	}
	return a
}

// rows returns the number of rows if each phase has its own.
func (a ahead) rows() int {
	n := len(a.phases)
	if a.halt != "" {
		n++
	}
	if len(a.phases) > 0 && a.then != justThen {
		n++
	}
	return n
}

// writeAhead writes what comes after the current phase, in up to so many rows: a row for each phase, if they are few and
// have room, or one for all.
func (f *frame) writeAhead(a ahead, c phaseColumns, room int) (rows []row) {
	const indent = "  "
	switch {
	case room <= 0 || a.rows() == 0:
		return nil
	case len(a.phases) == 0:
		return f.writeTexts(Dim, indent+a.halt)
	case len(a.phases) > maxPhases || a.rows() > room || len(f.progress.Phases()) == 1:
		return f.writeTexts(Dim, indent+a.inOneRow(f.width-1-len(indent)))
	}
	if a.halt != "" {
		rows = f.writeTexts(Dim, indent+a.halt)
	}
	if a.then != justThen {
		rows = append(rows, f.writeTexts(Dim, indent+a.then+":")...)
	}
	for _, p := range a.phases {
		rows = append(rows, f.writeLater(p, c))
	}
	return rows
}

// inOneRow says in so many columns what comes: then: test, release +2 more.
func (a ahead) inOneRow(width int) string {
	text := a.then + ": "
	if a.halt != "" {
		text = a.halt + "; " + text
	}
	names := make([]string, len(a.phases))
	for i, p := range a.phases {
		names[i] = OneLine(p.Name)
	}
	room := width - displaywidth.String(text)
	fit := fitNames(names, room)
	if len(names) > 1 && displaywidth.String(fit) > room { // not even the first name has room
		fit = Plural(len(names), "phase")
	}
	return text + fit
}

// justThen says that the next phase comes when the current one has ended.
const justThen = "then"

// describeThen says when the next phase comes: then, or: then, after the approval of sign-off.
func describeThen(p *progress.Progress) string {
	first, n := p.Approvals()
	switch {
	case n == 0:
		return justThen
	case n > 1:
		return fmt.Sprintf("then, after %d approvals", n)
	}
	if current := p.Current(); current != nil {
		first = strings.TrimSuffix(first, " ("+current.Name+")")
	}
	return "then, after the approval of " + first
}

// writeLater writes the row of a phase that has not begun.
func (f *frame) writeLater(p *progress.Phase, c phaseColumns) row {
	w := f.row()
	w.add(Dim, "○ ")
	at := w.used + c.name + len(gap)
	w.add(Dim, cut(OneLine(p.Name), c.name))
	w.to(at)
	if p.Total > 0 {
		w.add(Dim, Plural(p.Total, "workstream"))
	}
	return w.row()
}

// describeHalt says what does not start after a failure, "" if everything does.
func describeHalt(p *progress.Progress) string {
	switch {
	case p.Halted():
		return "after the failure nothing new starts"
	case p.Stops():
		return "after the failure no later phase starts"
	}
	return ""
}
