package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"prdrunner/runner"
	"prdrunner/runner/progress"
)

const (
	// On a large screen, steps have up to maxRows rows, and otherRows rows are kept for everything else. On a small
	// screen, these numbers are fewRows and fewOtherRows.
	maxRows, otherRows    = 30, 10
	fewRows, fewOtherRows = 12, 6
	// foldFrom is from how many instances of one workstream on these share one row.
	foldFrom = 4
	// markColumns and clockColumns are the widths of two columns.
	markColumns  = 4
	clockColumns = 6
)

// frame is what the live part of the screen shows at one moment.
type frame struct {
	progress *progress.Progress
	now      time.Time
	width    int // of the terminal, in columns
	height   int // of the terminal, in rows
	color    bool
	stopping *runner.Stopping // after a signal
	pauses   bool             // the user can ask for a pause
	asked    bool             // for what steps wait for
	left     string           // how long the run still takes; "": not known
	groups   []stepGroup      // what runs and waits
	from     int              // the first group that has a row
	selected string           // the id of the group that the user has selected; "": none
	// lastLine returns the last line of output of a step, "" if there is none.
	lastLine func(progress.Active) string
}

// stepRow is what the row of one step says, or that of several instances of one workstream.
type stepRow struct {
	id      string // of the stepGroup
	mark    string
	style   Style // of the mark
	name    string
	clock   string
	details []string
	output  string
}

// rows returns the rows of the frame: the phases before the current one, the current one with what runs and waits in
// it, and the later ones. The rows of phases get the room that the others leave.
func (f *frame) rows() []row {
	phase := f.progress.Current()
	if phase == nil && len(f.groups) == 0 {
		return nil
	}
	middle := append(f.failedRows(), f.writeSteps(f.stepRows())...)
	ahead, keys := f.ahead(), f.keyRows()
	const above = 2                            // the rows of the current phase, and above it
	room := f.height - 2 - above - len(middle) // two rows of the screen stay free
	waits := f.writeTexts(Dim, f.waitRows(max(1, room-len(keys)-min(1, ahead.rows())))...)
	middle, room = append(middle, waits...), room-len(waits)

	forPhases := min(room-len(keys), max(2, f.height/3))
	var lines []phaseLine
	if f.stopping == nil && !f.progress.Over() {
		lines = f.behind(min(maxPhases, forPhases-min(1, ahead.rows())))
	}
	behind := len(lines)
	if f.goesOn() {
		lines = append(lines, f.currentLine(phase))
	}
	columns := f.columnsOf(lines, ahead.phases)
	rows := []row{{}} // apart from the text above
	for _, l := range lines {
		rows = append(rows, f.writePhase(l, columns))
	}
	if !f.goesOn() {
		rows = append(rows, f.otherHead(len(f.groups) > 0))
	}
	rows = append(rows, middle...)
	rows = append(rows, f.writeAhead(ahead, columns, max(min(1, room), forPhases-behind))...)
	rows = append(rows, f.writeTexts(Bold, keys...)...)
	return rows[:min(len(rows), max(0, f.height-2))]
}

// goesOn reports whether a phase is going on.
func (f *frame) goesOn() bool {
	return f.progress.Current() != nil && f.stopping == nil && !f.progress.Over()
}

// otherHead is the row in the place of that of the current phase.
func (f *frame) otherHead(running bool) row {
	if f.stopping != nil {
		return f.stopRow(running)
	}
	return f.outsideRow()
}

// failedRows names what has failed in the current phase: the lines that said so may no longer be on the screen. A
// small screen has no room for it.
func (f *frame) failedRows() []row {
	const indent = "  failed: "
	if !f.goesOn() || f.height <= otherRows {
		return nil
	}
	names := f.progress.Current().FailedNames()
	if len(names) == 0 {
		return nil
	}
	for i, name := range names {
		names[i] = OneLine(name)
	}
	return f.writeTexts(Red, indent+fitNames(names, f.width-1-len(indent)))
}

// writeSteps writes the rows of steps, with their names in a column, and the numbers of those above and below without
// a row.
func (f *frame) writeSteps(steps []stepRow, above, below int) (rows []row) {
	names := 0
	for _, s := range steps {
		names = max(names, displaywidth.String(OneLine(s.name)))
	}
	for _, s := range steps {
		rows = append(rows, f.writeStep(s, min(names, max(12, f.width*2/5))))
	}
	switch {
	case above > 0 && below > 0:
		return append(rows, f.writeTexts(Dim, fmt.Sprintf("    and %d above, %d below", above, below))...)
	case above > 0:
		return append(rows, f.writeTexts(Dim, fmt.Sprintf("    and %d above", above))...)
	case below > 0:
		return append(rows, f.writeTexts(Dim, fmt.Sprintf("    and %d more", below))...)
	}
	return rows
}

