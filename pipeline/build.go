package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/files"
)

// defaultIDPattern matches the ids of pipelines, unless Inputs has another pattern.
const defaultIDPattern = `PRD-\d{3,}`

// anchored returns a pattern that must match the whole id.
func anchored(pattern string) string { return "^(?:" + pattern + ")$" }

// builder builds a Pipeline from a File. After a mistake it continues, so that it
// reports all mistakes at once.
type builder struct {
	file     *File
	in       Inputs
	scope    *scope
	pipeline *Pipeline
	diags    hcl.Diagnostics
	seen     map[diagnosticKey]*report
	current  *Workstream // the workstream whose arguments are being evaluated

	read      map[*argument][]files.Call // the calls of functions that read files
	early     []earlyRead
	checked   map[*argument]bool     // whether the references of an argument are legal
	constants map[*argument]constant // values of the arguments that do not use each
	lists     map[*argument][]string

	patternLists map[*argument][]string // the patterns that lists of globs stand for
	gates        map[string]*gateBlock  // shared ones
	used         usedNames
	defaults     *defaultsDef // of the pipeline block
	agents       map[string]*agentDef
	envFiles     map[string]bool
	processes    map[*gateBlock]*processDef // shared by the gates that a block stands for
	phases       []*phaseDef
	blocks       []*workstreamDef // in the order of the file
}

// diagnosticKey identifies a mistake, so that it is reported for one instance of a
// for_each only.
type diagnosticKey struct {
	summary string
	subject hcl.Range
}

// report records the details that were reported for a place, and for which instance.
type report struct {
	ws      *Workstream
	details map[string]bool
}

type constant struct {
	value cty.Value
	ok    bool
}

// newBuilder returns a builder that has evaluated nothing yet.
func newBuilder(f *File, in Inputs) *builder {
	b := &builder{
		file:      f,
		in:        in,
		scope:     newScope(in.files()),
		pipeline:  &Pipeline{Source: f.name, file: f},
		seen:      map[diagnosticKey]*report{},
		read:      map[*argument][]files.Call{},
		checked:   map[*argument]bool{},
		constants: map[*argument]constant{},
		lists:     map[*argument][]string{},

		patternLists: map[*argument][]string{},
		gates:        map[string]*gateBlock{},
		used:         usedNames{gates: map[string]bool{}, services: map[string]bool{}, secrets: map[string]bool{}},
		envFiles:     map[string]bool{},
		processes:    map[*gateBlock]*processDef{},
	}
	b.scope.artifacts = sync.OnceValue(b.allArtifacts)
	b.scope.linked = sync.OnceValue(b.linkedArtifacts)
	return b
}

// Pipeline evaluates the file, with those that it includes. The diagnostics are all mistakes
// of the files, also those that Parse and Including found. The pipeline is nil if one is an
// error.
func (f *File) Pipeline(in Inputs) (*Pipeline, hcl.Diagnostics) {
	f = f.Including(in)
	if f.unread {
		return nil, f.diags
	}
	b := newBuilder(f, in)
	b.pipeline.Digest = f.digest()
	f.describeSources(b.pipeline)
	b.scope.onRead = b.noteRead
	b.addDiagnostics(f.diags)
	if in.takenOver != nil {
		b.takeOver(in.takenOver.from)
	} else {
		b.undeclaredInputs()
		b.evaluateVariables()
		b.evaluateLocals()
	}
	for _, gate := range f.gates {
		if b.gates[gate.name] == nil {
			b.gates[gate.name] = gate
		}
	}
	if f.pipeline != nil {
		b.pipelineBlock(f.pipeline)
		b.includedArtifacts()
		b.calledArtifacts()
		b.pipeline.EnvFiles = slices.Sorted(maps.Keys(b.envFiles))
	}
	b.earlyReads()
	b.scope.onRead = nil
	if b.diags.HasErrors() {
		return nil, b.diags
	}
	b.pipeline.scope, b.pipeline.variables, b.pipeline.inputs, b.pipeline.source = b.scope, b.scope.variables, b.in, b.file.source
	b.pipeline.keepElements()
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

// digest returns the digest of the value, or SensitiveVariable for a sensitive variable.
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
	b.addDiagnostics(hcl.Diagnostics{{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: &subject}})
}

// addWarning adds a warning.
func (b *builder) addWarning(summary string, subject hcl.Range, detail string) {
	b.addDiagnostics(hcl.Diagnostics{{Severity: hcl.DiagWarning, Summary: summary, Detail: detail, Subject: &subject}})
}

// addDiagnostics adds diagnostics. It leaves out a mistake that was already reported for
// another instance of the same block.
func (b *builder) addDiagnostics(diags hcl.Diagnostics) {
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

// evaluate checks the references of an argument and evaluates it. Results of workstreams
// that have not completed are unknown.
func (b *builder) evaluate(a *argument, fr frame, want cty.Type) (cty.Value, bool) {
	if !b.checkArgument(a, fr) {
		return cty.UnknownVal(want), false
	}
	value, diags := b.scope.evaluate(a, fr, want)
	b.addDiagnostics(diags)
	b.emptyFilesets(a, fr)
	return value, !diags.HasErrors()
}

// constant evaluates an argument that must be known before anything runs and that may be
// shown. It returns false if there is no value: the value is null, or there is a
// mistake, which it reports.
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
		b.addDiagnostics(hcl.Diagnostics{sensitiveNotAllowed(fmt.Sprintf("the argument %q", a.name), a.exprRange())})
		return value, false
	}
	if !value.IsKnown() || !fr.partial && !value.IsWhollyKnown() {
		return value, false // it depends on a value whose mistake was reported
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
