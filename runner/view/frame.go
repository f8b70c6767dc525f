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
	// maxRows bounds the rows of steps in the live part of the screen, fewRows those on a small screen. otherRows
	// stay for what is above and below them, fewOtherRows on a small screen.
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
	keys     *keyboard        // nil: none
	// lastLine returns the last line of output of a step, "" if there is none.
	lastLine func(progress.Active) string
}

// stepRow is what the row of one step says, or that of several instances of one workstream.
type stepRow struct {
	id      string          // the same in each frame
	of      progress.Active // the step, or one of the instances
	mark    string
	style   Style // of the mark
	name    string
	clock   string
	details []string
	output  string
}

// rows returns the rows of the frame: the current phase, what runs and waits, and the later phases.
func (f *frame) rows() []row {
	active := f.progress.Active()
	phase := f.progress.Current()
	if phase == nil && len(active) == 0 {
		return nil
	}
	rows := []row{{}} // apart from the text above
	switch {
	case f.stopping != nil:
		rows = append(rows, f.stopRow(len(active) > 0))
	case phase != nil && !f.progress.Over():
		rows = append(rows, f.phaseRow(phase))
	default:
		rows = append(rows, f.outsideRow())
	}
	steps, more := f.stepRows(active)
	if f.keys != nil {
		f.keys.take(steps)
	}
	names := 0
	for _, s := range steps {
		names = max(names, displaywidth.String(OneLine(s.name)))
	}
	for _, s := range steps {
		rows = append(rows, f.writeStep(s, min(names, max(12, f.width*2/5))))
	}
	if more > 0 {
		w := f.row()
		w.add(Dim, fmt.Sprintf("    and %d more", more))
		rows = append(rows, w.row())
	}
	return append(rows, f.lastRows(f.height-2-len(rows))...)
}

// lastRows returns the rows below those of the steps, as many as there is room for: what steps wait for, what
// comes then, and the keys.
func (f *frame) lastRows(room int) (rows []row) {
	ahead, keys := f.aheadRow(), f.keyRows()
	left := room - len(keys)
	if ahead != "" {
		left--
	}
	add := func(style Style, text string) {
		if text != "" && len(rows) < room {
			w := f.row()
			w.add(style, text)
			rows = append(rows, w.row())
		}
	}
	for _, text := range f.waitRows(max(1, left)) {
		add(Dim, text)
	}
	add(Dim, ahead)
	for _, text := range keys {
		add(Bold, text)
	}
	return rows
}

func (f *frame) row() *rowWriter { return &rowWriter{page: Page{color: f.color}, width: f.width} }

// phaseRow says how far the phase is: test  12 of 48  42s  3 running, 1 failed.
func (f *frame) phaseRow(p *progress.Phase) row {
	w := f.row()
	w.add(Bold, p.Name)
	w.add(None, fmt.Sprintf("  %d of %d", p.Settled(), p.Total))
	w.add(Dim, "  "+clock(f.now.Sub(p.Began)))
	if text := "  " + f.left; f.left != "" && displaywidth.String(text) <= w.room() {
		w.add(Dim, text)
	}
	if f.progress.Pausing() {
		w.add(Yellow, "  pausing")
	}
	separator := "  "
	for _, count := range []struct {
		n     int
		what  string
		style Style
	}{
		{p.Failed, "failed", Red}, {p.Allowed, "failed, " + string(Allowed), Yellow}, {p.Running, "running", None}, {p.Waiting, "to be tried again", Yellow}, {p.Asking, "to be approved", Yellow},
		{p.Skipped, "skipped", None}, {p.Reused, "reused", None}, {p.Iteration, "", None},
	} {
		text := fmt.Sprintf("%d %s", count.n, count.what)
		if count.what == "" {
			text = fmt.Sprintf("iteration %d", count.n)
		}
		if count.n > 0 && displaywidth.String(separator+text) <= w.room() {
			w.add(None, separator)
			w.add(count.style, text)
			separator = ", "
		}
	}
	return w.row()
}

