package view

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// printEvent prints an event, with a case for each kind. Only a verbose view shows starts
// and events that a later event completes.
func (v *plain) printEvent(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.PhaseStarted:
		v.startTimer(e.Phase, at)
		v.printPhase(e.Phase)
	case state.PhaseCompleted:
		delete(v.began, e.Phase)
		v.printDone("", "phase "+e.Phase, millis(e.DurationMS))
	case state.PhaseSkipped:
		v.printNeutral("", "phase "+e.Phase+" skipped", string(e.Reason))
	case state.PhaseExpanded:
		for _, name := range slices.Sorted(maps.Keys(e.Instances)) {
			v.printNeutral("", fmt.Sprintf("%s has %s", name, Plural(e.Instances[name], "instance")), "")
		}
	case state.PhaseRepeated:
		v.printAttention(fmt.Sprintf("iteration %d of %s", e.Iteration, e.Phase), string(e.Reason))
	case state.PauseAsked:
		v.printAttention("pause requested"+byWhom(e.By), string(e.Reason))
	case state.ProcessesEnded:
		v.printAttention(processes(e))
	case state.ReviewStarted, state.ReviewJudged, state.ReviewFailed, state.ReviewInterrupted, state.ReviewOverridden:
		v.printReview(e)
	case state.ReportsReceived:
		v.printReports(e)
	case state.BudgetRaised:
		v.printNeutral("", "the budget of "+e.Budget+" is raised"+byWhom(e.By), e.From.Reported().String())
	case state.CheckpointCreated:
		v.printCheckpoint(e)
	case state.CheckpointsRemoved:
		if v.verbose {
			v.printNeutral("", Plural(len(e.IDs), "checkpoint")+" removed", string(e.Reason))
		}
	case state.ProtectionMade, state.ProtectionRolledBack, state.ProtectionCommitted, state.ProtectionKept, state.ScopeExceeded:
		v.printProtection(e)
	case state.ServiceStarted, state.ServiceReady, state.ServiceEnded:
		v.printService(e)
	case state.ArtifactsRestored:
		v.printDone("  ", v.titled(e.Workstream)+" has its artifacts back", "", textPaths(e.Paths)...)
	case state.WorkspaceCaptured:
		if v.verbose {
			v.printNeutral("", "captured "+Plural(e.Files, "file"))
		}
	case state.CheckpointSkipped:
		what := Plural(len(e.IDs), "checkpoint") + " skipped"
		if len(e.IDs) == 0 {
			what = "not written, and skipped"
		}
		v.printAttention(what, string(e.Error))
	case state.SessionStarted, state.SessionResumed, state.SessionPaused, state.SessionFailed,
		state.SessionInterrupted, state.SessionCompleted, state.SessionAbandoned, state.SessionAdopted, state.HooksDue, state.HookEnded,
		state.ActsRemembered:
		// Begin and End print these, because they know more than the event.
	default:
		if !v.printWorkstream(at, e) {
			v.printGate(at, e)
		}
	}
}

// printWorkstream prints an event of a workstream, and reports false for any other event.
func (v *plain) printWorkstream(at time.Time, e state.Event) bool {
	switch e := e.(type) {
	case state.WorkstreamStarted:
		v.startTimer(e.Workstream, at)
		if v.verbose {
			v.printNeutral("  ", v.titled(e.Workstream)+" started", attempt(e.Attempt))
		}
	case state.WorkstreamAttemptFailed:
		v.printAttention(fmt.Sprintf("%s attempt %d failed", e.Workstream, e.Attempt),
			location(e.Error)+string(e.Error.Message), "again in "+millis(e.RetryInMS))
	case state.WorkstreamSucceeded:
		delete(v.began, e.Workstream)
		v.work[e.Workstream] = e.Work
		if v.verbose {
			did := " worked "
			if e.Work.Cached != nil {
				did = " takes the "
			}
			v.printNeutral("  ", v.titled(e.Workstream)+did+howMade(e.Work), "its gates come next")
		}
	case state.WorkstreamCompleted:
		v.printCompleted(e)
	case state.WorkstreamFailed:
		v.printFailed(e, v.elapsed(e.Workstream, at))
	case state.WorkstreamInterrupted:
		v.elapsed(e.Workstream, at)
		switch {
		case e.WaitsFor != "":
			v.printNeutral("  ", v.titled(e.Workstream)+" waits for "+e.WaitsFor, attempt(e.Attempt))
		case e.Reason != "":
			v.printNeutral("  ", v.titled(e.Workstream)+" did not run", attempt(e.Attempt))
		default:
			v.printNeutral("  ", v.titled(e.Workstream)+" interrupted", attempt(e.Attempt))
		}
	case state.WorkstreamUncertain:
		v.elapsed(e.Workstream, at)
		v.printAttention(v.titled(e.Workstream)+" is uncertain", string(e.Error.Message))
	case state.WorkstreamResolved:
		v.printDone("  ", fmt.Sprintf("%s resolved as %s%s", v.titled(e.Workstream), e.Resolution, resolver(e)), "", string(e.Reason))
	case state.WorkstreamSkipped:
		v.printNeutral("  ", v.titled(e.Workstream)+" skipped", string(e.Reason))
	case state.WorkstreamInvalidated:
		if v.verbose || !v.reasonShown[e.Workstream] {
			v.printNeutral("  ", v.titled(e.Workstream)+" will run again", string(e.Reason))
		}
	case state.WorkstreamEdited:
		if len(e.Edited) == 0 { // its artifacts were not compared
			v.printNeutral("  ", "artifacts of "+v.titled(e.Workstream)+" are recorded as they are", artifactPaths(e.Artifacts)...)
			break
		}
		v.printNeutral("  ", v.titled(e.Workstream)+" keeps edited artifacts", textPaths(e.Edited)...)
	default:
		return false
	}
	return true
}

