package show

import (
	"fmt"
	"io"
	"strings"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// ValidationReport is what `checkpoint validate --json` prints.
type ValidationReport struct {
	FormatVersion string          `json:"format_version"`
	PRD           string          `json:"prd,omitempty"` // "": all PRDs
	Deep          bool            `json:"deep"`
	Valid         int             `json:"valid"`
	Invalid       int             `json:"invalid"`
	Sessions      []validSession  `json:"sessions"`
	Marks         *validate.Marks `json:"marks,omitempty"` // with --mark
}

type validSession struct {
	PRD         string              `json:"prd"`
	Session     string              `json:"session,omitempty"`
	Place       disk.Place          `json:"place"`
	Path        state.Text          `json:"path"`
	Journal     *journalDamage      `json:"journal_damage,omitempty"` // nil: the journal is intact
	Derived     []journalDamage     `json:"derived_damage,omitempty"` // of the document and the manifest
	LastValid   string              `json:"last_valid,omitempty"`
	Checkpoints []checkedCheckpoint `json:"checkpoints"`
}

type journalDamage struct {
	Path   state.Text `json:"path"`
	Line   int        `json:"line,omitempty"`
	Detail state.Text `json:"detail"`
}

type checkedCheckpoint struct {
	*state.CheckpointRef
	Current    bool         `json:"current"`
	Whole      bool         `json:"whole"`
	Validation checkedParts `json:"validation"`
}

// checkedParts holds the findings of a check of a checkpoint.
type checkedParts struct {
	File     validate.Finding `json:"file"`
	Hash     validate.Finding `json:"hash"`
	State    validate.Finding `json:"state"`
	Objects  validate.Finding `json:"objects"`
	Git      validate.Finding `json:"git"`
	Checksum string           `json:"checksum,omitempty"` // computed now
	Problems []state.Text     `json:"problems"`
	Notes    []state.Text     `json:"notes"`
}

func newCheckedParts(c *validate.CheckpointCheck) checkedParts {
	return checkedParts{
		File: c.File, Hash: c.Hash, State: c.Schema, Objects: c.Objects, Git: c.Git, Checksum: c.Checksum,
		Problems: state.Texts(c.Problems), Notes: state.Texts(c.Notes),
	}
}

// NewValidationReport returns the JSON form of a validation. marks is nil without --mark.
func NewValidationReport(cmdline advice.CommandLine, prd string, found *validate.Validation, marks *validate.Marks) ValidationReport {
	v := ValidationReport{FormatVersion: FormatVersion, PRD: prd, Deep: found.Deep, Sessions: []validSession{}, Marks: marks}
	v.Valid, v.Invalid = found.Count()
	for _, s := range found.Sessions {
		session := validSession{PRD: s.PRD, Place: s.Place, Path: state.Text(cmdline.Display(s.Dir)), Checkpoints: []checkedCheckpoint{}}
		if s.State != nil {
			session.Session = s.State.Session
		}
		if d := s.Journal; d != nil {
			session.Journal = &journalDamage{Path: state.Text(cmdline.Display(d.Path)), Line: d.Line, Detail: state.Text(d.Detail)}
		}
		for _, d := range s.Derived {
			session.Derived = append(session.Derived, journalDamage{Path: state.Text(cmdline.Display(d.Path)), Detail: state.Text(d.Detail)})
		}
		if last := s.LastValid(); last != nil {
			session.LastValid = last.ID
		}
		for i := range s.Checkpoints {
			c := &s.Checkpoints[i]
			session.Checkpoints = append(session.Checkpoints, checkedCheckpoint{c.Ref, c.Current, c.Whole(), newCheckedParts(c)})
		}
		v.Sessions = append(v.Sessions, session)
	}
	return v
}

// Validation shows the result of checking checkpoints, and what helps against damage.
func Validation(w io.Writer, cmdline advice.CommandLine, v *validate.Validation, marks *validate.Marks) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nCHECKPOINT VALIDATION\n%s\n", rule, rule)
	for i := range v.Sessions {
		writeValidSession(&b, cmdline, &v.Sessions[i])
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
			writeRecovery(&b, cmdline, &v.Sessions[i])
		}
	}
	fmt.Fprintf(&b, "%s\n", rule)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeValidSession(b *strings.Builder, cmdline advice.CommandLine, s *validate.SessionCheck) {
	name := cmdline.Display(s.Dir)
	if s.State != nil {
		name = s.State.Session
	}
	fmt.Fprintf(b, "PRD: %s\nSession: %s (%s)\n", s.PRD, view.OneLine(name), s.Place)
	if d := s.Journal; d != nil {
		fmt.Fprintf(b, "Journal: ✗ %s: %s\nCheckpoint files that are intact:\n", damagePlace(cmdline, d), view.OneLine(d.Detail))
	} else {
		b.WriteString("Journal: ✓\n")
	}
	for _, d := range s.Derived {
		fmt.Fprintf(b, "Derived: ✗ %s: %s; %s\n", damagePlace(cmdline, d), view.OneLine(d.Detail), d.Remedy)
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
			findingMark(c.File), findingMark(c.Hash), findingMark(c.Schema), findingMark(c.Objects), findingMark(c.Git), overall)
	}
	alignColumns(b, rows)
	b.WriteString("\n")
	writeProblems(b, s)
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

func writeProblems(b *strings.Builder, s *validate.SessionCheck) {
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
func writeRecovery(b *strings.Builder, cmdline advice.CommandLine, s *validate.SessionCheck) {
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
		fmt.Fprintf(b, "Last valid checkpoint: %s (step %s)\n", last.ID, stepLabel(last))
	} else {
		b.WriteString("Last valid checkpoint: none\n")
	}
	b.WriteString("\nOptions:\n")
	advice.WriteSuggestions(b, cmdline, recoveryCommands(s, bad, last)...)
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
	var b strings.Builder
	fmt.Fprintf(&b, "⚠️  CHECKPOINT DAMAGED\n%s\n\nDamaged: %s\nReason: %s\n\n", rule, id, view.OneLine(reason))
	if last != nil {
		fmt.Fprintf(&b, "Last valid checkpoint: %s (Step %d)\n\n", last.ID, last.Step)
	} else {
		b.WriteString("There is no valid checkpoint.\n\n")
	}
	b.WriteString("Options:\n")
	advice.WriteSuggestions(&b, cmdline, advice.Damaged(st, id, last)...)
	fmt.Fprintf(&b, "%s\n", rule)
	_, err := io.WriteString(w, b.String())
	return err
}
