package show

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// StatusOptions says how the status of a session is shown.
type StatusOptions struct {
	Now     time.Time
	Rows    int    // that the answer may take on the screen; if it needs more, the table has what is done as counts. 0: it lists everything
	Columns int    // of the screen; a longer line takes several rows. 0: each line takes one
	Failed  bool   // list only what failed
	Phase   string // list only this phase; "": all
}

// mostFailures returns how many failures are named above the table: all, if only failures are asked for.
func (o StatusOptions) mostFailures() int {
	if o.Failed {
		return -1
	}
	return 10
}

// folding says which rows of a table are only counted.
type folding int

const (
	foldNothing folding = iota
	foldDone            // what is done
	foldPending         // also what is to come
)

// folds reports whether a row is only counted.
func (f folding) folds(row statusRow) bool {
	return f >= foldDone && row.done || f >= foldPending && row.pending
}

// Status shows the status of a session. If it does not fit on the screen, the workstreams that are done are
// only counted, and, if that is not enough, those that are to come.
func Status(w io.Writer, cmdline advice.CommandLine, s info.SessionStatus, o StatusOptions) error {
	p := statusPage(w, cmdline, s, o, foldNothing)
	for fold := foldDone; o.Rows > 0 && p.rows(o.Columns) > o.Rows && fold <= foldPending; fold++ {
		p = statusPage(w, cmdline, s, o, fold)
	}
	return p.end()
}

// page returns the page that shows the status.
func statusPage(w io.Writer, cmdline advice.CommandLine, s info.SessionStatus, o StatusOptions, fold folding) *page {
	p := newPage(w)
	p.title("", view.Named(s.PRD, s.Title))
	facts := []info.Fact{factIn(s.Style(), "Status", s.StatusText())}
	p.facts(append(facts, s.Facts(cmdline, info.FactsOptions{Now: o.Now, Failures: o.mostFailures()})...)...)
	if len(s.Phases) > 0 {
		p.Printf("\n")
		writeStatusTable(p, cmdline, s, o, fold)
	}
	p.waiting("Waiting for a person", s.Waiting, o.Now)
	for _, c := range s.Called {
		p.waiting("Waiting for a person in "+c.PRD, c.Waiting, o.Now)
	}
	if len(s.Next) > 0 {
		p.heading("Next")
		for _, n := range s.Next {
			p.Command("  ", string(n))
		}
	}
	return p
}

// waiting lists gates that wait for a person under a heading, if there are any.
func (p *page) waiting(heading string, gates []info.WaitingGate, now time.Time) {
	if len(gates) > 0 {
		p.heading(heading)
	}
	for _, q := range gates {
		p.Printf("  %s\n", p.Paint(view.Yellow, q.Describe(now)))
		p.Paragraph("    ", q.LongMessage())
		if q.Judged != nil {
			p.judged("    ", q.Judged)
		}
	}
}

// judged shows what a person judges who answers the gate, and the command that shows the difference.
func (p *page) judged(indent string, j *info.Judged) {
	facts, name, command := j.Facts(), "Difference", string(j.Files.Difference)
	if width := displaywidth.String(indent + name + ":  " + command); p.Columns <= 0 || width <= p.Columns {
		p.factsBelow(indent, append(facts, fact(name, command))...)
		return
	}
	p.factsBelow(indent, facts...)
	if command != "" {
		p.Printf("%s%s:\n", indent, name)
		p.Command(indent+"  ", command)
	}
}

// StatusTable shows a table of all sessions.
func StatusTable(w io.Writer, now time.Time, list []info.SessionStatus) error {
	p := newPage(w)
	rows := [][]view.Cell{cells("PRD", "STATUS", "PHASE", "DONE", "UPDATED", "TITLE")}
	for _, s := range list {
		if s.Damaged != "" {
			rows = append(rows, []view.Cell{{Text: s.PRD}, {Text: string(view.Damaged), Style: view.Red}, {}, {}, {}, {Text: joined(s.Next)}})
			continue
		}
		rows = append(rows, []view.Cell{
			{Text: s.PRD}, {Text: s.StatusText(), Style: s.Style()}, {Text: s.PhaseReached()},
			{Text: s.Counts.String()}, {Text: info.Ago(now, s.UpdatedAt)}, {Text: s.Title},
		})
	}
	p.Table("", rows)
	return p.end()
}

