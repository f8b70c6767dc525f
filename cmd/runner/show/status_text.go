package show

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// Status shows the status of a session.
func Status(w io.Writer, cmdline advice.CommandLine, now time.Time, s SessionStatus) error {
	var b strings.Builder
	fmt.Fprintln(&b, view.OneLine(view.Named(s.PRD, s.Title)))
	for _, row := range s.factRows(cmdline, now) {
		fmt.Fprintf(&b, "  %-16s %s\n", row[0]+":", view.OneLine(row[1]))
	}
	if len(s.Phases) > 0 {
		b.WriteByte('\n')
		if err := writeWorkstreams(&b, s); err != nil {
			return err
		}
	}
	if len(s.Waiting) > 0 {
		b.WriteString("\nWaiting for a person:\n")
		for _, q := range s.Waiting {
			fmt.Fprintf(&b, "  %s\n", view.OneLine(q.describe(now)))
		}
	}
	if len(s.Next) > 0 {
		b.WriteString("\nNext:\n")
		for _, n := range s.Next {
			fmt.Fprintf(&b, "  %s\n", n)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// StatusTable shows a table of all sessions.
func StatusTable(w io.Writer, now time.Time, list []SessionStatus) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "PRD\tSTATUS\tPHASE\tDONE\tUPDATED\tTITLE")
	for _, s := range list {
		if s.Damaged != "" {
			fmt.Fprintf(tw, "%s\tdamaged\t\t\t\t%s\n", s.PRD, joined(s.Next))
			continue
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d of %d\t%s\t%s\n", s.PRD, s.statusText(), s.phaseReached(),
			s.Counts.Done, s.Counts.Total, view.Ago(now, s.UpdatedAt), view.OneLine(s.Title))
	}
	return tw.Flush()
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

func (q waitingGate) describe(now time.Time) string {
	parts := []string{q.Gate}
	if q.Message != "" {
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

// failures returns a line for each failure: first the one that ended the session, then the
// others.
func (s SessionStatus) failures() []string {
	const most = 10
	var lines []string
	add := func(f *state.Failure) {
		if f != nil && !slices.Contains(lines, view.Summary(*f)) {
			lines = append(lines, view.Summary(*f))
		}
	}
	add(s.Error)
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
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
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more (--json has all)", more))
	}
	return lines
}

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
		return string(s.Status) + " (was running; how it ended is not on record)"
	case s.Abandoned:
		return string(s.Status) + " (abandoned)"
	case len(s.TakenBack) > 0:
		return string(s.Status) + ", stale"
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

// factRows returns the lines above the table, as names and values.
func (s SessionStatus) factRows(cmdline advice.CommandLine, now time.Time) [][2]string {
	var rows [][2]string
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, [2]string{name, value})
		}
	}
	add("Status", s.statusText())
	if s.Session != "" {
		add("Session", fmt.Sprintf("%s, begun %s (%s)", s.Session, s.CreatedAt.UTC().Format(time.DateTime), view.Ago(now, s.CreatedAt)))
		if from := s.BeganFrom; from != nil {
			add("Begun from", fmt.Sprintf("session %s, complete since %s", from.Session, from.At.UTC().Format(time.DateTime)))
		}
		add("Phase", s.currentPhase())
	}
	if s.Owner != nil {
		add("Runner", fmt.Sprintf("pid %d on %s, since %s", s.Owner.PID, s.Owner.Host, s.Owner.Since.UTC().Format(time.DateTime)))
	}
	if s.Killed {
		add("Runner", "was running; how it ended is not on record")
	}
	if len(s.Alive) > 0 {
		alive := make([]string, len(s.Alive))
		for i, p := range s.Alive {
			alive[i] = p.String()
		}
		add("Still running", strings.Join(alive, ", ")+": the next command that changes the session ends it first")
	}
	running := make([]string, len(s.Running))
	for i, r := range s.Running {
		running[i] = r.Name
		if r.Since != nil && s.Owner != nil {
			running[i] += " for " + view.Duration(now.Sub(*r.Since))
		}
	}
	add("Running", strings.Join(running, ", "))
	retrying := make([]string, len(s.Retrying))
	for i, r := range s.Retrying {
		retrying[i] = r.describe(now)
	}
	add("To be retried", strings.Join(retrying, "; "))
	for _, service := range s.Services {
		if service.Running && s.Owner != nil {
			add("Service", describeService(service))
		}
	}
	for _, failure := range s.failures() {
		add("Error", failure)
	}
	for _, f := range state.AllowedFailures(s.Phases) {
		add("Failed, allowed", view.Summary(f))
	}
	if s.Pause != nil {
		add("Paused", view.Waits(*s.Pause))
	}
	if s.Interrupted != "" {
		add("Interrupted", "by "+s.Interrupted)
	}
	add("Last gate", s.LastGate)
	if s.Issue != nil {
		add("Issue", describeIssue(s.Issue))
	}
	if s.Review != nil {
		add("Review", s.Review.Describe())
	}
	for _, member := range memberLines(s.Team) {
		add("Agent", member)
	}
	add("Spent", s.Spent.String())
	for _, p := range s.Phases {
		if by := p.Spent.String(); by != "" && len(s.Phases) > 1 {
			add("Spent in "+p.Name, by)
		}
	}
	for _, matter := range openMatters(&s.Ledgers) {
		add("Reported", matter)
	}
	if c := s.LastCheckpoint; c != nil {
		add("Last checkpoint", fmt.Sprintf("%s (%s, %s)", c.ID, c.Trigger, view.Ago(now, c.CreatedAt)))
	}
	if p := s.Import; p != nil {
		add("Import", InterruptedImport(cmdline, p))
	}
	if r := s.Rollback; r != nil {
		add("Rollback", InterruptedRollback(r))
	}
	for _, p := range s.Protections {
		switch {
		case p.RollbackDue:
			add("Rollback due", fmt.Sprintf("%s to %s; the next command that changes the session does it first", p.Workstream, p.Checkpoint))
		case !p.RolledBack:
			add("Protected", fmt.Sprintf("%s by %s, until its gates have passed", p.Workstream, p.Checkpoint))
		}
	}
	for _, t := range s.TakenBack {
		stale := fmt.Sprintf("the rollback of %s on %s took back %s of this session: %s",
			t.PRD, t.At.UTC().Format(time.DateTime), view.Plural(len(t.Files), "artifact"), someFiles(t.Files))
		if t.Safety != "" {
			stale += "; `" + cmdline.Command("checkpoint rollback "+t.PRD+" "+t.Safety) + "` puts them back"
		}
		add("Stale", stale)
	}
	if f := s.Finishes; f != nil {
		add("Refused", string(f.Refused))
		add("Edited since", editedSummary(f.Edited))
	}
	if h := s.Hooks; h != nil {
		add("Hooks", PendingHooks(h)+" did not end; the next build runs them again")
	}
	if s.TornBytes > 0 {
		add("Journal", fmt.Sprintf("its last %d bytes are an unfinished write; the next build moves them to a file of their own", s.TornBytes))
	}
	add("Rescue copy", string(s.RescuePath))
	return rows
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

// statusOf returns the status of a workstream. If the record was reused, or the result was
// taken from the cache, it names the earlier session.
func statusOf(w *state.Workstream) string {
	if w.FailureAllowed() {
		return "failed, allowed"
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
	return fmt.Sprintf("%s, reused from session %s of %s", w.Status, state.ShortSession(w.Session), w.EndedAt.UTC().Format(time.DateOnly))
}

func writeWorkstreams(w io.Writer, s SessionStatus) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "PHASE\tWORKSTREAM\tSTATUS\tATTEMPTS\tTIME\tGATES")
	for _, p := range s.Phases {
		for _, ws := range p.Workstreams {
			duration := ""
			if ws.DurationMS > 0 {
				duration = view.Duration(time.Duration(ws.DurationMS) * time.Millisecond)
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\n", p.Name, view.OneLine(view.Named(ws.Name, ws.Title)), statusOf(ws), ws.Attempts, duration, gateStatuses(ws.Gates))
		}
		if len(p.Gates) > 0 {
			fmt.Fprintf(tw, "%s\t\t\t\t\t%s\n", p.Name, gateStatuses(p.Gates))
		}
	}
	return tw.Flush()
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
		line = "The runner of " + s.PRD + " was killed: how its run ended is not on record"
	case s.Killed:
		line = "No run of " + s.PRD + " is on: its runner was killed, and how that run ended is not on record"
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
