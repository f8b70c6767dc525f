package info

import (
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/transfer"
)

// ImportReport is what `checkpoint import --json` prints.
type ImportReport struct {
	FormatVersion string           `json:"format_version"`
	PRD           string           `json:"prd"`
	Session       string           `json:"session"`
	Seq           uint64           `json:"seq"`
	DryRun        bool             `json:"dry_run"`
	Relation      journal.Relation `json:"relation"`
	Refused       bool             `json:"refused"` // the import needs --replace
	Archived      string           `json:"archived,omitempty"`
	Uncertain     []string         `json:"uncertain,omitempty"`   // workstreams that must happen only once and that the session to be archived has started
	Pending       []string         `json:"once_pending"`          // workstreams that must happen only once and are not done: they may also happen where the archive was exported
	Unprotected   []string         `json:"unprotected,omitempty"` // workstreams whose changes can't be rolled back here
	Checkpoints   int              `json:"checkpoints"`
	Objects       int              `json:"objects"`
	ObjectBytes   int64            `json:"object_bytes"`
	Written       int              `json:"files_written"`
	Safety        string           `json:"safety_checkpoint,omitempty"`
	Absent        []state.Text     `json:"absent"`     // files that the workspace does not have
	Differ        []state.Text     `json:"differ"`     // files that differ in the workspace
	LeftAlone     []state.Text     `json:"left_alone"` // the files of Differ that were not replaced
	Blocked       []FileProblem    `json:"blocked"`    // files that can't be written because of an obstacle
	Missing       []FileProblem    `json:"missing"`    // files whose bytes the archive lacks
	LeftOut       []state.Text     `json:"left_out"`   // sensitive, and never captured
}

// Import is an import as the views show it.
type Import struct {
	Archive *transfer.Import
	Files   *transfer.ImportFiles // nil with --state-only
	DryRun  bool
	Refused bool // the import needs --replace
}

// NewImportReport returns the JSON form of an import before it is carried out.
func NewImportReport(i Import) ImportReport {
	a := i.Archive
	r := ImportReport{
		FormatVersion: FormatVersion, PRD: a.PRD, Session: a.Session, Seq: a.Seq, DryRun: i.DryRun, Relation: a.Relation, Refused: i.Refused, Uncertain: a.Uncertain(), Pending: append([]string{}, a.Pending()...),
		Unprotected: a.Unprotected(), Checkpoints: a.Checkpoints, Objects: a.Objects, ObjectBytes: a.Bytes,
		Absent: []state.Text{}, Differ: []state.Text{}, LeftAlone: []state.Text{}, Blocked: []FileProblem{}, Missing: []FileProblem{}, LeftOut: []state.Text{},
	}
	if i.Files == nil {
		return r
	}
	for _, c := range i.Files.Absent {
		r.Absent = append(r.Absent, state.Text(c.Path))
	}
	for _, c := range i.Files.Differ {
		r.Differ = append(r.Differ, state.Text(c.Path))
	}
	for _, b := range i.Files.Blocked {
		r.Blocked = append(r.Blocked, FileProblem{state.Text(b.Path), state.Text(b.By + " is in the way")})
	}
	for _, path := range i.Files.LeftOut {
		r.LeftOut = append(r.LeftOut, state.Text(path))
	}
	return r
}

// AddRestored adds the files that an import wrote and those that it left alone.
func (r *ImportReport) AddRestored(done *transfer.RestoredFiles) {
	r.Written, r.Safety = done.Written, done.Safety
	for _, path := range done.Kept {
		r.LeftAlone = append(r.LeftAlone, state.Text(path))
	}
	for _, m := range done.Skipped {
		r.Missing = append(r.Missing, FileProblem{state.Text(m.Path), state.Text(m.Reason)})
	}
}

// Conflict returns the error of an import that would replace a session and may not.
func (i Import) Conflict() error {
	return &transfer.ImportConflictError{PRD: i.Archive.PRD, Relation: i.Archive.Relation, Here: i.Archive.Here}
}

// Differing returns the paths of files that differ in the workspace.
func (i Import) Differing() []state.Text {
	var paths []state.Text
	for _, c := range i.Files.Differ {
		paths = append(paths, state.Text(c.Path))
	}
	return paths
}