// writeTable writes the workstreams and gates of the session. Those that are folded are only counted.
func writeStatusTable(p *page, cmdline advice.CommandLine, s info.SessionStatus, o StatusOptions, fold folding) {
	rows := statusRows(s, o)
	table := [][]view.Cell{cells("PHASE", "WORKSTREAM", "STATUS", "ATTEMPTS", "TIME", "GATES")}
	folded := 0
	for len(rows) > 0 {
		phase, counts := rows[0].phase, foldedRows{}
		for len(rows) > 0 && rows[0].phase == phase {
			if fold.folds(rows[0]) {
				counts.add(rows[0])
				folded++
			} else {
				table = append(table, rows[0].cells)
			}
			rows = rows[1:]
		}
		if len(counts.order) > 0 {
			table = append(table, []view.Cell{{Text: phase}, {Text: fmt.Sprintf("… %d more", counts.total), Style: view.Dim}, {Text: counts.String(), Style: view.Dim}})
		}
	}
	if len(table) == 1 && (o.Failed || o.Phase != "") {
		p.Printf("%s\n", p.Paint(view.Dim, "Nothing failed."))
		return
	}
	p.Table("", table)
	if folded > 0 {
		p.Printf("%s\n", p.Paint(view.Dim, fmt.Sprintf("`%s` lists all", cmdline.Command("status "+s.PRD+" --all"))))
	}
}

// statusRow is a row of the table: a workstream, or the gates of a phase.
type statusRow struct {
	phase         string
	status        string // in one word
	done, pending bool   // nothing is to be said of it
	cells         []view.Cell
}

// foldedRows counts rows by their status.
type foldedRows struct {
	total  int
	counts map[string]int
	order  []string
}

func (f *foldedRows) add(row statusRow) {
	if f.counts == nil {
		f.counts = map[string]int{}
	}
	if f.counts[row.status]++; f.counts[row.status] == 1 {
		f.order = append(f.order, row.status)
	}
	f.total++
}

// String returns the counts: 40 completed, 3 reused.
func (f *foldedRows) String() string {
	parts := make([]string, len(f.order))
	for i, status := range f.order {
		parts[i] = fmt.Sprintf("%d %s", f.counts[status], status)
	}
	return strings.Join(parts, ", ")
}

// rows returns the rows of the table that are asked for, instances in natural order.
func statusRows(s info.SessionStatus, o StatusOptions) []statusRow {
	var rows []statusRow
	for _, p := range s.Phases {
		if o.Phase != "" && o.Phase != p.Name {
			continue
		}
		for _, w := range info.InOrder(p.Workstreams) {
			if o.Failed && (w.Status != state.Failed || w.FailureAllowed()) && !info.AnyFailed(w.Gates) {
				continue
			}
			rows = append(rows, newStatusRow(s, p, w, o.Now))
		}
		if len(p.Gates) > 0 && (!o.Failed || info.AnyFailed(p.Gates)) {
			gates := view.Cell{Text: gateStatuses(p.Gates), Style: gatesStyle(p.Gates)}
			rows = append(rows, statusRow{phase: p.Name, cells: []view.Cell{{Text: p.Name}, {}, {}, {}, {}, gates}})
		}
	}
	return rows
}

// row returns the row of a workstream.
func newStatusRow(s info.SessionStatus, p *state.Phase, w *state.Workstream, now time.Time) statusRow {
	status, style := s.DescribeWorkstream(w)
	row := statusRow{phase: p.Name, status: string(w.Status)}
	if w.Session != "" && w.Status == state.Completed {
		row.status = string(view.Reused)
	}
	passed := !slices.ContainsFunc(w.Gates, func(g *state.Gate) bool { return g.Status != state.Passed && g.Status != state.Skipped || g.Review })
	row.done = (w.Status == state.Completed || w.Status == state.Skipped) && passed && s.Outdated[w.Name] == ""
	row.pending = w.Status == state.Pending
	took := ""
	if d := s.Took(w, now); d > 0 {
		took = view.Duration(d)
	}
	row.cells = []view.Cell{
		{Text: p.Name}, {Text: view.Named(w.Name, w.Title), Style: onlyDim(style)}, {Text: status, Style: style},
		{Text: strconv.Itoa(w.Attempts)}, {Text: took}, {Text: gateStatuses(w.Gates), Style: gatesStyle(w.Gates)},
	}
	return row
}

func onlyDim(s view.Style) view.Style {
	if s == view.Dim {
		return s
	}
	return view.None
}

// gatesStyle returns the style of what gates say together.
func gatesStyle(gates []*state.Gate) view.Style {
	if info.AnyFailed(gates) {
		return view.Red
	}
	if slices.ContainsFunc(gates, info.Awaits) {
		return view.Yellow
	}
	return view.None
}

func gateStatuses(list []*state.Gate) string {
	words := make([]string, len(list))
	for i, g := range list {
		name, _, _ := strings.Cut(g.Label, " (")
		words[i] = name + " " + string(g.Status)
	}
	return strings.Join(words, ", ")
}
