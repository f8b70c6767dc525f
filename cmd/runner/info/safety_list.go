package info

import (
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
)

// SafetyListReport is what `safety list --json` prints.
type SafetyListReport struct {
	FormatVersion string           `json:"format_version"`
	Checkpoints   []safetyListItem `json:"checkpoints"` // oldest first
	Damaged       []safetyDamaged  `json:"damaged"`

	Interrupted *safety.Interrupted `json:"-"`
}

type safetyListItem struct {
	ID        string      `json:"id"`
	Type      safety.Type `json:"type"`
	CreatedAt time.Time   `json:"created_at"`
	Expiry    *time.Time  `json:"expiry"`
	Expired   bool        `json:"expired"`
	Reason    state.Text  `json:"reason,omitempty"`
	Summary   string      `json:"summary"`
	Undoes    string      `json:"undoes,omitempty"`
	Restored  int         `json:"restored"`  // how often
	Restoring bool        `json:"restoring"` // a restore was interrupted
	NeededBy  *neededBy   `json:"needed_by,omitempty"`
}

// neededBy is the protected workstream that may be rolled back to a safety checkpoint, which
// is not removed until then.
type neededBy struct {
	PRD        string `json:"prd"`
	Workstream string `json:"workstream"`
	Due        bool   `json:"rollback_due"`
}

type safetyDamaged struct {
	ID    string     `json:"id"`
	Error state.Text `json:"error"`
}

// NewSafetyListReport returns the JSON form of a list of safety checkpoints. half is a
// restore that was interrupted; nil: there is none. needed are those that sessions need.
func NewSafetyListReport(all []*safety.Checkpoint, unread []safety.Unread, half *safety.Interrupted, needed map[string]checkpoint.Protecting, now time.Time) SafetyListReport {
	r := SafetyListReport{FormatVersion: FormatVersion, Checkpoints: []safetyListItem{}, Damaged: []safetyDamaged{}, Interrupted: half}
	for _, c := range all {
		item := safetyListItem{
			ID: c.ID, Type: c.Type, CreatedAt: c.CreatedAt, Expiry: c.ExpiresAt, Expired: c.Expired(now), Reason: c.Reason,
			Summary: c.Summary(), Undoes: c.Undoes, Restored: len(c.Restores), Restoring: half != nil && half.ID == c.ID,
		}
		if p, ok := needed[c.ID]; ok {
			item.NeededBy = &neededBy{p.PRD, p.Workstream, p.Due}
		}
		r.Checkpoints = append(r.Checkpoints, item)
	}
	for _, u := range unread {
		r.Damaged = append(r.Damaged, safetyDamaged{u.ID, state.Text(u.Err.Error())})
	}
	return r
}

// SafetyRemovedReport is what `safety delete --json` and `safety prune --json` print.
type SafetyRemovedReport struct {
	FormatVersion string           `json:"format_version"`
	DryRun        bool             `json:"dry_run"`
	Removed       []safetyListItem `json:"removed"`
	Unfinished    []string         `json:"unfinished"` // without a record: what interrupted commands had left, or the record was lost
	Kept          int              `json:"kept"`
}

// NewSafetyRemovedReport returns the JSON form of a removal.
func NewSafetyRemovedReport(removed []*safety.Checkpoint, unfinished []string, kept int, dryRun bool, now time.Time) SafetyRemovedReport {
	return SafetyRemovedReport{
		FormatVersion: FormatVersion, DryRun: dryRun, Removed: NewSafetyListReport(removed, nil, nil, nil, now).Checkpoints,
		Unfinished: append([]string{}, unfinished...), Kept: kept,
	}
}

// SafetyVerifyReport is what `safety verify --json` prints.
type SafetyVerifyReport struct {
	FormatVersion string        `json:"format_version"`
	Checkpoint    string        `json:"checkpoint"`
	OK            bool          `json:"ok"`
	Contents      int           `json:"contents"` // how many were read
	Missing       []FileProblem `json:"missing"`
	Refs          []lostRef     `json:"lost_refs"` // references that git lacks, so that git gc may remove what the checkpoint needs
	Hash          string        `json:"hash"`
	HashOK        bool          `json:"hash_ok"`
}

type lostRef struct {
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

// NewSafetyVerifyReport returns the JSON form of a verification.
func NewSafetyVerifyReport(c *safety.Checkpoint, v *safety.Verified) SafetyVerifyReport {
	r := SafetyVerifyReport{
		FormatVersion: FormatVersion, Checkpoint: c.ID, OK: v.OK(), Contents: v.Contents, Missing: []FileProblem{}, Refs: []lostRef{}, Hash: c.Hash, HashOK: v.HashOK,
	}
	for _, m := range v.Missing {
		r.Missing = append(r.Missing, FileProblem{state.Text(m.Path), state.Text(m.Reason)})
	}
	for _, lost := range v.Refs {
		r.Refs = append(r.Refs, lostRef(lost))
	}
	return r
}
