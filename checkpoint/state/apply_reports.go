package state

import (
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/ledger"
)

// applyReports folds reports into the ledgers and the notes. Metrics and outputs become
// part of the state only with the result of the attempt that reported them.
func (s *State) applyReports(at time.Time, e ReportsReceived) error {
	if e.Workstream != "" {
		w := s.Workstream(e.Workstream)
		if w == nil {
			return fmt.Errorf("%w: no workstream %q", ErrFold, e.Workstream)
		}
		if e.Lines > 0 { // 0: reported at the end of the attempt, with its outputs
			w.Reported = e.Lines
		}
	}
	for _, r := range e.Reports {
		if r.Type == ledger.TypeNote {
			s.Notes.add(r)
		}
		if w := s.Workstream(e.Workstream); w != nil {
			s.spend(w, r)
		}
		s.Ledgers.Apply(r, e.Source(), at)
	}
	return nil
}

// add appends a note to its list.
func (n *Notes) add(r ledger.Report) {
	switch r.Kind {
	case ledger.NoteESLintFix:
		n.ESLintFixes = append(n.ESLintFixes, Fix{File: r.File.ValidUTF8(), Change: r.Change.ValidUTF8()})
	case ledger.NoteKeyFix:
		n.KeyFixes = append(n.KeyFixes, Fix{File: r.File.ValidUTF8(), Change: r.Change.ValidUTF8()})
	case ledger.NoteCleanup:
		n.CleanupDone = append(n.CleanupDone, ledger.CleanupText(r.File, r.Change).ValidUTF8())
	}
}

// clipped returns the notes with lists that can be appended to without changing these.
func (n Notes) clipped() Notes {
	n.ESLintFixes, n.KeyFixes, n.CleanupDone = slices.Clip(n.ESLintFixes), slices.Clip(n.KeyFixes), slices.Clip(n.CleanupDone)
	return n
}

// Admission returns what decides about reports that are added to this state.
func (n Notes) Admission(l ledger.Ledgers) *ledger.Admission {
	notes := make([]ledger.Note, 0, len(n.ESLintFixes)+len(n.KeyFixes)+len(n.CleanupDone))
	for _, f := range n.ESLintFixes {
		notes = append(notes, ledger.Note{Kind: ledger.NoteESLintFix, File: Text(f.File), Change: Text(f.Change)})
	}
	for _, f := range n.KeyFixes {
		notes = append(notes, ledger.Note{Kind: ledger.NoteKeyFix, File: Text(f.File), Change: Text(f.Change)})
	}
	for _, c := range n.CleanupDone {
		notes = append(notes, ledger.Note{Kind: ledger.NoteCleanup, Change: Text(c)})
	}
	return ledger.NewAdmission(l, notes)
}
