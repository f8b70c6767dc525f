package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
)

// event prints what one event means to a person: a long switch with a case
// for each kind. What begins, and what only the next event completes, is
// shown when the view is verbose.
func (v *plain) event(at time.Time, e checkpoint.Event) {
	switch e := e.(type) {
	case checkpoint.PhaseStarted:
		v.start(e.Phase, at)
		v.page.printf("\n%s\n", v.page.paint(bold, v.phase(e.Phase)))
	case checkpoint.PhaseCompleted:
		delete(v.began, e.Phase)
		v.done("", "phase "+e.Phase, millis(e.DurationMS))
	case checkpoint.PhaseSkipped:
		v.passed("", "phase "+e.Phase+" skipped", string(e.Reason))
	case checkpoint.PauseAsked:
		v.asked("pause requested"+byWhom(e.By), string(e.Reason))
	case checkpoint.ProcessesEnded:
		v.asked(processes(e))
	case checkpoint.CheckpointCreated:
		v.checkpoint(e)
	case checkpoint.CheckpointsRemoved:
		if v.verbose {
			v.passed("", Plural(len(e.IDs), "checkpoint")+" removed", string(e.Reason))
		}
	case checkpoint.ArtifactsRestored:
		v.done("  ", v.name(e.Workstream)+" has its artifacts back", "", paths(e.Paths)...)
	case checkpoint.WorkspaceCaptured:
		if v.verbose {
			v.passed("", "captured "+Plural(e.Files, "file"))
		}
	case checkpoint.CheckpointSkipped:
		what := Plural(len(e.IDs), "checkpoint") + " skipped"
		if len(e.IDs) == 0 {
			what = "not written, and skipped"
		}
		v.asked(what, string(e.Error))
	case checkpoint.SessionStarted, checkpoint.SessionResumed, checkpoint.SessionPaused, checkpoint.SessionFailed,
		checkpoint.SessionInterrupted, checkpoint.SessionCompleted, checkpoint.SessionAbandoned, checkpoint.SessionAdopted, checkpoint.HooksDue, checkpoint.HookEnded,
		checkpoint.ActsRemembered:
		// Begin and End tell these, with more than the event knows.
	default:
		if !v.workstream(at, e) {
			v.gate(at, e)
		}
	}
}

// workstream reports whether the event was a workstream's.
func (v *plain) workstream(at time.Time, e checkpoint.Event) bool {
	switch e := e.(type) {
	case checkpoint.WorkstreamStarted:
		v.start(e.Workstream, at)
		if v.verbose {
			v.passed("  ", v.name(e.Workstream)+" started", attempt(e.Attempt))
		}
	case checkpoint.WorkstreamAttemptFailed:
		v.asked(fmt.Sprintf("%s attempt %d failed", e.Workstream, e.Attempt),
			location(e.Error)+string(e.Error.Message), "again in "+millis(e.RetryInMS))
	case checkpoint.WorkstreamSucceeded:
		delete(v.began, e.Workstream)
		v.work[e.Workstream] = howMade(e.Work)
		if v.verbose {
			did := " worked "
			if e.Work.Cached != nil {
				did = " takes the "
			}
			v.passed("  ", v.name(e.Workstream)+did+howMade(e.Work), "its gates come next")
		}
	case checkpoint.WorkstreamCompleted:
		v.completed(e)
	case checkpoint.WorkstreamFailed:
		v.failed(v.name(e.Workstream), v.took(e.Workstream, at), e.Error)
	case checkpoint.WorkstreamInterrupted:
		v.took(e.Workstream, at)
		v.passed("  ", v.name(e.Workstream)+" interrupted", attempt(e.Attempt))
	case checkpoint.WorkstreamUncertain:
		v.took(e.Workstream, at)
		v.asked(v.name(e.Workstream)+" is uncertain", string(e.Error.Message))
	case checkpoint.WorkstreamResolved:
		v.done("  ", fmt.Sprintf("%s resolved as %s%s", v.name(e.Workstream), e.Resolution, resolver(e)), "", string(e.Reason))
	case checkpoint.WorkstreamSkipped:
		v.passed("  ", v.name(e.Workstream)+" skipped", string(e.Reason))
	case checkpoint.WorkstreamInvalidated:
		if v.verbose || !v.told[e.Workstream] {
			v.passed("  ", v.name(e.Workstream)+" will run again", string(e.Reason))
		}
	case checkpoint.WorkstreamEdited:
		if len(e.Edited) == 0 { // nobody saw what it made
			v.passed("  ", "artifacts of "+v.name(e.Workstream)+" are recorded as they are", recorded(e.Artifacts)...)
			break
		}
		v.passed("  ", v.name(e.Workstream)+" keeps edited artifacts", paths(e.Edited)...)
	default:
		return false
	}
	return true
}

func (v *plain) completed(e checkpoint.WorkstreamCompleted) {
	made, summary := v.work[e.Workstream], ""
	if e.Work != nil {
		made, summary = howMade(*e.Work), string(e.Work.Summary)
	}
	delete(v.work, e.Workstream)
	delete(v.began, e.Workstream)
	v.finished++
	v.done("  ", v.name(e.Workstream), made, summary)
}