// outsideRow says how far the run is while no phase is going on.
func (f *frame) outsideRow() row {
	w, c := f.row(), f.progress.Counts()
	what := "all phases"
	if f.progress.Over() {
		what = "ending"
	}
	w.add(Bold, what)
	w.add(None, fmt.Sprintf("  %d of %d", c.Settled(), c.Total))
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
		w.add(None, "  kills what still runs in "+clock(at.Sub(f.now)+time.Second-1))
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

// aheadRow names the phases that come after the current one, as many as there is room for, and says if a failure
// keeps others from starting.
func (f *frame) aheadRow() string {
	if f.stopping != nil || f.progress.Over() {
		return ""
	}
	var parts []string
	if halt := describeHalt(f.progress); halt != "" {
		parts = append(parts, halt)
	}
	if names := phasesAhead(f.progress); len(names) > 0 {
		used := len("  then: ") + 1
		for _, p := range parts {
			used += len(p) + len("; ")
		}
		parts = append(parts, "then: "+fitNames(names, f.width-used))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  " + strings.Join(parts, "; ")
}

// phasesAhead returns the names of the phases that come after the current one: after a failure, those that run
// nevertheless.
func phasesAhead(p *progress.Progress) (names []string) {
	for _, phase := range p.Phases() {
		if current := p.Current(); phase.Ahead && (current == nil || phase.Number > current.Number) && (phase.Late || !p.Failed()) {
			names = append(names, phase.Name)
		}
	}
	return names
}

// describeHalt says what does not start after a failure, "" if everything does.
func describeHalt(p *progress.Progress) string {
	switch {
	case p.Halted():
		return "after the failure nothing new starts"
	case p.Failed() && slices.ContainsFunc(p.Phases(), func(phase *progress.Phase) bool { return phase.Ahead && !phase.Late }):
		return "after the failure no later phase starts"
	}
	return ""
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

// stepRows returns the rows of the steps, and the number of steps for which there is no room.
func (f *frame) stepRows(active []progress.Active) (shown []stepRow, more int) {
	most := max(1, min(fewRows, f.height-fewOtherRows), min(maxRows, f.height-otherRows))
	folded := foldable(active)
	// What needs a person comes first, then what waits; what runs is in the order of its start, and services
	// that are ready come last.
	slices.SortStableFunc(active, func(a, b progress.Active) int { return urgency(b) - urgency(a) })
	seen := map[fold]bool{}
	for _, a := range active {
		group := folded[foldOf(a)]
		switch {
		case len(group) > 0 && seen[foldOf(a)]:
		case len(shown) == most:
			more += max(1, len(group))
		case len(group) > 0:
			shown = append(shown, f.foldedRow(group))
		default:
			shown = append(shown, f.activeRow(a))
		}
		seen[foldOf(a)] = true
	}
	return shown, more
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
	r := stepRow{id: a.Log, of: a, mark: "●", style: Green, name: a.Name, clock: clock(f.now.Sub(a.Since))}
	if a.Attempt > 1 && (a.Activity == progress.Working || a.Activity == progress.Retrying) {
		r.details = append(r.details, fmt.Sprintf("attempt %d", a.Attempt))
	}
	switch a.Activity {
	case progress.Asking:
		r.mark, r.style = "?", Yellow
		r.details = append(r.details, "waits for approval")
		r.output = a.Message
	case progress.Retrying:
		r.mark, r.style, r.clock = "↻", Yellow, "in "+clock(a.Until.Sub(f.now)+time.Second-1)
		if !a.Until.After(f.now) {
			r.clock = "next" // it waits for a slot
		}
		r.output = a.Message
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

// foldedRow is the row of several instances of one workstream. It shows the one that has gone on the
// longest, or is tried again next.
func (f *frame) foldedRow(group []progress.Active) stepRow {
	first := group[0]
	for _, a := range group {
		if a.Activity == progress.Retrying && a.Until.Before(first.Until) {
			first = a
		}
	}
	r := f.activeRow(first)
	r.id, r.name, r.details = fmt.Sprint(first.Block, "[] ", first.Activity), first.Block+"[…]", []string{fmt.Sprintf("%d instances", len(group))}
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
	if f.keys != nil && s.id == f.keys.selected {
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
