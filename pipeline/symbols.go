package pipeline

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Symbol is a declaration in a file, for editors.
type Symbol struct {
	Kind      string // variable, local, gate, pipeline, agent, savepoint, secret, service, phase, workstream
	Name      string
	Range     hcl.Range // the whole declaration
	NameRange hcl.Range
}

// Symbols lists the declarations of the file that have a name, in source order. It leaves out
// those of files that it includes.
func (f *File) Symbols() []Symbol {
	var symbols []Symbol
	declared := func(block *hclsyntax.Block) {
		symbols = append(symbols, Symbol{Kind: block.Type, Name: block.Labels[0], Range: hcl.RangeBetween(block.DefRange(), block.Body.SrcRange), NameRange: block.LabelRanges[0]})
	}
	for _, v := range f.variables {
		declared(v.block)
	}
	for _, l := range f.locals {
		symbols = append(symbols, Symbol{Kind: "local", Name: l.name, Range: hcl.RangeBetween(l.value.nameRange, l.value.exprRange()), NameRange: l.value.nameRange})
	}
	for _, gate := range f.gates {
		declared(gate.block)
	}
	for _, agent := range f.agents {
		declared(agent.block)
	}
	if f.pipeline != nil {
		f.pipeline.declared(declared)
	}
	symbols = slices.DeleteFunc(symbols, func(s Symbol) bool { return s.Range.Filename != f.name })
	slices.SortStableFunc(symbols, func(a, b Symbol) int { return a.NameRange.Start.Byte - b.NameRange.Start.Byte })
	return symbols
}

// declared calls a function with each block that has a name, first with the pipeline
// block.
func (p *pipelineBlock) declared(call func(*hclsyntax.Block)) {
	call(p.block)
	for _, agent := range p.agents {
		call(agent.block)
	}
	for _, savepoint := range p.savepoints {
		call(savepoint.block)
	}
	for _, secret := range p.secrets {
		call(secret.block)
	}
	for _, service := range p.services {
		call(service.block)
	}
	for _, phase := range p.phases {
		call(phase.block)
		for _, workstream := range phase.workstreams {
			call(workstream.block)
			for _, gate := range workstream.gates {
				call(gate.block)
			}
		}
		for _, gate := range phase.gates {
			call(gate.block)
		}
	}
}