// howMade says how long work took, or which earlier run its result is of.
func howMade(work checkpoint.Work) string {
	if c := work.Cached; c != nil {
		return resultOf(c)
	}
	return millis(work.DurationMS)
}

// resultOf names the run whose result was taken, or is.
func resultOf(c *checkpoint.Cached) string {
	return fmt.Sprintf("result of session %s of %s", state.ShortSession(c.Session), c.At.UTC().Format("2006-01-02 15:04 UTC"))
}

func (v *plain) gate(at time.Time, e checkpoint.Event) {
	switch e := e.(type) {
	case checkpoint.GateStarted:
		v.start(e.Gate, at)
		if v.verbose {
			v.passed("  ", e.Gate+" is being judged")
		}
	case checkpoint.GatePassed:
		delete(v.began, e.Gate)
		review := ""
		if e.Review {
			review = "waits for review"
		}
		v.done("  ", e.Gate+" passed", millis(e.DurationMS), value(e.Value), review)
	case checkpoint.GateFailed:
		delete(v.began, e.Gate)
		v.shown[e.Gate] = true
		v.failed(e.Gate, millis(e.DurationMS), e.Error)
	case checkpoint.GateAsked:
		v.asked(e.Gate+" waits for approval", string(e.Message), approvers(e.Approvers))
	case checkpoint.GateApproved:
		v.done("  ", e.Gate+" approved"+byWhom(e.By), "", string(e.Comment))
	case checkpoint.GateRejected:
		v.line("  ", v.page.paint(red, "✗"), e.Gate+" rejected"+byWhom(e.By), "", string(e.Reason))
	case checkpoint.GateReviewed:
		v.done("  ", e.Gate+" reviewed"+byWhom(e.By), "", string(e.Comment))
	case checkpoint.GateSkipped:
		v.passed("  ", e.Gate+" skipped", string(e.Reason))
	case checkpoint.GateVoided:
		if v.verbose || !v.told[e.Gate] {
			v.passed("  ", e.Gate+" will be judged again", string(e.Reason))
		}
	}
}

// frequent tells the checkpoints that come with every workstream or gate, so
// that ten thousand workstreams don't print thirty thousand lines.
func frequent(t checkpoint.Trigger) bool {
	return t == checkpoint.TriggerWorkstreamComplete || t == checkpoint.TriggerBatchComplete || t == checkpoint.TriggerGatePassed
}

// checkpoint prints a checkpoint with what is known of it.
func (v *plain) checkpoint(e checkpoint.CheckpointCreated) {
	if v.verbose || !frequent(e.Trigger) {
		mark := v.page.paint(green, "✓")
		if e.Uncaptured {
			mark = v.page.paint(yellow, "!")
		}
		if holdsFound(e) {
			v.page.printf("%s %s\n", mark, whereFound(e))
		} else {
			v.page.printf("%s checkpoint %s%s\n", mark, e.ID, contents(e))
		}
	}
}

// holdsFound reports whether a checkpoint was made of the files that a resumed run found.
func holdsFound(e checkpoint.CheckpointCreated) bool {
	beginning := e.Trigger == checkpoint.TriggerStart || e.Trigger == checkpoint.TriggerPhaseTransition
	return beginning && e.Reason != "" && !e.Uncaptured
}

// whereFound says which checkpoint that is.
func whereFound(e checkpoint.CheckpointCreated) string {
	are := "they are"
	if strings.HasPrefix(string(e.Reason), "1 ") {
		are = "it is"
	}
	return fmt.Sprintf("%s; %s in checkpoint %s", e.Reason, are, e.ID)
}

// contents says what is known of a checkpoint, behind its name: how many artifacts its
// step made or changed, and where git stands. Its files are those of the whole workspace.
func contents(e checkpoint.CheckpointCreated) string {
	var parts []string
	if n := e.Created + e.Modified; n > 0 {
		parts = append(parts, Plural(n, "artifact")+" made or changed")
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

func (v *plain) phase(name string) string {
	if n := v.numbers[name]; n > 0 {
		return fmt.Sprintf("Phase %d of %d: %s", n, len(v.numbers), Named(name, v.phases[name]))
	}
	return "Phase: " + name
}

func processes(e checkpoint.ProcessesEnded) string {
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

func byWhom(a checkpoint.Actor) string {
	if a.User == "" {
		return ""
	}
	return " by " + a.User
}

func resolver(e checkpoint.WorkstreamResolved) string {
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

func paths(list []checkpoint.Text) []string {
	s := make([]string, len(list))
	for i, p := range list {
		s[i] = string(p)
	}
	return s
}

// recorded are the paths of artifacts, where these are few.
func recorded(list []checkpoint.Artifact) []string {
	if len(list) > 5 {
		return []string{fmt.Sprintf("%d files", len(list))}
	}
	s := make([]string, len(list))
	for i, a := range list {
		s[i] = string(a.Path)
	}
	return s
}

// value prints what a metric was.
func value(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
