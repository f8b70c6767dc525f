package main

import (
	"fmt"
	"io"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
	"strings"
)

// mark returns a finding as tables show it.
func mark(f validate.Finding) string {
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

func writeValidation(w io.Writer, env *environment, v *validate.Validation, marks *validate.Marks) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nCHECKPOINT VALIDATION\n%s\n", rule, rule)
	for i := range v.Sessions {
		writeValidSession(&b, env, &v.Sessions[i])
	}
	valid, invalid := v.Count()
	fmt.Fprintf(&b, "Summary:\n- Valid: %d\n- Invalid: %d\n", valid, invalid)
	if marks != nil {
		for _, id := range marks.Marked {
			fmt.Fprintf(&b, "- Marked as damaged: %s\n", id)
		}
		for _, id := range marks.Unmarked {
			fmt.Fprintf(&b, "- No longer marked: %s\n", id)
		}
	}
	for i := range v.Sessions {
		if v.Sessions[i].Unread() == nil { // an unreadable session need not be damaged
			writeRecovery(&b, env, &v.Sessions[i])
		}
	}
	fmt.Fprintf(&b, "%s\n", rule)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeValidSession(b *strings.Builder, env *environment, s *validate.SessionCheck) {
	name := env.Display(s.Dir)
	if s.State != nil {
		name = s.State.Session
	}
	fmt.Fprintf(b, "PRD: %s\nSession: %s (%s)\n", s.PRD, view.OneLine(name), s.Place)
	if d := s.Journal; d != nil {
		fmt.Fprintf(b, "Journal: ✗ %s: %s\nCheckpoint files that are intact:\n", at(env, d), view.OneLine(d.Detail))
	} else {
		b.WriteString("Journal: ✓\n")
	}
	for _, d := range s.Derived {
		fmt.Fprintf(b, "Derived: ✗ %s: %s; %s\n", at(env, d), view.OneLine(d.Detail), d.Remedy)
	}
	fmt.Fprintf(b, "Checkpoints: %d\n\n", len(s.Checkpoints))
	if len(s.Checkpoints) == 0 {
		return
	}
	rows := []byte("CHECKPOINT ID\tFILE\tHASH\tSTATE\tOBJECTS\tGIT\tOVERALL\n")
	for i := range s.Checkpoints {
		c := &s.Checkpoints[i]
		overall := "✓"
		if !c.Whole() {
			overall = "✗"
		}
		rows = fmt.Appendf(rows, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", view.OneLine(c.Ref.ID),
			mark(c.File), mark(c.Hash), mark(c.Schema), mark(c.Objects), mark(c.Git), overall)
	}
	align(b, rows)
	b.WriteString("\n")
	writeProblems(b, s)
}

// repeatedText replaces a text that repeats the previous one by "same as above", for lists of
// many checkpoints.
type repeatedText struct{ last string }

func (l *repeatedText) again(text string) string {
	if text == l.last {
		return "same as above"
	}
	l.last = text
	return text
}

func writeProblems(b *strings.Builder, s *validate.SessionCheck) {
	lines := 0
	var said repeatedText
	for i := range s.Checkpoints {
		c := &s.Checkpoints[i]
		for _, problem := range c.Problems {
			fmt.Fprintf(b, "✗ %s: %s\n", c.Ref.ID, view.OneLine(said.again(problem)))
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

// at returns the file and the line of the damage.
func at(env *environment, d *state.DamagedError) string {
	if d.Line == 0 {
		return env.Display(d.Path)
	}
	return fmt.Sprintf("%s, line %d", env.Display(d.Path), d.Line)
}

// writeRecovery lists what the user can do about damage to the current session.
func writeRecovery(b *strings.Builder, env *environment, s *validate.SessionCheck) {
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
	fmt.Fprintf(b, "\n⚠️  CHECKPOINT CORRUPTED\n\n")
	if bad != nil {
		fmt.Fprintf(b, "Corrupted: %s\nReason: %s\n", view.OneLine(bad.Ref.ID), view.OneLine(bad.Reason()))
	}
	if last != nil {
		fmt.Fprintf(b, "Last valid checkpoint: %s (step %s)\n", last.ID, step(last))
	} else {
		b.WriteString("Last valid checkpoint: none\n")
	}
	b.WriteString("\nOptions:\n")
	advice.WriteSuggestions(b, env.CommandLine, recoveryCommands(s, bad, last)...)
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
