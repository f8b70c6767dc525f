package show

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
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
func Status(w io.Writer, cmdline advice.CommandLine, s SessionStatus, o StatusOptions) error {
	p := s.page(w, cmdline, o, foldNothing)
	for fold := foldDone; o.Rows > 0 && p.rows(o.Columns) > o.Rows && fold <= foldPending; fold++ {
		p = s.page(w, cmdline, o, fold)
	}
	return p.end()
}

// page returns the page that shows the status.
func (s SessionStatus) page(w io.Writer, cmdline advice.CommandLine, o StatusOptions, fold folding) *page {
	p := newPage(w)
	p.title("", view.Named(s.PRD, s.Title))
	p.facts(s.facts(cmdline, o)...)
	if len(s.Phases) > 0 {
		p.Printf("\n")
		s.writeTable(p, cmdline, o, fold)
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
func (p *page) waiting(heading string, gates []waitingGate, now time.Time) {
	if len(gates) > 0 {
		p.heading(heading)
	}
	for _, q := range gates {
		p.Printf("  %s\n", p.Paint(view.Yellow, q.describe(now)))
		p.Paragraph("    ", q.longMessage())
		if q.Judged != nil {
			p.judged("    ", q.Judged)
		}
	}
}

// judged shows what a person judges who answers the gate, and the command that shows the difference.
func (p *page) judged(indent string, j *Judged) {
	facts, name, command := j.facts(), "Difference", string(j.Files.Difference)
	if width := displaywidth.String(indent + name + ":  " + command); p.Columns <= 0 || width <= p.Columns {
		p.factsBelow(indent, append(facts, fact{name, command, view.None})...)
		return
	}
	p.factsBelow(indent, facts...)
	if command != "" {
		p.Printf("%s%s:\n", indent, name)
		p.Command(indent+"  ", command)
	}
}

// StatusTable shows a table of all sessions.
func StatusTable(w io.Writer, now time.Time, list []SessionStatus) error {
	p := newPage(w)
	rows := [][]view.Cell{cells("PRD", "STATUS", "PHASE", "DONE", "UPDATED", "TITLE")}
	for _, s := range list {
		if s.Damaged != "" {
			rows = append(rows, []view.Cell{{Text: s.PRD}, {Text: string(view.Damaged), Style: view.Red}, {}, {}, {}, {Text: joined(s.Next)}})
			continue
		}
		rows = append(rows, []view.Cell{
			{Text: s.PRD}, {Text: s.statusText(), Style: s.style()}, {Text: s.phaseReached()},
			{Text: s.Counts.String()}, {Text: ago(now, s.UpdatedAt)}, {Text: s.Title},
		})
	}
	p.Table("", rows)
	return p.end()
}

// ago formats the time since then, "" if the time is not known.
func ago(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	return view.Ago(now, then)
}

// style returns the style of the session's status.
func (s SessionStatus) style() view.Style {
	switch s.Status {
	case state.StatusComplete:
		if len(s.TakenBack) > 0 {
			return view.Yellow
		}
		return view.Green
	case state.StatusFailed:
		return view.Red
	case state.StatusPaused:
		return view.Yellow
	case state.StatusInitialized, state.StatusInProgress:
	}
	if s.Killed {
		return view.Yellow
	}
	return view.None
}

func (r retryingStep) describe(now time.Time) string {
	when := "due"
	if r.At.After(now) {
		when = "in " + view.Duration(r.At.Sub(now))
	}
	return fmt.Sprintf("%s, attempt %d %s", r.Name, r.Attempt, when)
}

func (p AliveProcess) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s (pid %d)", p.Workstream, p.PID))
}

// longMessage returns the message if it has several lines, else "".
func (q waitingGate) longMessage() string {
	if len(view.Lines(string(q.Message))) > 1 {
		return string(q.Message)
	}
	return ""
}

// describe says in one line what the gate asks. It leaves out a long message.
func (q waitingGate) describe(now time.Time) string {
	parts := []string{q.Gate}
	if q.Message != "" && q.longMessage() == "" {
		parts[0] += ": " + string(q.Message)
	}
	if q.Review {
		parts = append(parts, "passed, to be reviewed")
	}
	if len(q.Approvers) > 0 {
		parts = append(parts, "by "+strings.Join(q.Approvers, " or "))
	}
	if len(q.Inputs) > 0 {
		parts = append(parts, view.AskedFor(q.Inputs))
	}
	switch {
	case q.ExpiresAt == nil:
	case q.ExpiresAt.After(now):
		parts = append(parts, "for "+view.Duration(q.ExpiresAt.Sub(now))+" more")
	default:
		parts = append(parts, "expired")
	}
	return strings.Join(parts, ", ")
}

// failures returns all failures, each once: first the one that ended the session.
func (s SessionStatus) failures() []*state.Failure {
	var all []*state.Failure
	seen := map[string]bool{}
	add := func(f *state.Failure) {
		if f != nil && !seen[view.Summary(*f)] {
			seen[view.Summary(*f)] = true
			all = append(all, f)
		}
	}
	add(s.Error)
	for _, p := range s.Phases {
		for _, w := range view.InNaturalOrder(p.Workstreams, workstreamName) {
			if w.FailureAllowed() {
				continue
			}
			if w.Status == state.Failed || w.Status == state.Interrupted { // interrupted between a failure and the retry
				add(w.Error)
			}
			addGateFailures(w.Gates, add)
		}
		addGateFailures(p.Gates, add)
	}
	return all
}

// mostFailures is how many failures are shown above the table, unless only failures are asked for.
const mostFailures = 10

// failureLines returns a line for each failure.
func (s SessionStatus) failureLines(cmdline advice.CommandLine, most int) []string {
	var lines []string
	for i, f := range s.failures() {
		if i == most {
			return append(lines, fmt.Sprintf("and %d more; `%s` lists them", len(s.failures())-most, cmdline.Command("status "+s.PRD+" --failed")))
		}
		lines = append(lines, view.Summary(*f))
	}
	return lines
}

func workstreamName(w *state.Workstream) string { return w.Name }

func addGateFailures(gates []*state.Gate, add func(*state.Failure)) {
	for _, g := range gates {
		if g.Status == state.Failed {
			add(g.Error)
		}
	}
}

// statusText returns the status as people read it.
func (s SessionStatus) statusText() string {
	switch {
	case s.ImportedFrom != "":
		return strings.TrimSpace(fmt.Sprintf("%s (made of a checkpoint of %s)", s.Status, s.ImportedFrom))
	case s.HandWritten:
		return strings.TrimSpace(string(s.Status) + " (written by hand)")
	case s.Rollback != nil:
		return string(s.Status) + " (a rollback was cut short)"
	case s.Killed:
		return string(view.Killed)
	case s.Abandoned:
		return fmt.Sprintf("%s (%s)", s.Status, view.Abandoned)
	case len(s.TakenBack) > 0:
		return fmt.Sprintf("%s, %s", s.Status, view.Stale)
	case s.Interrupted != "" && s.Status == state.StatusPaused:
		return "paused (interrupted)"
	}
	return string(s.Status)
}

// PendingHooks describes the hooks that have not ended, "" if all have.
func PendingHooks(hooks *state.Hooks) string {
	if hooks == nil {
		return ""
	}
	return view.Plural(hooks.Hooks-hooks.Ended, "hook") + " for " + hooks.Event
}

// ArchiveName returns the name of an archive, safe to show.
func ArchiveName(p *disk.PendingImport) string {
	switch p.Archive {
	case "":
		return "an archive"
	case advice.StandardStream:
		return "standard input"
	}
	return view.OneLine(string(p.Archive))
}

// InterruptedRollback describes a rollback that was cut short.
func InterruptedRollback(r *state.RollbackStarted) string {
	return fmt.Sprintf("to %s was cut short: the workspace may be partly restored; the next command that changes the session finishes it", r.To)
}

// InterruptedImport describes an import that was cut short.
func InterruptedImport(cmdline advice.CommandLine, p *disk.PendingImport) string {
	return fmt.Sprintf("from %s was cut short: files may be missing; %s or the next command that changes the session finishes it", ArchiveName(p), cmdline.Localize(advice.ImportAgain(p)))
}

// describeService describes a service that runs.
func describeService(s state.Service) string {
	if s.Ready {
		return fmt.Sprintf("%s on port %d", s.Name, s.Port)
	}
	return fmt.Sprintf("%s on port %d, not ready yet", s.Name, s.Port)
}

// phaseReached returns the number of the phase that the session entered last, and the
// number of phases. A complete session has reached the last phase, even if it entered none
// because it reused the results of all. The number of phases is unknown for a document
// written by hand.
func (s SessionStatus) phaseReached() string {
	switch {
	case s.HandWritten:
		return strconv.Itoa(s.CurrentPhase)
	case s.Status == state.StatusComplete:
		return fmt.Sprintf("%d of %d", s.TotalPhases, s.TotalPhases)
	}
	return fmt.Sprintf("%d of %d", s.CurrentPhase, s.TotalPhases)
}

func (s SessionStatus) currentPhase() string {
	if s.Status == state.StatusComplete {
		return s.phaseReached() + " done"
	}
	if s.CurrentPhase == 0 || s.CurrentPhase > len(s.Phases) {
		return fmt.Sprintf("none of %d begun", s.TotalPhases)
	}
	p := s.Phases[s.CurrentPhase-1]
	return fmt.Sprintf("%s, %s%s", s.phaseReached(), view.Named(p.Name, p.Title), iterationOf(p))
}

// iterationOf names the iteration of a phase that repeats, "" for any other phase.
func iterationOf(p *state.Phase) string {
	if p.Iteration == nil {
		return ""
	}
	return fmt.Sprintf(", iteration %d of at most %d", p.Iteration.Index, p.Iteration.Max)
}

// describe returns the status of a workstream, and its style. An outdated one names the reason.
func (s SessionStatus) describe(w *state.Workstream) (string, view.Style) {
	if why := s.Outdated[w.Name]; why != "" {
		return fmt.Sprintf("%s, %s: %s", w.Status, view.Outdated, why), view.Yellow
	}
	if w.Status == state.Succeeded && anyFailed(w.Gates) {
		return fmt.Sprintf("%s, gate failed", w.Status), view.Red
	}
	return statusOf(w), styleOf(w)
}

// styleOf returns the style of a workstream's status.
func styleOf(w *state.Workstream) view.Style {
	switch w.Status {
	case state.Completed:
		if w.Session != "" || w.Cached != nil {
			return view.Dim
		}
		return view.Green
	case state.Failed:
		if w.FailureAllowed() {
			return view.Yellow
		}
		return view.Red
	case state.Waiting, state.Uncertain, state.Interrupted:
		return view.Yellow
	case state.Skipped:
		return view.Dim
	case state.Pending, state.Running, state.Succeeded, state.Passed, state.Rejected:
	}
	return view.None
}

// statusOf returns the status of a workstream. If the record was reused, or the result was
// taken from the cache, it names the earlier session.
func statusOf(w *state.Workstream) string {
	if w.FailureAllowed() {
		return fmt.Sprintf("%s, %s", state.Failed, view.Allowed)
	}
	if w.WaitsFor != "" {
		return "waits for " + w.WaitsFor
	}
	if w.Cached != nil && w.Status == state.Completed {
		return fmt.Sprintf("%s, result of session %s of %s", w.Status, state.ShortSession(w.Cached.Session), w.Cached.At.UTC().Format(time.DateOnly))
	}
	if w.Session == "" || w.Status != state.Completed || w.EndedAt == nil {
		return string(w.Status)
	}
	return fmt.Sprintf("%s, %s from session %s of %s", w.Status, view.Reused, state.ShortSession(w.Session), w.EndedAt.UTC().Format(time.DateOnly))
}

// writeTable writes the workstreams and gates of the session. Those that are folded are only counted.
func (s SessionStatus) writeTable(p *page, cmdline advice.CommandLine, o StatusOptions, fold folding) {
	rows := s.rows(o)
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
func (s SessionStatus) rows(o StatusOptions) []statusRow {
	var rows []statusRow
	for _, p := range s.Phases {
		if o.Phase != "" && o.Phase != p.Name {
			continue
		}
		for _, w := range view.InNaturalOrder(p.Workstreams, workstreamName) {
			if o.Failed && (w.Status != state.Failed || w.FailureAllowed()) && !anyFailed(w.Gates) {
				continue
			}
			rows = append(rows, s.row(p, w, o.Now))
		}
		if len(p.Gates) > 0 && (!o.Failed || anyFailed(p.Gates)) {
			gates := view.Cell{Text: gateStatuses(p.Gates), Style: gatesStyle(p.Gates)}
			rows = append(rows, statusRow{phase: p.Name, cells: []view.Cell{{Text: p.Name}, {}, {}, {}, {}, gates}})
		}
	}
	return rows
}

// row returns the row of a workstream.
func (s SessionStatus) row(p *state.Phase, w *state.Workstream, now time.Time) statusRow {
	status, style := s.describe(w)
	row := statusRow{phase: p.Name, status: string(w.Status)}
	if w.Session != "" && w.Status == state.Completed {
		row.status = string(view.Reused)
	}
	passed := !slices.ContainsFunc(w.Gates, func(g *state.Gate) bool { return g.Status != state.Passed && g.Status != state.Skipped || g.Review })
	row.done = (w.Status == state.Completed || w.Status == state.Skipped) && passed && s.Outdated[w.Name] == ""
	row.pending = w.Status == state.Pending
	took := ""
	if d := s.took(w, now); d > 0 {
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

// took returns how long the work took to which the status of a workstream belongs, 0 if that is
// not known. The record has the time of the last work that succeeded, which may be older.
func (s SessionStatus) took(w *state.Workstream, now time.Time) time.Duration {
	switch w.Status {
	case state.Completed, state.Succeeded:
		return time.Duration(w.DurationMS) * time.Millisecond
	case state.Failed, state.Interrupted, state.Uncertain:
		if w.WorkSeq > 0 { // a gate failed
			return time.Duration(w.DurationMS) * time.Millisecond
		}
		if w.StartedAt != nil && w.EndedAt != nil {
			return w.EndedAt.Sub(*w.StartedAt)
		}
	case state.Running:
		if s.Owner != nil && w.StartedAt != nil {
			return now.Sub(*w.StartedAt).Truncate(time.Second)
		}
	case state.Pending, state.Skipped, state.Waiting, state.Passed, state.Rejected:
	}
	return 0
}

func anyFailed(gates []*state.Gate) bool {
	return slices.ContainsFunc(gates, func(g *state.Gate) bool { return g.Status == state.Failed || g.Status == state.Rejected })
}

// gatesStyle returns the style of what gates say together.
func gatesStyle(gates []*state.Gate) view.Style {
	if anyFailed(gates) {
		return view.Red
	}
	if slices.ContainsFunc(gates, Awaits) {
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

// RunOver says in one line that no run of the session is on, and what to type next. wasOn says that
// one was on a moment ago.
func (s SessionStatus) RunOver(wasOn bool) string {
	var line string
	switch {
	case s.Killed && wasOn:
		line = "The runner of " + s.PRD + " " + view.WasKilled
	case s.Killed:
		line = "No run of " + s.PRD + " is on: the last runner " + view.WasKilled
	case wasOn:
		line = fmt.Sprintf("The run of %s has ended: the session is %s", s.PRD, s.statusText())
	default:
		line = fmt.Sprintf("No run of %s is on: the session is %s", s.PRD, s.statusText())
	}
	const most = 3
	for i, command := range s.Next[:min(len(s.Next), most)] {
		line += []string{"; next: ", ", "}[min(i, 1)] + "`" + string(command) + "`"
	}
	return line
}