func (v *plain) printCompleted(e state.WorkstreamCompleted) {
	summary, made := "", ""
	work, known := v.work[e.Workstream]
	if e.Work != nil {
		work, known, summary = *e.Work, true, string(e.Work.Summary)
	}
	if known {
		made = howMade(work)
	}
	delete(v.work, e.Workstream)
	delete(v.began, e.Workstream)
	v.printDone("  ", v.titled(e.Workstream), made, summary)
	if known {
		v.printWork(e.Workstream, work)
	}
}

// printWork prints the end of the log of what a workstream did, folded, where the log of a CI system can fold.
func (v *plain) printWork(workstream string, work state.Work) {
	if v.markup == nil || v.stream != nil || work.Cached != nil { // with stream, the output was shown while it came
		return
	}
	name := disk.LogName(workstream, work.Attempt)
	text, err := LogEnd(filepath.Join(v.logs.Dir, name), EndBytes)
	if err != nil {
		text = err.Error()
	}
	v.printFolded("output: ", name, slices.Collect(strings.Lines(text)), false)
}

// printFolded prints lines of a log, folded under a title that ends with the path of the log.
func (v *plain) printFolded(title, name string, lines []string, failed bool) {
	if len(lines) == 0 {
		return
	}
	begin, end := v.markup.Fold(v.page.oneLine(title+filepath.Join(v.logs.Name, name)), failed)
	v.page.WriteString(begin + "\n")
	v.printExcerpt(lines)
	if end != "" {
		v.page.WriteString(end + "\n")
	}
}

// howMade returns how long the work took, or which earlier run it was reused from.
func howMade(work state.Work) string {
	if c := work.Cached; c != nil {
		return resultOf(c)
	}
	return millis(work.DurationMS)
}

// resultOf returns the name of the run that produced a result.
func resultOf(c *state.Cached) string {
	return fmt.Sprintf("result of session %s of %s", state.ShortSession(c.Session), c.At.UTC().Format("2006-01-02 15:04 UTC"))
}

func (v *plain) printGate(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.GateStarted:
		v.startTimer(e.Gate, at)
		if v.verbose {
			v.printNeutral("  ", e.Gate+" is being judged")
		}
	case state.GatePassed:
		delete(v.began, e.Gate)
		review := ""
		if e.Review {
			review = "waits for review"
		}
		v.printDone("  ", e.Gate+" passed", millis(e.DurationMS), formatValue(e.Value), review)
	case state.GateFailed:
		delete(v.began, e.Gate)
		v.failureShown[e.Gate] = true
		v.printFailure(e.Gate, millis(e.DurationMS), e.Error)
		_, owner, _ := state.CutLabel(e.Gate)
		if work, ok := v.work[owner]; ok {
			v.printWork(owner, work)
			delete(v.work, owner)
		}
	case state.GateAsked:
		v.printAsked(e)
	case state.GateApproved:
		comment, below := besideOrBelow(e.Comment)
		v.printDone("  ", e.Gate+" approved"+byWhom(e.By), "", comment, givenInputs(e.Inputs))
		v.page.Paragraph("      ", below)
	case state.GateRejected:
		reason, below := besideOrBelow(e.Reason)
		v.printLine("  ", v.page.Paint(Red, "✗"), e.Gate+" rejected"+byWhom(e.By), "", reason, givenInputs(e.Inputs), runAgain(e.To))
		v.page.Paragraph("      ", below)
	case state.GateReviewed:
		comment, below := besideOrBelow(e.Comment)
		v.printDone("  ", e.Gate+" reviewed"+byWhom(e.By), "", comment)
		v.page.Paragraph("      ", below)
	case state.GateSkipped:
		v.printNeutral("  ", e.Gate+" skipped", string(e.Reason))
	case state.GateVoided:
		if v.verbose || !v.reasonShown[e.Gate] {
			v.printNeutral("  ", e.Gate+" will be judged again", string(e.Reason))
		}
	}
}

// printAsked prints that a gate waits for approval.
func (v *plain) printAsked(e state.GateAsked) {
	message, below := besideOrBelow(e.Message)
	v.printAttention(e.Gate+" waits for approval", message, approvers(e.Approvers), AskedFor(e.Inputs))
	v.page.Paragraph("      ", below)
}

