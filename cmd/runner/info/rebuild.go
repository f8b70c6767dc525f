package info

import (
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
)

// RebuiltReport is what `checkpoint rebuild --json` prints.
type RebuiltReport struct {
	FormatVersion string                     `json:"format_version"`
	PRD           string                     `json:"prd"`
	DryRun        bool                       `json:"dry_run"`
	Rebuilt       []repair.RebuiltCheckpoint `json:"rebuilt"`
}

// NewRebuiltReport returns the JSON form of rebuilt checkpoints.
func NewRebuiltReport(prd string, dryRun bool, rebuilt []repair.RebuiltCheckpoint) RebuiltReport {
	return RebuiltReport{FormatVersion, prd, dryRun, rebuilt}
}

// RebuiltJournalReport is what `checkpoint rebuild --journal --json` prints.
type RebuiltJournalReport struct {
	FormatVersion string               `json:"format_version"`
	PRD           string               `json:"prd"`
	DryRun        bool                 `json:"dry_run"`
	Session       string               `json:"session"`
	From          string               `json:"from_checkpoint,omitempty"` // "": the last commit before the damage
	FromSeq       uint64               `json:"from_seq"`
	Step          int                  `json:"step"`
	Seq           uint64               `json:"seq"`
	Lost          []repair.LostCommit  `json:"lost"`
	Untold        int                  `json:"unreadable_commits"`
	Rollbacks     []repair.MetRollback `json:"rollbacks"`
	Import        *disk.PendingImport  `json:"import_given_up,omitempty"`
	Uncertain     []string             `json:"uncertain"`
	Gone          []string             `json:"checkpoints_gone"`
	Kept          state.Text           `json:"kept,omitempty"`
}

// NewRebuiltJournalReport returns the JSON form of a rebuilt journal.
func NewRebuiltJournalReport(cmdline advice.CommandLine, prd string, dryRun bool, r *repair.JournalRebuild) RebuiltJournalReport {
	result := RebuiltJournalReport{
		FormatVersion: FormatVersion, PRD: prd, DryRun: dryRun, Session: r.Session, From: r.From, FromSeq: r.FromSeq, Step: r.Step,
		Seq: r.Seq, Lost: append([]repair.LostCommit{}, r.Lost...), Untold: r.Untold,
		Rollbacks: append([]repair.MetRollback{}, r.Rollbacks...), Import: r.Import, Uncertain: append([]string{}, r.Uncertain...), Gone: append([]string{}, r.Gone...),
	}
	if r.Kept != "" {
		result.Kept = state.Text(cmdline.Display(r.Kept))
	}
	return result
}