// writeTexts writes a row for each text.
func (f *frame) writeTexts(style Style, texts ...string) (rows []row) {
	for _, text := range texts {
		w := f.row()
		w.add(style, text)
		rows = append(rows, w.row())
	}
	return rows
}

func (f *frame) row() *rowWriter { return &rowWriter{page: Page{color: f.color}, width: f.width} }

// outsideRow says how far the run is while no phase is going on.
func (f *frame) outsideRow() row {
	w, c := f.row(), f.progress.Counts()
	what := "all phases"
	if f.progress.Over() {
		what = "ending"
	}
	w.add(Bold, what)
	w.add(None, fmt.Sprintf("  %d of %d", c.Passed(), c.Total))
	return w.row()
}

// stopRow counts down until what has not ended is killed.
func (f *frame) stopRow(running bool) row {
	w := f.row()
	w.add(Yellow, "stopping")
	switch at := f.stopping.KillAt; {
	case at.IsZero():
		w.add(None, "  kills what still runs")
	case running && at.After(f.now):
		w.add(None, "  kills what still runs in "+clock(at.Sub(f.now)+time.Second-1)+"; Ctrl+C kills it now")
	}
	return w.row()
}

// waitRows says what steps wait for, if the user has asked or more steps could run at once. Only if the user has
// asked, it takes more than one row.
func (f *frame) waitRows(room int) (rows []string) {
	const indent = "  "
	if f.stopping != nil || !f.asked && !f.progress.HasFreeSlot() {
		return nil
	}
	ready := 0
	if f.asked && room > 1 {
		if ready = f.progress.Ready(); ready > 0 {
			rows = append(rows, fmt.Sprintf("%swaiting for a free slot: %d", indent, ready))
		}
		if room -= len(rows); room > 1 {
			return append(rows, listWaits(f.progress, indent, room, ready)...)
		}
	}
	if text := describeWaits(f.progress, f.width-len(indent)-1, ready); text != "" {
		rows = append(rows, indent+text)
	}
	return rows
}

// keyRows names the keys, in as many rows as they need, if the user has asked.
func (f *frame) keyRows() (rows []string) {
	if !f.asked {
		return nil
	}
	keys := []string{pauseHelp, "↑ ↓ or k j: select", "l: log of the selected row", "?: hide this"}
	if !f.pauses {
		keys = keys[1:]
	}
	for _, key := range keys {
		last := len(rows) - 1
		if last >= 0 && displaywidth.String(rows[last]+"   "+key) < f.width {
			rows[last] += "   " + key
		} else {
			rows = append(rows, "  "+key)
		}
	}
	return rows
}

// fitNames lists as many names as fit into a number of columns, at least one, and counts the
// others: a, b +7 more.
func fitNames(names []string, width int) string {
	more := func(n int) string {
		if n == len(names) {
			return ""
		}
		return fmt.Sprintf(" +%d more", len(names)-n)
	}
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			if displaywidth.String(b.String()+", "+name+more(i+1)) > width {
				return b.String() + more(i)
			}
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}

// stepGroup is a step, or instances of one workstream, that have a row where there is room.
type stepGroup struct {
	id    string // the same in each frame
	steps []progress.Active
}

// groupSteps returns the groups of the steps, in the order of their rows.
func groupSteps(active []progress.Active) (groups []stepGroup) {
	folded := foldable(active)
	// What needs a person comes first, then what waits; what runs is in the order of its start, and services
	// that are ready come last.
	slices.SortStableFunc(active, func(a, b progress.Active) int { return urgency(b) - urgency(a) })
	seen := map[fold]bool{}
	for _, a := range active {
		group := folded[foldOf(a)]
		switch {
		case len(group) == 0:
			groups = append(groups, stepGroup{a.Log, []progress.Active{a}})
		case !seen[foldOf(a)]:
			first := firstOf(group)
			groups = append(groups, stepGroup{fmt.Sprint(first.Block, "[] ", first.Activity), group})
		}
		seen[foldOf(a)] = true
	}
	return groups
}

// mostSteps returns how many steps have a row on the screen at most.
func (f *frame) mostSteps() int {
	small := min(fewRows, f.height-fewOtherRows)
	large := min(maxRows, f.height-otherRows)
	return max(1, small, large)
}

// choose takes what runs and waits into the frame, and has the keyboard choose the groups that have a row.
func (f *frame) choose(k *keyboard) {
	f.groups = groupSteps(f.progress.Active())
	f.from, f.selected = k.take(f.groups, f.mostSteps()), k.selected
}

