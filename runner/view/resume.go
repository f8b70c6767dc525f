package view

import (
	"fmt"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// maxListed is the number of names of a list that are printed.
const maxListed = 40

// writeResume prints where a session continues, what it keeps, what remains, and the reason
// of each step that runs again.
func writeResume(p *Page, planned *plan.Plan) {
	p.Printf("%s\n", p.Paint(Bold, resumeTitle(planned)))
	groups := map[string][]string{}
	for _, phase := range planned.Phases {
		for _, s := range inOrder(phase.Steps) {
			if s.Kind != plan.WorkstreamStep {
				continue
			}
			group := "Pending"
			switch s.Decision {
			case plan.Reuse:
				if group = "Completed"; s.Failed {
					group = "Failed, which is allowed"
				}
			case plan.Skipped:
				group = "Skipped"
			case plan.Run, plan.Rerun, plan.Cached, plan.Judge, plan.Depends, plan.Blocked, plan.Uncertain:
			}
			groups[group] = append(groups[group], Named(s.Name, s.Title))
		}
	}
	for _, group := range []string{"Completed", "Failed, which is allowed", "Skipped", "Pending"} {
		mark := ""
		if group == "Completed" {
			mark = " ✅"
		}
		writeList(p, group, groups[group], mark)
	}
	writeList(p, "Again, and why", reasons(planned), "")
	writeMoved(p, planned.ChangedFiles)
}

func resumeTitle(plan *plan.Plan) string {
	switch {
	case plan.BeginsFrom != nil:
		return fmt.Sprintf("Continuing %s in a new session, which begins from session %s of %s",
			plan.PRD, state.ShortSession(plan.Session), plan.BeginsFrom.At.UTC().Format("2006-01-02 15:04 UTC"))
	case plan.ResumeFrom == 0:
		return "Resuming " + plan.PRD
	}
	return fmt.Sprintf("Resuming %s from Phase %d", plan.PRD, plan.ResumeFrom)
}

func writeList(p *Page, title string, lines []string, mark string) {
	if len(lines) == 0 {
		return
	}
	p.Printf("\n%s:\n", title)
	for i, line := range lines {
		if i == maxListed && len(lines) > maxListed+1 {
			p.Printf("  … and %d more\n", len(lines)-maxListed)
			break
		}
		p.Printf("  %s%s\n", line, Painted(mark))
	}
}

// reasons returns the reason of each step that was done and runs again, or that the user
// must decide about.
func reasons(planned *plan.Plan) []string {
	said, more := sameReasons{}, map[string]int{}
	var steps []plan.Step
	for _, phase := range planned.Phases {
		for _, s := range inOrder(phase.Steps) {
			if !repeatsWork(s) {
				continue
			}
			if first := said.firstWith(s); first != "" {
				more[first]++
				continue
			}
			steps = append(steps, s)
		}
	}
	lines := make([]string, len(steps))
	for i, s := range steps {
		lines[i] = withCount(s.Name, more[s.Name]) + " (" + string(s.Decision) + "): " + because(s)
	}
	return lines
}

// repeatsWork reports whether a step that was done may run again. It is false for a
// workstream that is kept, whose gate gives the reason for its new verdict. Only work that
// was done depends on earlier steps; a gate may have no verdict yet.
func repeatsWork(s plan.Step) bool {
	switch s.Decision {
	case plan.Rerun, plan.Cached, plan.Uncertain:
		return true
	case plan.Judge:
		return s.Kind == plan.GateStep
	case plan.Depends:
		return s.Kind == plan.WorkstreamStep
	case plan.Reuse, plan.Run, plan.Blocked, plan.Skipped:
	}
	return false
}

func because(s plan.Step) string {
	if c := s.Cached; c != nil {
		s.Cached = nil
		return because(s) + "; " + resultOf(c)
	}
	if len(s.Changes) == 0 {
		return string(s.Reason)
	}
	changes := make([]string, 0, 3)
	for i, c := range s.Changes {
		if i == cap(changes) {
			return fmt.Sprintf("%s: %s and %d more", s.Reason, strings.Join(changes, "; "), len(s.Changes)-i)
		}
		changes = append(changes, Difference(c))
	}
	if s.Reason == "" {
		return strings.Join(changes, "; ")
	}
	return string(s.Reason) + ": " + strings.Join(changes, "; ")
}

// Difference returns a change in one line: inputs schema/a.sql 1f2e… → 9c8d….
func Difference(c plan.Change) string {
	s := c.Component
	if c.Name != "" {
		s += " " + string(c.Name)
	}
	switch {
	case c.OldText != "" && c.NewText != "":
		return s + ": " + shortText(c.OldText) + " → " + shortText(c.NewText)
	case c.NewText != "" && (c.Component == "definition" || c.Old == ""):
		return s + " is new: " + shortText(c.NewText)
	case c.OldText != "":
		return s + " is gone: " + shortText(c.OldText)
	case c.NewText != "":
		return s + " is now " + shortText(c.NewText) // the old text is not recorded, or is sensitive
	case c.Component == "definition" && c.Name != "":
		return s + " changed" // both texts are sensitive
	case c.Component == "definition":
		return "definition: its earlier text is not known"
	case c.Old == "" && c.New == "":
		return s
	case c.Old == "":
		return s + " is new (" + ShortDigest(c.New) + ")"
	case c.New == "":
		return s + " is gone (was " + ShortDigest(c.Old) + ")"
	case c.Name == "":
		return "what of " + c.Component + " changed is not known"
	case c.Component == "upstream":
		return s + " gave another result"
	}
	return s + " " + ShortDigest(c.Old) + " → " + ShortDigest(c.New)
}

// maxTextLength is the number of characters that are shown of a changed text.
const maxTextLength = 80

// shortText returns a text in one line, truncated.
func shortText(text state.Text) string {
	runes := []rune(OneLine(string(text)))
	if len(runes) <= maxTextLength {
		return string(runes)
	}
	return string(runes[:maxTextLength]) + "…"
}
