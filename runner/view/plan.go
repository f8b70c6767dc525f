package view

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// WritePlan prints a plan: every step with its decision and reason, the changes, and the
// counts.
func WritePlan(w io.Writer, plan *plan.Plan, color bool) error {
	p := page{color: color}
	p.printf("%s", p.paint(bold, Named(plan.PRD, plan.Title)))
	switch {
	case plan.Imported:
		p.printf("  a new session that begins from the document %s.json", plan.PRD)
		if plan.ResumeFrom > 0 {
			p.printf(", from Phase %d", plan.ResumeFrom)
		}
		p.printf("\n")
	case plan.BeginsFrom != nil:
		p.printf("  a new session that begins from session %s, complete since %s", plan.Session, plan.BeginsFrom.At.UTC().Format("2006-01-02 15:04 UTC"))
		if plan.ResumeFrom > 0 {
			p.printf(", from Phase %d", plan.ResumeFrom)
		}
		p.printf("\n")
	case plan.Follows != nil:
		p.printf("  a new session, from the beginning; --resume continues from session %s of %s\n", plan.Follows.Session, plan.Follows.At.UTC().Format("2006-01-02 15:04 UTC"))
	case plan.Session == "":
		p.printf("  a first run\n")
	case plan.ResumeFrom > 0:
		p.printf("  from Phase %d, session %s at %d\n", plan.ResumeFrom, plan.Session, plan.Seq)
	default:
		p.printf("  session %s at %d\n", plan.Session, plan.Seq)
	}
	if r := plan.Review; r != nil {
		p.printf("\n%s  attempt %d: %s, %s\n", p.paint(bold, "Review"), r.Attempt, r.Decision, OneLine(string(r.Reason)))
	}
	for _, phase := range plan.Phases {
		p.printf("\n%s%s\n", p.paint(bold, fmt.Sprintf("Phase %d: %s", phase.Number, Named(phase.Name, phase.Title))), repeats(phase.Repeat)+runsOn(phase.RunOn))
		if err := writeSteps(&p, phase.Steps, plan.OnConflict); err != nil {
			return err
		}
	}
	writeMoved(&p, plan.ChangedFiles)
	for _, c := range plan.Conflicts {
		p.printf("\n%s %s of %s was edited: %s → %s\n", p.paint(yellow, "!"), c.Path, c.Workstream, ShortDigest(c.Recorded), conflictSummary(c))
	}
	if plan.Refused != "" {
		p.printf("\n%s A build %s to begin: %s\n", p.paint(yellow, "!"), refuses(plan.OnConflict), plan.Refused)
	}
	for _, s := range plan.Stale {
		p.printf("\n")
		writeStale(&p, s)
	}
	if plan.IssueChange != "" {
		p.printf("\n%s %s\n", p.paint(yellow, "!"), OneLine(string(plan.IssueChange)))
	}
	for _, warning := range plan.Warnings {
		p.printf("\n%s %s\n", p.paint(yellow, "!"), warning)
	}
	p.printf("\n%s\n", Counts(plan))
	_, err := w.Write(p.Bytes())
	return err
}

// runsOn describes when a phase runs, "" if it runs after phases that have passed.
func runsOn(on pipeline.RunOn) string {
	switch on {
	case pipeline.RunOnFailed:
		return "  if a phase before it fails"
	case pipeline.RunOnAlways:
		return "  also if a phase before it fails"
	case pipeline.RunOnSucceeded:
	}
	return ""
}

// repeats describes how often a phase may run, "" if it runs once.
func repeats(r *plan.Repeat) string {
	if r == nil {
		return ""
	}
	until := r.Until
	if until == "" {
		until = "everything passes"
	}
	return fmt.Sprintf("  iteration %d of at most %d, until %s", r.Iteration, r.Max, OneLine(until))
}

// refuses returns how a build treats edits that the user has not decided about.
func refuses(choice plan.OnConflict) string {
	if choice == plan.ConflictAsk || choice == "" {
		return "asks, or refuses"
	}
	return "refuses"
}

// writeMoved lists the files that changed after the last run, because the user often
// repairs them by hand.
func writeMoved(p *page, moved []plan.ChangedFile) {
	if len(moved) == 0 {
		return
	}
	p.printf("\nChanged since the last run:\n")
	for i, m := range moved {
		if i == maxListed {
			p.printf("  … and %d more\n", len(moved)-maxListed)
			return
		}
		p.printf("  %s %s\n", painted(m.Kind), m.Path)
	}
}

func conflictSummary(c plan.Conflict) string {
	if c.Found == "" {
		return "missing"
	}
	return ShortDigest(c.Found)
}

func writeSteps(p *page, steps []plan.Step, choice plan.OnConflict) error {
	// Tabwriter counts escape sequences as width, so that the table has no colour.
	tw := tabwriter.NewWriter(&p.Buffer, 0, 0, 2, ' ', 0)
	said := sameReasons{}
	for _, s := range steps {
		name := Named(s.Name, s.Title)
		if s.Calls != "" {
			name += " (calls " + s.Calls + ")"
		}
		if s.Kind == plan.GateStep {
			name = "  " + s.Name
		}
		reason := string(s.Reason)
		if len(s.On) > 0 && !strings.Contains(reason, s.On[0]) {
			reason += "; after " + strings.Join(s.On, ", ")
		}
		switch s.Called {
		case plan.Continues:
			reason += "; the called pipeline goes on"
		case plan.BeginsNew:
			reason += "; the called pipeline begins anew"
		}
		if s.Isolate != "" && (s.Decision == plan.Run || s.Decision == plan.Rerun) {
			reason += "; in a work tree"
		}
		if s.Cached != nil {
			reason += "; " + resultOf(s.Cached)
		}
		if s.Refused != "" {
			reason += "; a build " + refuses(choice)
		}
		if first := said.firstWith(s); first != "" {
			reason, s.Changes = reason+", as of "+first, nil
		}
		fmt.Fprintf(tw, "  %s\t%s\t%s\n", s.Decision, OneLine(name), OneLine(reason))
		for _, c := range s.Changes {
			fmt.Fprintf(tw, "  \t\t  %s\n", OneLine(Difference(c)))
		}
	}
	return tw.Flush()
}

// Beginning returns where a plan begins, and its counts: Phase 1: WS1 (5 workstreams: 1
// reuse, 4 run).
func Beginning(planned *plan.Plan) string {
	for _, phase := range planned.Phases {
		for _, s := range phase.Steps {
			if s.Decision != plan.Reuse && s.Decision != plan.Skipped {
				return OneLine(fmt.Sprintf("Phase %d: %s (%s)", phase.Number, s.Name, Counts(planned)))
			}
		}
	}
	return Counts(planned)
}

// Counts returns the counts of a plan: 5 workstreams: 1 reuse, 4 run.
func Counts(planned *plan.Plan) string {
	decisions := []plan.Decision{
		plan.Reuse, plan.Cached, plan.Run, plan.Rerun, plan.Judge, plan.Depends, plan.Blocked, plan.Uncertain, plan.Skipped,
	}
	total := 0
	var parts []string
	for _, d := range decisions {
		if n := planned.Count(d); n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, d))
		}
	}
	if total == 0 {
		return "no workstreams"
	}
	return Plural(total, "workstream") + ": " + strings.Join(parts, ", ")
}
