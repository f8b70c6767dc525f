package show

import (
	"fmt"
	"io"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// Validation shows the result of checking checkpoints, and what helps against damage.
func Validation(w io.Writer, cmdline advice.CommandLine, v *validate.Validation, marks *validate.Marks) error {
	b := newPage(w)
	for i := range v.Sessions {
		writeValidSession(b, cmdline, &v.Sessions[i])
	}
	valid, invalid := v.Count()
	b.Printf("%s\n- Valid: %d\n- Invalid: %d\n", b.Paint(view.Bold, "Summary:"), valid, invalid)
	if marks != nil {
		for _, id := range marks.Marked {
			fmt.Fprintf(b, "- Marked as damaged: %s\n", id)
		}
		for _, id := range marks.Unmarked {
			fmt.Fprintf(b, "- No longer marked: %s\n", id)
		}
	}
	for i := range v.Sessions {
		if v.Sessions[i].Unread() == nil { // an unreadable session need not be damaged
			writeRecovery(b, cmdline, &v.Sessions[i])
		}
	}
	return b.end()
}

func writeValidSession(b *page, cmdline advice.CommandLine, s *validate.SessionCheck) {
	name := cmdline.Display(s.Dir)
	if s.State != nil {
		name = state.ShortSession(s.State.Session)
	}
	b.title("", "Validation of "+s.PRD)
	journal := "✓"
	if d := s.Journal; d != nil {
		journal = fmt.Sprintf("✗ %s: %s", damagePlace(cmdline, d), d.Detail)
	}
	facts := []info.Fact{fact("Session", fmt.Sprintf("%s (%s)", name, s.Place)), factIn(styleOfMark(journal), "Journal", journal)}
	for _, d := range s.Derived {
		facts = append(facts, factIn(view.Red, "Derived", fmt.Sprintf("✗ %s: %s; %s", damagePlace(cmdline, d), d.Detail, d.Remedy)))
	}
	intact := ""
	if s.Journal != nil {
		intact = "; these files of checkpoints are intact"
	}
	b.facts(append(facts, fact("Checkpoints", fmt.Sprintf("%d%s", len(s.Checkpoints), intact)))...)
	b.Printf("\n")
	if len(s.Checkpoints) == 0 {
		return
	}
	rows := [][]view.Cell{cells("CHECKPOINT ID", "FILE", "HASH", "STATE", "OBJECTS", "GIT", "OVERALL")}
	for i := range s.Checkpoints {
		c := &s.Checkpoints[i]
		overall := "✓"
		if !c.Whole() {
			overall = "✗"
		}
		rows = append(rows, cells(c.Ref.ID, findingMark(c.File), findingMark(c.Hash), findingMark(c.Schema), findingMark(c.Objects), findingMark(c.Git), overall))
	}
	b.Table("", rows)
	b.WriteString("\n")
	writeProblems(b, s)
}

// lastValid names the last valid checkpoint.
func lastValid(last *state.CheckpointRef) info.Fact {
	if last == nil {
		return fact("Last valid checkpoint", "none")
	}
	return fact("Last valid checkpoint", fmt.Sprintf("%s (step %s)", last.ID, stepLabel(last)))
}

// cells returns a row of a table. Marks are painted.
func cells(texts ...string) []view.Cell {
	row := make([]view.Cell, len(texts))
	for i, text := range texts {
		row[i] = view.Cell{Text: text, Style: styleOfMark(text)}
	}
	return row
}

// findingMark returns a finding as tables show it.
func findingMark(f validate.Finding) string {
	switch f {
	case validate.FoundOK:
		return "✓"
	case validate.FoundBad:
		return "✗"
	case validate.FoundNone:
		return "-"
	case validate.FoundUnknown:
	}
	return "?"
}

// repeatedText replaces a text that repeats the previous one by "same as above", for
// lists of many checkpoints.
type repeatedText struct{ last string }

func (l *repeatedText) orSame(text string) string {
	if text == l.last {
		return "same as above"
	}
	l.last = text
	return text
}

func writeProblems(b *page, s *validate.SessionCheck) {
	lines := 0
	var texts repeatedText
	for i := range s.Checkpoints {
		c := &s.Checkpoints[i]
		for _, problem := range c.Problems {
			fmt.Fprintf(b, "✗ %s: %s\n", c.Ref.ID, view.OneLine(texts.orSame(problem)))
			lines++
		}
		for _, note := range c.Notes {
			fmt.Fprintf(b, "- %s: %s\n", c.Ref.ID, view.OneLine(note))
			lines++
		}
	}
	if lines > 0 {
		b.WriteString("\n")
	}
}

// damagePlace returns the file and the line of the damage.
func damagePlace(cmdline advice.CommandLine, d *state.DamagedError) string {
	if d.Line == 0 {
		return cmdline.Display(d.Path)
	}
	return fmt.Sprintf("%s, line %d", cmdline.Display(d.Path), d.Line)
}

// writeRecovery lists what the user can do about damage to the current session.
func writeRecovery(b *page, cmdline advice.CommandLine, s *validate.SessionCheck) {
	if s.Place != disk.PlaceCurrent {
		return
	}
	var bad *validate.CheckpointCheck
	for i := range s.Checkpoints {
		if !s.Checkpoints[i].Whole() {
			bad = &s.Checkpoints[i]
		}
	}
	if bad == nil && s.Journal == nil {
		return
	}
	last := s.LastValid()
	b.Printf("\n")
	if bad != nil {
		b.title("✗", "Checkpoint damaged: "+bad.Ref.ID)
		b.facts(factIn(view.Red, "Reason", bad.Reason()), lastValid(last))
	} else {
		b.title("✗", "Journal damaged")
		b.facts(lastValid(last))
	}
	b.heading("Options")
	b.commands(cmdline, recoveryCommands(s, bad, last)...)
}

func recoveryCommands(s *validate.SessionCheck, bad *validate.CheckpointCheck, last *state.CheckpointRef) []advice.Suggestion {
	if s.Journal != nil && s.Journal.Lost {
		return []advice.Suggestion{advice.Suggest("abandon "+s.PRD, "archive what is left, and start over")}
	}
	if s.Journal != nil {
		return []advice.Suggestion{
			advice.Suggest("checkpoint rebuild "+s.PRD+" --journal", "start a new journal from the newest intact state"),
			advice.Suggest("abandon "+s.PRD, "archive all of it, and start over"),
		}
	}
	return advice.Damaged(s.State, bad.Ref.ID, last)
}

// Damage reports a damaged checkpoint. last is the last valid one, nil if there is
// none.
func Damage(w io.Writer, cmdline advice.CommandLine, st *state.State, id, reason string, last *state.CheckpointRef) error {
	b := newPage(w)
	b.title("✗", "Checkpoint damaged: "+id)
	b.facts(factIn(view.Red, "Reason", reason), lastValid(last))
	b.heading("Options")
	b.commands(cmdline, advice.Damaged(st, id, last)...)
	return b.end()
}
