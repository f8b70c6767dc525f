package info

import (
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/transfer"
)

// ExportReport is what `checkpoint export --json` prints.
type ExportReport struct {
	FormatVersion string             `json:"format_version"`
	PRD           string             `json:"prd"`
	Session       string             `json:"session"`
	Seq           uint64             `json:"seq"`
	Archive       state.Text         `json:"archive"`
	Size          int64              `json:"size"`
	SHA256        string             `json:"sha256"`
	Checkpoints   int                `json:"checkpoints"`
	Rollbacks     int                `json:"rollbacks"`
	Objects       int                `json:"objects"`
	ObjectBytes   int64              `json:"object_bytes"`
	Logs          int                `json:"logs"`
	Missing       []transfer.Lacking `json:"missing"`
	FromFiles     []state.Text       `json:"from_workspace"` // whose stored bytes are lost or damaged
	LeftOut       []state.Text       `json:"left_out"`       // sensitive, and never captured
}

// NewExportReport returns the JSON form of an export.
func NewExportReport(done *transfer.Exported) ExportReport {
	return ExportReport{
		LeftOut:       state.Texts(done.LeftOut),
		FromFiles:     state.Texts(done.FromFiles),
		FormatVersion: FormatVersion, PRD: done.PRD, Session: done.Session, Seq: done.Seq,
		Archive: state.Text(done.Path), Size: done.Size, SHA256: done.SHA256,
		Checkpoints: done.Checkpoints, Rollbacks: done.Rollbacks, Objects: done.Objects, ObjectBytes: done.ObjectBytes, Logs: done.Logs,
		Missing: append([]transfer.Lacking{}, done.Lacking...),
	}
}