// stepRows returns the rows of the steps for which there is room, and the numbers of the steps above and below them.
func (f *frame) stepRows() (shown []stepRow, above, below int) {
	most := f.mostSteps()
	for i, g := range f.groups {
		switch {
		case i < f.from:
			above += len(g.steps)
		case i >= f.from+most:
			below += len(g.steps)
		case len(g.steps) > 1:
			shown = append(shown, f.foldedRow(g))
		default:
			shown = append(shown, f.activeRow(g.steps[0]))
		}
	}
	return shown, above, below
}

// fold identifies the instances that share a row: those of one workstream with the same activity.
type fold struct {
	block    string
	activity progress.Activity
}

func foldOf(a progress.Active) fold { return fold{a.Block, a.Activity} }

// foldable returns the groups of instances that are large enough to share a row.
func foldable(active []progress.Active) map[fold][]progress.Active {
	groups := map[fold][]progress.Active{}
	for _, a := range active {
		if a.Block != "" && a.Activity != progress.Asking {
			groups[foldOf(a)] = append(groups[foldOf(a)], a)
		}
	}
	for f, group := range groups {
		if len(group) < foldFrom {
			delete(groups, f)
		}
	}
	return groups
}

func urgency(a progress.Active) int {
	switch a.Activity {
	case progress.Asking:
		return 2
	case progress.Retrying:
		return 1
	case progress.Serving:
		return -1
	case progress.Working, progress.Judging, progress.Reviewing, progress.Starting, progress.Hooking:
	}
	return 0
}

func (f *frame) activeRow(a progress.Active) stepRow {
	r := stepRow{id: a.Log, mark: "●", style: Green, name: a.Name, clock: clock(f.now.Sub(a.Since))}
	if a.Attempt > 1 && (a.Activity == progress.Working || a.Activity == progress.Retrying) {
		r.details = append(r.details, fmt.Sprintf("attempt %d", a.Attempt))
	}
	switch a.Activity {
	case progress.Asking:
		r.mark, r.style = "?", Yellow
		r.details = append(r.details, "waits for approval")
		r.output = FirstLine(a.Message)
	case progress.Retrying:
		r.mark, r.style, r.clock = "↻", Yellow, "in "+clock(a.Until.Sub(f.now)+time.Second-1)
		if !a.Until.After(f.now) {
			r.clock = "next" // it waits for a slot
		}
		r.output = FirstLine(a.Message)
	case progress.Judging:
		r.details = append(r.details, "is being judged")
		r.output = f.lastLine(a)
	case progress.Starting:
		r.details = append(r.details, "gets ready")
		r.output = f.lastLine(a)
	case progress.Serving:
		r.details = append(r.details, "ready")
		r.output = f.lastLine(a)
	case progress.Working, progress.Reviewing, progress.Hooking:
		r.output = f.lastLine(a)
	}
	return r
}

// firstOf returns the instance that has gone on the longest, or is tried again next.
func firstOf(group []progress.Active) progress.Active {
	first := group[0]
	for _, a := range group {
		if a.Activity == progress.Retrying && a.Until.Before(first.Until) {
			first = a
		}
	}
	return first
}

// foldedRow is the row of several instances of one workstream. It shows the first of them.
func (f *frame) foldedRow(group stepGroup) stepRow {
	first := firstOf(group.steps)
	r := f.activeRow(first)
	r.id, r.name, r.details = group.id, first.Block+"[…]", []string{fmt.Sprintf("%d instances", len(group.steps))}
	switch first.Activity {
	case progress.Judging:
		r.details[0] += " are being judged"
	case progress.Retrying:
		r.details[0] += " to be tried again"
	case progress.Working, progress.Asking, progress.Reviewing, progress.Starting, progress.Serving, progress.Hooking:
	}
	if key := strings.TrimPrefix(first.Name, first.Block); r.output != "" && key != first.Name {
		r.output = key + " " + r.output
	}
	return r
}

// writeStep writes the row of a step, with its name in a column of the given width.
func (f *frame) writeStep(s stepRow, names int) row {
	w := f.row()
	style, pointer := None, "  "
	if f.selected != "" && s.id == f.selected {
		style, pointer = Bold, "› "
	}
	w.add(style, pointer)
	w.add(s.style, s.mark)
	w.add(None, " ")
	w.add(style, cut(OneLine(s.name), names))
	w.to(markColumns + names + 2)
	w.add(Dim, s.clock)
	w.to(w.used + w.gap + max(0, clockColumns-len(s.clock)))
	for _, d := range s.details {
		w.add(None, "  "+d)
	}
	if s.output != "" {
		w.add(Dim, "  "+s.output)
	}
	return w.row()
}
