package info

import (
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/pipeline/diagnostics"
)

// PipelinesReport is what `runner validate --json` prints.
type PipelinesReport struct {
	diagnostics.Report
	Pipelines []PipelineReport `json:"pipelines"`
}

// PipelineReport describes a pipeline that was checked.
type PipelineReport struct {
	File        state.Text `json:"file"`
	PRD         string     `json:"prd,omitempty"` // "" if the file is invalid
	Valid       bool       `json:"valid"`
	Phases      int        `json:"phases"`
	Workstreams int        `json:"workstreams"`
	Gates       int        `json:"gates"`
}

// NewPipelineReport counts the phases, workstreams and gates of a pipeline. p is nil if
// the file is invalid.
func NewPipelineReport(file string, p *pipeline.Pipeline) PipelineReport {
	v := PipelineReport{File: state.Text(file), Valid: p != nil}
	if p == nil {
		return v
	}
	v.PRD, v.Phases = p.ID, len(p.Phases)
	for _, phase := range p.Phases {
		v.Workstreams += len(phase.Workstreams)
		v.Gates += len(phase.Gates)
		for _, w := range phase.Workstreams {
			v.Gates += len(w.Gates)
		}
	}
	return v
}
