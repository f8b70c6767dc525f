package info

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// When returns a time, and how long ago it was.
func When(now, t time.Time) string {
	return fmt.Sprintf("%s (%s)", t.UTC().Format(time.DateTime), view.Ago(now, t))
}

// Ago formats the time since then, "" if the time is not known.
func Ago(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	return view.Ago(now, then)
}

// Style returns the style of the session's status.
func (s SessionStatus) Style() view.Style {
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

// String names the workstream of the process, and its pid.
func (p AliveProcess) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s (pid %d)", p.Workstream, p.PID))
}

// LongMessage returns the message if it has several lines, else "".
func (q WaitingGate) LongMessage() string {
	if len(view.Lines(string(q.Message))) > 1 {
		return string(q.Message)
	}
	return ""
}

// Describe says in one line what the gate asks. It leaves out a long message.
func (q WaitingGate) Describe(now time.Time) string {
	parts := []string{q.Gate}
	if q.Message != "" && q.LongMessage() == "" {
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

// Failures returns all failures, each once: first the one that ended the session.
func (s SessionStatus) Failures() []*state.Failure {
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
		for _, w := range InOrder(p.Workstreams) {
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

// failureLines returns a line for each failure.
func (s SessionStatus) failureLines(cmdline advice.CommandLine, most int) []string {
	var lines []string
	for i, f := range s.Failures() {
		if i == most {
			return append(lines, fmt.Sprintf("and %d more; `%s` lists them", len(s.Failures())-most, cmdline.Command("status "+s.PRD+" --failed")))
		}
		lines = append(lines, view.Summary(*f))
	}
	return lines
}

// InOrder returns workstreams in the natural order of their names: WS2 comes before WS10.
func InOrder(list []*state.Workstream) []*state.Workstream {
	return view.InNaturalOrder(list, func(w *state.Workstream) string { return w.Name })
}

func addGateFailures(gates []*state.Gate, add func(*state.Failure)) {
	for _, g := range gates {
		if g.Status == state.Failed {
			add(g.Error)
		}
	}
}

// StatusText returns the status as people read it.
func (s SessionStatus) StatusText() string {
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

// PhaseReached returns the number of the phase that the session entered last, and the
// number of phases. A complete session has reached the last phase, even if it entered none
// because it reused the results of all. The number of phases is unknown for a document
// written by hand.
func (s SessionStatus) PhaseReached() string {
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
		return s.PhaseReached() + " done"
	}
	if s.CurrentPhase == 0 || s.CurrentPhase > len(s.Phases) {
		return fmt.Sprintf("none of %d begun", s.TotalPhases)
	}
	p := s.Phases[s.CurrentPhase-1]
	return fmt.Sprintf("%s, %s%s", s.PhaseReached(), view.Named(p.Name, p.Title), IterationOf(p))
}

// IterationOf names the iteration of a phase that repeats, "" for any other phase.
func IterationOf(p *state.Phase) string {
	if p.Iteration == nil {
		return ""
	}
	return fmt.Sprintf(", iteration %d of at most %d", p.Iteration.Index, p.Iteration.Max)
}

// DescribeWorkstream returns the status of a workstream, and its style. An outdated one names the reason.
func (s SessionStatus) DescribeWorkstream(w *state.Workstream) (string, view.Style) {
	if why := s.Outdated[w.Name]; why != "" {
		return fmt.Sprintf("%s, %s: %s", w.Status, view.Outdated, why), view.Yellow
	}
	if w.Status == state.Succeeded && AnyFailed(w.Gates) {
		return fmt.Sprintf("%s, gate failed", w.Status), view.Red
	}
	return StatusOf(w), StyleOf(w)
}

// StyleOf returns the style of a workstream's status.
func StyleOf(w *state.Workstream) view.Style {
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

// StatusOf returns the status of a workstream. If the record was reused, or the result was
// taken from the cache, it names the earlier session.
func StatusOf(w *state.Workstream) string {
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

// WhyReused returns why a workstream has the result of an earlier session, "" if it has none.
func WhyReused(w *state.Workstream) string {
	switch {
	case w.Status != state.Completed:
		return ""
	case w.Cached != nil:
		return "the cache had a result for the same definition and inputs"
	case w.Session != "":
		return "nothing changed since"
	}
	return ""
}

// Took returns how long the work took to which the status of a workstream belongs, 0 if that is
// not known. The record has the time of the last work that succeeded, which may be older.
func (s SessionStatus) Took(w *state.Workstream, now time.Time) time.Duration {
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

// AnyFailed reports whether a gate has failed or was rejected.
func AnyFailed(gates []*state.Gate) bool {
	return slices.ContainsFunc(gates, func(g *state.Gate) bool { return g.Status == state.Failed || g.Status == state.Rejected })
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
		line = fmt.Sprintf("The run of %s has ended: the session is %s", s.PRD, s.StatusText())
	default:
		line = fmt.Sprintf("No run of %s is on: the session is %s", s.PRD, s.StatusText())
	}
	const most = 3
	for i, command := range s.Next[:min(len(s.Next), most)] {
		line += []string{"; next: ", ", "}[min(i, 1)] + "`" + string(command) + "`"
	}
	return line
}
