package view

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// PlanOptions says how a plan is shown.
type PlanOptions struct {
	Color bool
	// Columns is the width of the terminal, as in Page.
	Columns int
	Rows    int    // of the screen; a plan with more has what is kept or skipped as counts. 0: it shows all
	All     string // the command that shows all
	// Neutral removes the commands of a CI system from a text. nil: texts are printed unchanged.
	Neutral func(text string) string
}

// WritePlan prints a plan: every step with its decision and reason, the changes, and the
// counts.
func WritePlan(w io.Writer, plan *plan.Plan, o PlanOptions) error {
	p := Page{Columns: o.Columns, color: o.Color, neutral: o.Neutral}
	writePlan(&p, plan, nil)
	if o.Rows > 0 && bytes.Count(p.Bytes(), []byte("\n")) > o.Rows {
		p.Reset()
		folded := 0
		writePlan(&p, plan, &folded)
		if folded > 0 && o.All != "" {
			p.Printf("%s\n", p.Paint(Dim, fmt.Sprintf("%s that are kept or skipped are counted; `%s` lists them", Plural(folded, "step"), o.All)))
		}
	}
	_, err := w.Write(p.Bytes())
	return err
}

// writePlan prints a plan. If folded is not nil, it counts in it the steps that are not listed.
func writePlan(p *Page, plan *plan.Plan, folded *int) {
	p.Printf("%s", p.Paint(Bold, Named(plan.PRD, plan.Title)))
	switch {
	case plan.Imported:
		p.Printf("  a new session that begins from the document %s.json", plan.PRD)
		if plan.ResumeFrom > 0 {
			p.Printf(", from Phase %d", plan.ResumeFrom)
		}
		p.Printf("\n")
	case plan.BeginsFrom != nil:
		p.Printf("  a new session that begins from session %s, complete since %s", state.ShortSession(plan.Session), plan.BeginsFrom.At.UTC().Format("2006-01-02 15:04 UTC"))
		if plan.ResumeFrom > 0 {
			p.Printf(", from Phase %d", plan.ResumeFrom)
		}
		p.Printf("\n")
	case plan.Follows != nil:
		p.Printf("  a new session, from the beginning; --resume continues from session %s of %s\n", state.ShortSession(plan.Follows.Session), plan.Follows.At.UTC().Format("2006-01-02 15:04 UTC"))
	case plan.Session == "":
		p.Printf("  a first run\n")
	case plan.ResumeFrom > 0:
		p.Printf("  continues session %s from Phase %d\n", state.ShortSession(plan.Session), plan.ResumeFrom)
	default:
		p.Printf("  continues session %s\n", state.ShortSession(plan.Session))
	}
	if r := plan.Review; r != nil {
		p.Printf("\n%s  attempt %d: %s, %s\n", p.Paint(Bold, "Review"), r.Attempt, r.Decision, OneLine(string(r.Reason)))
	}
	for _, phase := range plan.Phases {
		p.Printf("\n%s%s\n", p.Paint(Bold, fmt.Sprintf("Phase %d: %s", phase.Number, Named(phase.Name, phase.Title))), repeats(phase.Repeat)+runsOn(phase.RunOn))
		writeSteps(p, phase.Steps, plan.OnConflict, folded)
	}
	writeMoved(p, plan.ChangedFiles)
	for _, c := range plan.Conflicts {
		p.Printf("\n%s %s of %s was edited: %s → %s\n", p.Paint(Yellow, "!"), c.Path, c.Workstream, ShortDigest(c.Recorded), conflictSummary(c))
	}
	if plan.Refused != "" {
		p.Printf("\n%s A build %s to begin: %s\n", p.Paint(Yellow, "!"), refuses(plan.OnConflict), plan.Refused)
	}
	for _, s := range plan.Stale {
		p.Printf("\n")
		writeStale(p, s)
	}
	if plan.IssueChange != "" {
		p.Printf("\n%s %s\n", p.Paint(Yellow, "!"), OneLine(string(plan.IssueChange)))
	}
	for _, warning := range plan.Warnings {
		p.Printf("\n%s %s\n", p.Paint(Yellow, "!"), warning)
	}
	p.Printf("\n%s\n", Counts(plan))
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
func writeMoved(p *Page, moved []plan.ChangedFile) {
	if len(moved) == 0 {
		return
	}
	p.Printf("\nChanged since the last run:\n")
	for i, m := range moved {
		if i == maxListed {
			p.Printf("  … and %d more\n", len(moved)-maxListed)
			return
		}
		p.Printf("  %s %s\n", Painted(m.Kind), m.Path)
	}
}

func conflictSummary(c plan.Conflict) string {
	if c.Found == "" {
		return "missing"
	}
	return ShortDigest(c.Found)
}

func writeSteps(p *Page, steps []plan.Step, choice plan.OnConflict, folded *int) {
	var rows [][]Cell
	kept := foldedSteps{}
	said := sameReasons{}
	for _, s := range inOrder(steps) {
		if folded != nil && kept.add(s) {
			*folded++
			continue
		}
		name := Named(s.Name, s.Title)
		if s.Calls != "" {
			name += " (calls " + s.Calls + ")"
		}
		if s.Kind == plan.GateStep {
			name = "  " + s.Name
		}
		reason, changes := reasonOf(s, choice), s.Changes
		if first := said.firstWith(s); first != "" {
			reason, changes = reason+", as of "+first, nil
		}
		style := decisionStyle(s.Decision)
		rows = append(rows, []Cell{{string(s.Decision), style}, {name, dimOnly(style)}, {reason, dimOnly(style)}})
		for _, c := range changes {
			rows = append(rows, []Cell{{}, {}, {Text: "  " + Difference(c)}})
		}
	}
	p.Table("  ", append(rows, kept.rows()...))
}

// reasonOf returns the reason of a step, with what else is to be said of it.
func reasonOf(s plan.Step, choice plan.OnConflict) string {
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
	return reason
}

// decisionStyle returns the style of a decision.
func decisionStyle(d plan.Decision) Style {
	switch d {
	case plan.Reuse, plan.Cached, plan.Skipped:
		return Dim
	case plan.Blocked:
		return Red
	case plan.Uncertain:
		return Yellow
	case plan.Run, plan.Rerun, plan.Judge, plan.Depends:
	}
	return None
}

// dimOnly returns Dim for Dim, and None for any other style.
func dimOnly(s Style) Style {
	if s == Dim {
		return Dim
	}
	return None
}

// inOrder returns the steps of a phase with the instances of a block in natural order, each
// followed by its gates.
func inOrder(steps []plan.Step) []plan.Step {
	var groups [][]plan.Step
	for _, s := range steps {
		last := len(groups) - 1
		if s.Kind == plan.GateStep && last >= 0 && strings.HasSuffix(s.Name, " ("+groups[last][0].Name+")") {
			groups[last] = append(groups[last], s)
		} else {
			groups = append(groups, []plan.Step{s})
		}
	}
	return slices.Concat(InNaturalOrder(groups, func(g []plan.Step) string { return g[0].Name })...)
}

// foldedSteps counts the steps that are not listed, by their decision.
type foldedSteps map[plan.Decision]*Counted

// Counted is a number of workstreams and gates.
type Counted struct{ Workstreams, Gates int }

// String returns the numbers that are not 0.
func (c Counted) String() string {
	var parts []string
	if c.Workstreams > 0 {
		parts = append(parts, Plural(c.Workstreams, "workstream"))
	}
	if c.Gates > 0 {
		parts = append(parts, Plural(c.Gates, "gate"))
	}
	return strings.Join(parts, ", ")
}

// add counts a step, if it is one that is kept or skipped and about which nothing is to be decided.
func (f foldedSteps) add(s plan.Step) bool {
	if s.Decision != plan.Reuse && s.Decision != plan.Skipped || s.Refused != "" || s.Review || s.Failed || len(s.Restores) > 0 {
		return false
	}
	c := f[s.Decision]
	if c == nil {
		c = &Counted{}
		f[s.Decision] = c
	}
	if s.Kind == plan.GateStep {
		c.Gates++
	} else {
		c.Workstreams++
	}
	return true
}

func (f foldedSteps) rows() (rows [][]Cell) {
	for _, d := range []plan.Decision{plan.Reuse, plan.Skipped} {
		if c := f[d]; c != nil {
			rows = append(rows, []Cell{{string(d), Dim}, {"… " + c.String(), Dim}})
		}
	}
	return rows
}

// Beginning returns where a plan begins, and its counts: WS1 in Phase 1: database (5 workstreams:
// 1 reuse, 4 run).
func Beginning(planned *plan.Plan) string {
	for _, phase := range planned.Phases {
		for _, s := range inOrder(phase.Steps) {
			if s.Decision != plan.Reuse && s.Decision != plan.Skipped {
				return OneLine(fmt.Sprintf("%s in Phase %d: %s (%s)", s.Name, phase.Number, Named(phase.Name, phase.Title), Counts(planned)))
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
