package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
	"prdrunner/runner/why"
)

// Why shows why a workstream or gate ran, and what the next build does with it; of one that runs, only
// since when and why.
func Why(w io.Writer, cmdline advice.CommandLine, now time.Time, r info.WhyReport, next []advice.Suggestion) error {
	p := newPage(w)
	p.title("", view.Named(r.Name, r.Title))
	last := "Last run"
	if r.Kind == plan.GateStep {
		last = "Last verdict"
	}
	switch {
	case r.Now != nil:
		p.facts(fact("Now", describeNow(now, r.Now)))
		last = "Why"
	case r.Running && r.Outdated != "":
		p.facts(factIn(view.Yellow, "Outdated", r.Outdated+"; this build decides later about "+r.Name), fact(last, describeRun(now, r.Last)))
	case r.Kept != nil && r.Running:
		p.facts(factIn(view.Yellow, "Not started", r.Kept.Chain()), fact(last, describeRun(now, r.Last)))
	case r.Kept != nil:
		p.facts(factIn(view.Yellow, "Not started", r.Kept.Chain()), factIn(styleOfDecision(r.Next), "Next build", string(r.Chain)), fact(last, describeRun(now, r.Last)))
	default:
		p.facts(factIn(styleOfDecision(r.Next), "Next build", string(r.Chain)), fact(last, describeRun(now, r.Last)))
	}
	if r.Now == nil && r.Kept != nil && branches(r.Kept) {
		p.heading("Not started")
		p.cause(r.Kept, "  ")
	}
	if goesOn := r.Running && (r.Now != nil || r.Kept != nil || r.Outdated != ""); !goesOn && tells(r.Next) {
		p.heading("Next build")
		p.cause(r.Next, "  ")
	}
	if r.Last != nil {
		p.heading(last)
		p.cause(r.Last.Cause, "  ")
	}
	if len(next) > 0 {
		p.heading("Next")
		p.commands(cmdline, next...)
	}
	return p.end()
}

// describeNow says what a step does now, and since when.
func describeNow(now time.Time, n *why.Now) string {
	parts := []string{n.Does}
	if !n.Since.IsZero() {
		parts[0] += " since " + info.When(now, n.Since)
	}
	if n.Attempt > 1 {
		parts = append(parts, "attempt "+strconv.Itoa(n.Attempt))
	}
	switch {
	case n.Until.IsZero():
	case n.Until.After(now):
		parts = append(parts, "in "+view.Duration(n.Until.Sub(now)))
	default:
		parts = append(parts, "due")
	}
	return strings.Join(parts, ", ")
}

// tells reports whether a cause says more than its chain.
func tells(c *why.Cause) bool { return len(c.Changes)+len(c.Because) > 0 }

// branches reports whether a cause has more behind it than its chain says.
func branches(c *why.Cause) bool {
	return len(c.Because) > 1 || len(c.Because) == 1 && branches(c.Because[0])
}

func styleOfDecision(c *why.Cause) view.Style {
	switch c.Decision {
	case plan.Blocked, plan.Uncertain:
		return view.Yellow
	case plan.Reuse:
		return view.Green
	case plan.Skipped:
		return view.Dim
	case plan.Run, plan.Rerun, plan.Cached, plan.Judge, plan.Depends:
	}
	return view.None
}

// describeRun says when a run began and how it ended; of a gate, when it was judged or answered.
func describeRun(now time.Time, r *why.Run) string {
	if r == nil {
		return "none in this session"
	}
	began, ended := "at a time that is no longer on record", view.OneLine(string(r.Ended))
	if !r.At.IsZero() {
		began = info.When(now, r.At)
	}
	switch {
	case r.Asked && ended == "":
		return "none; asked " + began
	case r.Asked && !r.EndedAt.IsZero():
		return ended + ", " + info.When(now, r.EndedAt) + ", asked " + began
	}
	parts := []string{began}
	if r.Attempt > 1 {
		parts = append(parts, "attempt "+strconv.Itoa(r.Attempt))
	}
	if ended != "" {
		parts = append(parts, ended)
	}
	return strings.Join(parts, ", ")
}

// cause writes a cause, what changed, and the causes behind it.
func (p *page) cause(c *why.Cause, indent string) {
	p.Printf("%s%s %s", view.Painted(indent), p.Paint(view.Bold, c.Name), c.Does)
	switch {
	case c.Above:
		p.Printf(" (see above)")
	case c.Reason != "":
		p.Printf(": %s", c.Reason)
	}
	p.Printf("\n")
	for i, change := range c.Changes {
		if i == mostChanges {
			p.Printf("%s%s\n", view.Painted(indent+"  "), p.Paint(view.Dim, fmt.Sprintf("… and %d more changes; --json has all", len(c.Changes)-i)))
			break
		}
		p.change(change, indent+"  ")
	}
	for _, b := range c.Because {
		p.cause(b, indent+"  ")
	}
}

// mostChanges is how many changes of a cause are shown.
const mostChanges = 20

// mostDifferent is how many lines are shown of the difference of a file.
const mostDifferent = 40

// change writes a change with its difference.
func (p *page) change(c why.Change, indent string) {
	counts := ""
	if c.Added+c.Deleted > 0 {
		counts = fmt.Sprintf("  +%d −%d lines", c.Added, c.Deleted)
	}
	if long := oldAndNew(c.Change); len(long) > 0 {
		p.Printf("%s%s\n", view.Painted(indent), strings.TrimSpace(c.Component+" "+string(c.Name)))
		p.difference(long, indent+"  ")
		return
	}
	p.Printf("%s%s%s\n", view.Painted(indent), view.Difference(c.Change), p.Paint(view.Dim, counts))
	p.difference(strings.Split(strings.TrimRight(string(c.Difference), "\n"), "\n"), indent+"  ")
}

func (p *page) difference(lines []string, indent string) {
	for i, line := range lines {
		switch {
		case line == "", i < 2 && (strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")): // the name is above it
			continue
		case i == mostDifferent:
			p.Printf("%s%s\n", view.Painted(indent), p.Paint(view.Dim, fmt.Sprintf("… and %d more lines; --json has all", len(lines)-i)))
			return
		}
		p.Printf("%s%s\n", view.Painted(indent), p.Paint(styleOfDifference(line), line))
	}
}

// shortText is the length up to which old and new text stand in one line.
const shortText = 60

// oldAndNew returns the difference between two texts, line by line. It returns nil if both fit into
// one line, or if one of them is not on record.
func oldAndNew(c plan.Change) []string {
	if c.OldText == "" || c.NewText == "" || len(c.OldText)+len(c.NewText) <= shortText {
		return nil
	}
	was, is := linesOf(string(c.OldText)), linesOf(string(c.NewText))
	same := 0
	for same < len(was) && same < len(is) && was[same] == is[same] {
		same++
	}
	was, is = was[same:], is[same:]
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	var lines []string
	for _, line := range was {
		lines = append(lines, "- "+line)
	}
	for _, line := range is {
		lines = append(lines, "+ "+line)
	}
	return lines
}

// linesOf returns the lines of a text, which may be quoted.
func linesOf(text string) []string {
	if plain, err := strconv.Unquote(text); err == nil {
		text = plain
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}