// besideOrBelow returns what a person wrote as beside if it is one line, and otherwise as below: its lines go
// below the line that says what happened.
func besideOrBelow(text state.Text) (beside, below string) {
	if len(Lines(string(text))) > 1 {
		return "", string(text)
	}
	return string(text), ""
}

// isFrequent reports whether checkpoints of a trigger come with every workstream or gate.
// Only a verbose view shows them, because ten thousand workstreams would print thirty
// thousand lines.
func isFrequent(t state.Trigger) bool {
	return t == state.TriggerWorkstreamComplete || t == state.TriggerBatchComplete || t == state.TriggerGatePassed
}

// rememberArtifacts remembers the artifacts that an event records as created or changed, until a
// checkpoint is shown.
func (v *plain) rememberArtifacts(e state.Event) {
	var made []state.Artifact
	switch e := e.(type) {
	case state.WorkstreamSucceeded:
		made = e.Work.Artifacts
	case state.WorkstreamCompleted:
		if e.Work != nil {
			made = e.Work.Artifacts
		}
	}
	for _, a := range made {
		if a.Change != "" {
			v.artifacts[a.Path] = true
		}
	}
}

// printCheckpoint prints a checkpoint with its artifacts and its commit.
func (v *plain) printCheckpoint(e state.CheckpointCreated) {
	if v.verbose || !isFrequent(e.Trigger) {
		artifacts := max(len(v.artifacts), e.Created+e.Modified) // the checkpoint counts those of its step only
		clear(v.artifacts)
		mark := v.page.Paint(Green, "✓")
		if e.Uncaptured {
			mark = v.page.Paint(Yellow, "!")
		}
		if holdsFound(e) {
			v.page.Line("%s %s", mark, whereFound(e))
		} else {
			v.page.Line("%s checkpoint %s%s", mark, e.ID, contents(e, artifacts))
		}
	}
}

// holdsFound reports whether a checkpoint contains the files that a resumed run found.
func holdsFound(e state.CheckpointCreated) bool {
	beginning := e.Trigger == state.TriggerStart || e.Trigger == state.TriggerPhaseTransition
	return beginning && e.Reason != "" && !e.Uncaptured
}

// whereFound returns what the run found, and which checkpoint contains that.
func whereFound(e state.CheckpointCreated) string {
	are := "they are"
	if strings.HasPrefix(string(e.Reason), "1 ") {
		are = "it is"
	}
	return fmt.Sprintf("%s; %s in checkpoint %s", e.Reason, are, e.ID)
}

// contents returns the number of artifacts that were created or changed since the last checkpoint
// that was shown, and the commit of git. It does not count the checkpoint's files, which are those
// of the whole workspace.
func contents(e state.CheckpointCreated, artifacts int) string {
	var parts []string
	if artifacts > 0 {
		parts = append(parts, Plural(artifacts, "artifact")+" made or changed")
	}
	if e.Git != nil && e.Git.Commit != "" {
		parts = append(parts, "git HEAD "+ShortCommit(e.Git.Commit))
	}
	s := strings.Join(parts, ", ")
	if e.Uncaptured {
		s = strings.TrimPrefix(s+"; the workspace is not captured with it", "; ")
	}
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func (v *plain) phaseTitle(name string) string {
	if n := v.numbers[name]; n > 0 {
		return fmt.Sprintf("Phase %d of %d: %s", n, len(v.numbers), Named(name, v.phases[name]))
	}
	return "Phase: " + name
}

func processes(e state.ProcessesEnded) string {
	list := make([]string, len(e.Processes))
	for i, p := range e.Processes {
		list[i] = strings.TrimSpace(strconv.Itoa(p.PID) + " " + string(p.Command))
	}
	s := "ended " + Plural(len(list), "process that was left behind")
	if len(list) != 1 {
		s = fmt.Sprintf("ended %d processes that were left behind", len(list))
	}
	if e.Workstream != "" {
		s += " by " + e.Workstream
	}
	return s + ": " + strings.Join(list, "; ")
}

func attempt(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf("attempt %d", n)
}

func byWhom(a state.Actor) string {
	if a.User == "" {
		return ""
	}
	return " by " + a.User
}

func resolver(e state.WorkstreamResolved) string {
	if e.Verified {
		return " by its verify command"
	}
	return byWhom(e.By)
}

func approvers(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "by " + strings.Join(names, " or ")
}

func textPaths(list []state.Text) []string {
	s := make([]string, len(list))
	for i, p := range list {
		s[i] = string(p)
	}
	return s
}

// artifactPaths returns the paths of artifacts if they are few.
func artifactPaths(list []state.Artifact) []string {
	if len(list) > 5 {
		return []string{fmt.Sprintf("%d files", len(list))}
	}
	s := make([]string, len(list))
	for i, a := range list {
		s[i] = string(a.Path)
	}
	return s
}

// formatValue formats the value of a metric.
func formatValue(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
