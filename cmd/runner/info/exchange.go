package info

import (
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/exchange"
	"prdrunner/checkpoint/state"
)

// ExchangeExport is what `checkpoint export --format --json` prints.
type ExchangeExport struct {
	FormatVersion string     `json:"format_version"`
	PRD           string     `json:"prd"`
	Session       string     `json:"session"`
	Seq           uint64     `json:"seq"`
	Format        string     `json:"format"`
	Path          state.Text `json:"path"`
	Files         int        `json:"files"`
	NoPlace       []string   `json:"no_place"` // what the session has and the format can't hold
}

// NewExchangeExport returns the JSON form of an export in the format of another tool.
func NewExchangeExport(st *state.State, format, path string, done *exchange.Exported) ExchangeExport {
	return ExchangeExport{
		FormatVersion: FormatVersion, PRD: st.PRD, Session: st.Session, Seq: st.Seq, Format: format, Path: state.Text(path), Files: done.Files, NoPlace: done.NoPlace,
	}
}

// ExchangeImport is what `checkpoint import --format --json` prints.
type ExchangeImport struct {
	FormatVersion string        `json:"format_version"`
	PRD           string        `json:"prd"`
	Format        string        `json:"format"`
	DryRun        bool          `json:"dry_run"`
	Files         []state.Text  `json:"files"`    // that were read
	Path          state.Text    `json:"path"`     // of the document
	Document      document.File `json:"document"` // from which the next build begins
	NoPlace       []string      `json:"no_place"` // what the files have and a session can't hold
	Warnings      []string      `json:"warnings"`
}

// NewExchangeImport returns the JSON form of an import from the format of another tool.
func NewExchangeImport(format, path string, dryRun bool, taken *exchange.Taken) ExchangeImport {
	return ExchangeImport{
		FormatVersion: FormatVersion, PRD: taken.Document.PRD, Format: format, DryRun: dryRun, Files: state.Texts(taken.Files), Path: state.Text(path),
		Document: taken.Document, NoPlace: append([]string{}, taken.NoPlace...), Warnings: append([]string{}, taken.Warnings...),
	}
}
