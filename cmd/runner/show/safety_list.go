package show

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// SafetyListReport is what `safety list --json` prints.
type SafetyListReport struct {
	FormatVersion string           `json:"format_version"`
	Checkpoints   []safetyListItem `json:"checkpoints"` // oldest first
	Damaged       []safetyDamaged  `json:"damaged"`

	interrupted *safety.Interrupted
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
	r := SafetyListReport{FormatVersion: FormatVersion, Checkpoints: []safetyListItem{}, Damaged: []safetyDamaged{}, interrupted: half}
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

// SafetyList shows a list of safety checkpoints.
func SafetyList(w io.Writer, cmdline advice.CommandLine, r SafetyListReport) error {
	b := newPage(w)
	if len(r.Checkpoints)+len(r.Damaged) == 0 {
		b.WriteString("There are no safety checkpoints\n")
	}
	for _, c := range r.Checkpoints {
		fmt.Fprintf(b, "%s  %-11s  %s", c.ID, c.Type, view.OneLine(c.Summary))
		switch {
		case c.NeededBy != nil:
			fmt.Fprintf(b, "  needed by %s of %s", c.NeededBy.Workstream, c.NeededBy.PRD)
		case c.Expired:
			b.WriteString("  expired")
		case c.Expiry != nil:
			b.WriteString("  expires " + expiry(c.Expiry))
		}
		if c.Reason != "" {
			b.WriteString("  " + view.OneLine(string(c.Reason)))
		}
		b.WriteString("\n")
		if c.Restoring {
			fmt.Fprintf(b, "  its restore was interrupted; %s\n", cmdline.Localize(advice.UnfinishedRestore(*r.interrupted)))
		}
	}
	for _, d := range r.Damaged {
		fmt.Fprintf(b, "%s  damaged: %s\n", d.ID, view.OneLine(string(d.Error)))
	}
	return b.end()
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

// SafetyRemoved shows a removal.
func SafetyRemoved(w io.Writer, r SafetyRemovedReport) error {
	b := newPage(w)
	word := "Removed"
	if r.DryRun {
		word = "Would remove"
	}
	for _, c := range r.Removed {
		fmt.Fprintf(b, "%s: %s, %s\n", word, c.ID, cmp.Or(view.OneLine(c.Summary), "whose record is damaged"))
	}
	for _, id := range r.Unfinished {
		fmt.Fprintf(b, "%s: %s, which has no record: it was never finished, or its record was lost\n", word, id)
	}
	if b.Len() == 0 {
		fmt.Fprintf(b, "Nothing to remove; %s kept\n", view.Plural(r.Kept, "safety checkpoint"))
	}
	return b.end()
}

// SafetyVerifyReport is what `safety verify --json` prints.
type SafetyVerifyReport struct {
	FormatVersion string        `json:"format_version"`
	Checkpoint    string        `json:"checkpoint"`
	OK            bool          `json:"ok"`
	Contents      int           `json:"contents"` // how many were read
	Missing       []fileProblem `json:"missing"`
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
		FormatVersion: FormatVersion, Checkpoint: c.ID, OK: v.OK(), Contents: v.Contents, Missing: []fileProblem{}, Refs: []lostRef{}, Hash: c.Hash, HashOK: v.HashOK,
	}
	for _, m := range v.Missing {
		r.Missing = append(r.Missing, fileProblem{state.Text(m.Path), state.Text(m.Reason)})
	}
	for _, lost := range v.Refs {
		r.Refs = append(r.Refs, lostRef(lost))
	}
	return r
}

// SafetyVerified shows a verification.
func SafetyVerified(w io.Writer, r SafetyVerifyReport) error {
	b := newPage(w)
	for _, m := range r.Missing {
		fmt.Fprintf(b, "✗ %s: %s\n", view.OneLine(string(m.Path)), view.OneLine(string(m.Reason)))
	}
	for _, lost := range r.Refs {
		fmt.Fprintf(b, "✗ git has no reference %[1]s to the commit %[2]s, which git gc may therefore remove; `git update-ref %[1]s %[2]s` makes it again\n", lost.Ref, lost.Commit)
	}
	switch {
	case r.OK:
		fmt.Fprintf(b, "✓ %s is whole: %s read, hash %s\n", r.Checkpoint, view.Plural(r.Contents, "content"), r.Hash)
	case !r.HashOK && len(r.Missing) == 0:
		fmt.Fprintf(b, "✗ %s: what it holds does not have the recorded hash %s\n", r.Checkpoint, r.Hash)
	case r.HashOK && len(r.Missing) == 0:
		fmt.Fprintf(b, "✗ %s can be restored, but only until git gc has run\n", r.Checkpoint)
	default:
		fmt.Fprintf(b, "✗ %s can't be restored\n", r.Checkpoint)
	}
	return b.end()
}
