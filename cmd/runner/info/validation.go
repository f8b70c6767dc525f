package info

import (
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/cmd/runner/advice"
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
