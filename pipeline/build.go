package pipeline

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// defaultIDPattern is what the id of a pipeline looks like unless Inputs says
// otherwise.
const defaultIDPattern = `PRD-\d{3,}`

// anchored is a pattern for the whole of an id.
func anchored(pattern string) string { return "^(?:" + pattern + ")$" }

// builder makes a Pipeline of a File. It goes on after mistakes, so that all
// of them are reported at once.
type builder struct {
	file     *File
	in       Inputs
	scope    *scope
	pipeline *Pipeline
	diags    hcl.Diagnostics
	seen     map[diagnosticKey]*report
	current  *Workstream // whose arguments are being evaluated

	read      map[*argument][]fileCall // what functions were called to read
	early     []earlyRead
	checked   map[*argument]bool     // whether the references of an argument are legal
	constants map[*argument]constant // values of arguments without each
	lists     map[*argument][]string

	patternLists map[*argument][]string // what lists of globs mean
	gates        map[string]*gateBlock  // shared ones
	usedGates    map[string]bool
	processes    map[*gateBlock]*processDef // which those that a gate belongs to share
	phases       []*phaseDef
	blocks       []*workstreamDef // in the order of the file
}

// diagnosticKey keeps the instances of a for_each from repeating a mistake.
type diagnosticKey struct {
	summary string
	subject hcl.Range
}

// report is what was said about a place, and on behalf of which instance.
type report struct {
	ws      *Workstream
	details map[string]bool
}

type constant struct {
	value cty.Value
	ok    bool
}

// Pipeline evaluates the file. The diagnostics hold those of Parse too, so
// that they are all the mistakes of the file; if there are errors among them,
// the pipeline is nil.
func (f *File) Pipeline(in Inputs) (*Pipeline, hcl.Diagnostics) {
	if f.unread {
		return nil, f.diags
	}
	b := &builder{
		file:      f,
		in:        in,
		scope:     newScope(newWorkspaceFiles(in)),
		pipeline:  &Pipeline{Source: f.name, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(f.source))},
		seen:      map[diagnosticKey]*report{},
		read:      map[*argument][]fileCall{},
		checked:   map[*argument]bool{},
		constants: map[*argument]constant{},
		lists:     map[*argument][]string{},

		patternLists: map[*argument][]string{},
		gates:        map[string]*gateBlock{},
		usedGates:    map[string]bool{},
		processes:    map[*gateBlock]*processDef{},
	}
	b.scope.onRead = b.noteRead
	b.scope.claims = sync.OnceValue(b.artifactClaims)
	b.scope.linked = sync.OnceValue(b.linkedClaims)
	b.add(f.diags)
	b.undeclaredInputs()
	b.evaluateVariables()
	b.evaluateLocals()
	for _, gate := range f.gates {
		if b.gates[gate.name] == nil {
			b.gates[gate.name] = gate
		}
	}
	if f.pipeline != nil {
		b.pipelineBlock(f.pipeline)
		b.unusedGates()
	}
	b.earlyReads()
	b.scope.onRead = nil
	if b.diags.HasErrors() {
		return nil, b.diags
	}
	b.pipeline.variables, b.pipeline.inputs, b.pipeline.source = b.scope.variables, b.in, b.file.source
	return b.pipeline, b.diags
}

func (b *builder) evaluateVariables() {
	b.scope.setVariables() // so that expressions can be evaluated at all
	for _, v := range b.file.variables {
		if b.scope.variables[v.name] == nil {
			b.scope.variables[v.name] = b.variable(v)
		}
	}
	b.scope.setVariables()
	for _, v := range b.file.variables {
		if value := b.scope.variables[v.name]; value.block == v {
			value.sum = value.digest()
			b.validate(value)
		}
	}
}

// digest is the digest of the value, or for a sensitive one the word.
func (v *variable) digest() string {
	switch {
	case v.sensitive:
		return SensitiveVariable
	case v.value.IsWhollyKnown():
		return sumValue(v.value)
	}
	return "" // only in a pipeline with errors
}

// errorf adds an error.
func (b *builder) errorf(summary string, subject hcl.Range, format string, args ...any) {
	b.add(hcl.Diagnostics{{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: &subject}})
}

// add adds diagnostics, but does not repeat for another instance what was
// said for one.
func (b *builder) add(diags hcl.Diagnostics) {
	for _, diag := range diags {
		if diag.Subject != nil {
			key := diagnosticKey{diag.Summary, *diag.Subject}
			said := b.seen[key]
			if said == nil {
				said = &report{ws: b.current, details: map[string]bool{}}
				b.seen[key] = said
			}
			if said.ws != b.current && len(said.details) > 0 || said.details[diag.Detail] {
				continue
			}
			said.details[diag.Detail] = true
		}
		b.diags = append(b.diags, diag)
	}
}

// evaluate checks the references of an argument and evaluates it. Results
// that are not there yet are unknown.
func (b *builder) evaluate(a *argument, fr frame, want cty.Type) (cty.Value, bool) {
	if !b.check(a, fr) {
		return cty.UnknownVal(want), false
	}
	value, diags := b.scope.value(a, fr, want)
	b.add(diags)
	b.emptyFilesets(a, fr)
	return value, !diags.HasErrors()
}

// constant evaluates an argument that must be known before anything runs, and
// that everyone may see. It is false where there is no value, either by a
// mistake, which is reported, or because it is null.
func (b *builder) constant(a *argument, fr frame, want cty.Type) (cty.Value, bool) {
	if known, ok := b.constants[a]; ok {
		return known.value, known.ok
	}
	value, ok := b.evaluateConstant(a, fr, want)
	if a.kinds&kindEach == 0 {
		b.constants[a] = constant{value, ok}
	}
	return value, ok
}

func (b *builder) evaluateConstant(a *argument, fr frame, want cty.Type) (cty.Value, bool) {
	value, ok := b.evaluate(a, fr, want)
	if !ok {
		return value, false
	}
	if containsMarked(value) {
		b.add(hcl.Diagnostics{sensitiveNotAllowed(fmt.Sprintf("the argument %q", a.name), a.rng())})
		return value, false
	}
	if !value.IsKnown() || !fr.partial && !value.IsWhollyKnown() {
		return value, false // it depends on something that was reported
	}
	if value.IsNull() && !fr.nullable {
		return value, false
	}
	return value, true
}

func sensitiveNotAllowed(what string, subject hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Sensitive value not allowed",
		Detail:   fmt.Sprintf("A sensitive value cannot be used for %s, because that is shown and stored. Sensitive values belong in env, or in a command or script.", what),
		Subject:  &subject,
	}
}
