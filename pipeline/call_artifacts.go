package pipeline

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// maxCalledArtifacts is the largest number of artifacts arguments that are evaluated for the
// instances of a block that calls a pipeline. Without it, a pipeline with 10,000 calls of a file
// of 32 workstreams would take 50 times as long to load as one without calls.
const maxCalledArtifacts = 2_000

// setCalledArtifacts tells the instances of a block what the called pipeline makes for them. If
// they give different values to variables that its artifacts use, these are evaluated for each
// of the first instances. The others have the artifacts that are the same for all.
func (b *builder) setCalledArtifacts(def *workstreamDef, in Inputs) {
	for _, ws := range def.instances {
		ws.calledArtifacts = def.calledArtifacts
	}
	call := def.process.called
	if !call.artifactsDiffer() {
		return
	}
	evaluated := 0
	for _, ws := range def.instances {
		in.Variables = b.callInputs(call, ws.each)
		lists, diags := call.file.allArtifacts(in)
		if diags.HasErrors() { // a mistake with the values of this instance
			b.addDiagnostics(diags)
			return
		}
		ws.calledArtifacts = lists
		if evaluated += 1 + len(lists); evaluated >= maxCalledArtifacts {
			return
		}
	}
}

// artifactsDiffer reports whether the artifacts of the called pipeline may differ between the
// instances of a for_each.
func (c *callDef) artifactsDiffer() bool {
	var differ []string
	for _, v := range c.values {
		if v.value.kinds&kindEach != 0 {
			differ = append(differ, v.name)
		}
	}
	if len(differ) == 0 || c.file.pipeline == nil {
		return false
	}
	used := c.file.variablesOfArtifacts()
	return slices.ContainsFunc(differ, func(name string) bool { return used[name] })
}

// variablesOfArtifacts returns the variables that the artifacts of a file may depend on, also
// those of the pipelines that it calls.
func (f *File) variablesOfArtifacts() map[string]bool {
	locals := map[string]*argument{}
	for _, def := range f.locals {
		locals[def.name] = def.value
	}
	variables, done := map[string]bool{}, map[*argument]bool{}
	var add func(a *argument)
	add = func(a *argument) {
		if a == nil || done[a] {
			return
		}
		done[a] = true
		for _, ref := range a.refs {
			switch ref.kind { //nolint:exhaustive // nothing else depends on variables
			case kindVar:
				variables[ref.name] = true
			case kindLocal:
				add(locals[ref.name])
			case kindPipeline:
				add(f.pipeline.title)
				add(f.pipeline.kind)
				add(f.pipeline.document)
			}
		}
	}
	for _, phase := range f.pipeline.phases {
		for _, ws := range phase.workstreams {
			add(ws.artifacts)
			add(ws.forEach)
			if call := ws.process.call; call != nil {
				for _, v := range call.values {
					add(v.value)
				}
			}
		}
	}
	return variables
}

// allArtifacts evaluates the artifacts of the workstreams of a called file, and of the pipelines
// that it calls, with the given values of its variables. The file has been built with other
// values: of what Pipeline evaluates, this is only what the artifacts may depend on.
func (f *File) allArtifacts(in Inputs) ([][]string, hcl.Diagnostics) {
	b := newBuilder(f, in)
	b.evaluateVariables()
	b.evaluateLocals()
	b.pipeline.ID = in.SessionID
	b.header(f.pipeline)
	b.declare(f.pipeline)
	for _, def := range b.blocks {
		b.expand(def)
	}
	b.declareArtifacts()
	var lists [][]string
	for _, def := range b.blocks {
		b.calledAgain(def, in)
		lists = append(lists, artifactsOf(def.instances)...)
	}
	return lists, b.diags
}

// calledAgain tells the instances of a block of a called file what the pipeline that they call
// makes.
func (b *builder) calledAgain(def *workstreamDef, in Inputs) {
	call := b.newCallDef(def.block.process.call)
	if call == nil || call.file == nil {
		return
	}
	def.process = &processDef{called: call}
	for _, v := range call.values {
		b.checked[v.value] = true // the file was built, so its references are right
	}
	in.Variables = b.callInputs(call, b.standIn(def).each)
	lists, diags := call.file.allArtifacts(in)
	b.addDiagnostics(diags)
	def.calledArtifacts = lists
	b.setCalledArtifacts(def, in)
}

// allArtifacts returns the lists of artifacts of the workstreams of a pipeline, and of the
// pipelines that they call.
func (p *Pipeline) allArtifacts() (lists [][]string) {
	for _, phase := range p.Phases {
		lists = append(lists, artifactsOf(phase.Workstreams)...)
	}
	return lists
}

func artifactsOf(workstreams []*Workstream) (lists [][]string) {
	for _, ws := range workstreams {
		lists = append(append(lists, ws.Artifacts), ws.calledArtifacts...)
	}
	return lists
}
