package runner

import (
	"time"

	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// ImportError says that a hand-written document does not fit the pipeline.
type ImportError struct{ Err error }

func (e *ImportError) Error() string { return "start from the PRD document: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ImportError) Unwrap() error { return e.Err }

// FromDocument returns the first state of a session that begins from a document written
// by hand. If the document breaks a rule of its format or does not fit the pipeline,
// FromDocument returns an *ImportError that lists all problems.
func FromDocument(p *pipeline.Pipeline, doc *document.File, now time.Time) (*state.State, error) {
	shape := plan.ShapeOf(p)
	if err := doc.CheckWritten(p.ID, &shape); err != nil {
		return nil, &ImportError{Err: err}
	}
	st := &state.State{}
	err := st.Apply(state.Commit{Time: now, Events: []state.Event{state.SessionStarted{
		FormatVersion: state.FormatVersion, PRD: p.ID, Title: p.Title, Shape: shape, Imported: &doc.Document,
	}}})
	if err != nil {
		return nil, &ImportError{Err: err}
	}
	return st, nil
}
