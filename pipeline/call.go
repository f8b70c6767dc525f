package pipeline

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"prdrunner/pipeline/files"
	"prdrunner/pipeline/glob"
	"prdrunner/pipeline/suggest"
)

// callBlock is a call of another pipeline as the file has it. It stands in a workstream, in
// place of a command.
type callBlock struct {
	block *hclsyntax.Block
	file  *argument
	path  string // the value of file, "" after a mistake
	vars  *argument
	// values are the elements of vars. Each is an argument of its own, so that a sensitive
	// value hides no other one in digests.
	values variables
}

var callSchema = &hcl.BodySchema{
	Attributes: append(attributes("vars"), hcl.AttributeSchema{Name: "file", Required: true}),
}

// notWithCall returns what to write instead of an argument or a block that a workstream with a
// call can't have, "" for any other.
func notWithCall(name string) string {
	switch name {
	case "command", "script", "agent":
		return "Remove one of the two"
	case "shell", "task":
		return "Remove it"
	case "env", envFileArgument:
		return `Give values to the variables of that pipeline, with "vars"`
	case "dir", "report", "verify", "mutates", "protect", "isolate":
		return "The workstreams of that pipeline say it"
	case "sensitive_outputs":
		return "The outputs of a pipeline are never sensitive"
	}
	return ""
}

func (d *decoder) decodeCall(block *hclsyntax.Block) *callBlock {
	if block == nil {
		return nil
	}
	content := d.content(block.Body, callSchema)
	c := &callBlock{block: block, file: d.argument(content, "file"), vars: d.argument(content, "vars")}
	if c.file != nil {
		text, ok := withoutParentheses(c.file.expr).(*hclsyntax.TemplateExpr)
		if !ok || !text.IsStringLiteral() {
			d.report("Invalid call", `"file" is a path in quotes, without references and functions, because the file is read before anything is evaluated: file = "etl-job.hcl".`, c.file.exprRange())
		} else if value, diags := text.Value(nil); !diags.HasErrors() {
			c.path = path.Clean(value.AsString())
		}
	}
	if c.vars != nil {
		if c.values = d.elements(c.vars); len(c.values) == 1 && c.values[0].name == "" {
			d.report("Invalid call", `"vars" is an object that is written out, because its names are checked before anything runs: vars = { NAME = VALUE }.`, c.vars.exprRange())
			c.values = nil
		}
	}
	return c
}

// checkNotWithCall reports what a workstream with a call can't have.
func (d *decoder) checkNotWithCall(workstream *hclsyntax.Body) {
	for _, name := range slices.Sorted(maps.Keys(workstream.Attributes)) {
		if advice := notWithCall(name); advice != "" {
			d.report("Not allowed with a call", fmt.Sprintf("The workstream calls another pipeline, so it can't have %q. %s.", name, advice), workstream.Attributes[name].NameRange)
		}
	}
	for _, inner := range workstream.Blocks {
		if advice := notWithCall(inner.Type); advice != "" {
			d.report("Not allowed with a call", fmt.Sprintf("The workstream calls another pipeline, so it can't have a block %q. %s.", inner.Type, advice), inner.TypeRange)
		}
	}
}

// callReader reads the files of the pipelines that a file calls.
type callReader struct {
	in    Inputs
	files *files.Workspace
	diags hcl.Diagnostics
}

// withCalled returns the file with the files of the pipelines that it calls, directly and
// through others.
func (f *File) withCalled(in Inputs) *File {
	if f.called != nil || f.pipeline == nil {
		return f
	}
	in.callers = append(slices.Clip(in.callers), path.Clean(f.name))
	r := &callReader{in: in, files: in.files()}
	called := map[string]*File{}
	for _, call := range f.calls() {
		if _, known := called[call.path]; !known && call.path != "" {
			called[call.path] = r.read(call.path, call.file.exprRange())
		}
	}
	if len(called) == 0 {
		return f
	}
	whole := *f
	whole.called, whole.diags = called, slices.Concat(f.diags, r.diags)
	return &whole
}

// calls returns the calls of a file, in its order.
func (f *File) calls() []*callBlock {
	var all []*callBlock
	for _, phase := range f.pipeline.phases {
		for _, ws := range phase.workstreams {
			if call := ws.process.call; call != nil {
				all = append(all, call)
			}
		}
	}
	return all
}

// read reads the file that a call at a place names. It returns nil after a mistake.
func (r *callReader) read(name string, place hcl.Range) *File {
	if !glob.Inside(name) {
		r.fail("Path outside the workspace", place, `%q in "file" must be a path relative to the workspace, with slashes, and must not lead out of it.`, name)
		return nil
	}
	if slices.Contains(r.in.callers, name) {
		chain := strings.Join(append(slices.Clip(r.in.callers), name), " calls ")
		r.fail("Pipeline that calls itself", place, "%s, which would never end. Remove one of these calls.", chain)
		return nil
	}
	src, err := r.files.ReadSource(name)
	if err != nil {
		r.fail("Cannot read called file", place, "The file %q cannot be read: %s. It is a regular file inside the workspace, and the path is relative to the workspace.", name, err)
		return nil
	}
	f, _ := Parse(src, name)
	return f.Including(r.in)
}

func (r *callReader) fail(summary string, place hcl.Range, format string, args ...any) {
	r.diags = append(r.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: &place})
}

// allCalled returns the files that a file calls, directly and through others, and those that
// they include, by their paths.
func (f *File) allCalled() map[string]*File {
	all := map[string]*File{}
	for name, g := range f.called {
		if g == nil {
			continue
		}
		all[name] = g
		for _, included := range g.included {
			all[included.name] = included
		}
		maps.Copy(all, g.allCalled())
	}
	return all
}

// callDepth returns how deep calls are nested in a file: 0 if it calls nothing.
func (f *File) callDepth() int {
	depth := 0
	for _, g := range f.called {
		if g != nil {
			depth = max(depth, g.callDepth()+1)
		}
	}
	return depth
}

// variable returns the declaration of a variable, or nil.
func (f *File) variable(name string) *variableBlock {
	if i := slices.IndexFunc(f.variables, func(v *variableBlock) bool { return v.name == name }); i >= 0 {
		return f.variables[i]
	}
	return nil
}

// callDef is a call that can be evaluated.
type callDef struct {
	*callBlock
	file *File // nil: it could not be read
}

// newCallDef returns a call that can be evaluated, nil for nil.
func (b *builder) newCallDef(block *callBlock) *callDef {
	if block == nil {
		return nil
	}
	return &callDef{callBlock: block, file: b.file.called[block.path]}
}

// checkCall checks the values that a workstream gives to the variables of the pipeline that
// it calls, and that pipeline with them, as far as they are known before anything runs.
func (b *builder) checkCall(def *workstreamDef, of *Workstream) {
	call := def.process.called
	if call == nil || call.file == nil {
		return
	}
	in := b.in
	in.Open, in.Matches, in.SessionID, in.takenOver = true, nil, b.pipeline.ID, nil
	if b.in.takenOver != nil { // the pipeline that this one replaces was checked
		def.calledArtifacts = b.in.takenOver.from.scope.blocks[def.block.name].calledArtifacts
		b.setCalledArtifacts(def, in)
		return
	}
	sensitive := call.file.Sensitive()
	for _, v := range call.values {
		declared := call.file.variable(v.name)
		switch {
		case declared == nil:
			names := func(yield func(string) bool) {
				for _, variable := range call.file.variables {
					if !yield(variable.name) {
						return
					}
				}
			}
			b.errorf("Value for undeclared variable", v.value.exprRange(), "%s declares no variable %q.%s", call.path, v.name, suggest.DidYouMean(v.name, names))
			continue
		case !b.isChecked(v.value): // the builder has reported the mistake
		case len(b.scope.sensitiveNames(v.value)) > 0 && !slices.Contains(sensitive, v.name):
			b.errorf("Sensitive value not allowed", v.value.exprRange(),
				"The value is sensitive, and %s does not declare the variable %q so: its value would be shown and stored. Write sensitive = true into its block.", call.path, v.name)
		}
	}
	b.missingCallValues(call)
	in.Variables = b.callInputs(call, of.each)
	child, diags := call.file.Pipeline(in)
	b.addDiagnostics(diags)
	if child == nil {
		return
	}
	b.pipeline.Called = append(b.pipeline.Called, child)
	def.calledArtifacts = child.allArtifacts()
	b.setCalledArtifacts(def, in)
	if child.LearnsSecrets() {
		b.errorf("Secrets of a called pipeline", call.callBlock.file.exprRange(),
			`%s has sensitive values of its own (a secret block or sensitive_outputs). Runner could not hide them here, and would store files that hold them. Let this pipeline get them, and pass them in "vars" to a variable with sensitive = true.`, call.path)
	}
	// The files that the called pipeline makes may hold these values, and a capture of the
	// workspace must leave them out.
	b.pipeline.Secrets = append(b.pipeline.Secrets, child.Secrets...)
	for _, file := range child.EnvFiles {
		b.envFiles[file] = true
	}
}

// callsApart refuses calls of workstreams whose names differ only in case: some file systems
// would keep the sessions of the called pipelines in one directory.
func (b *builder) callsApart() {
	byName := map[string]*Workstream{}
	for _, phase := range b.pipeline.Phases {
		for _, ws := range phase.Workstreams {
			if ws.Calls == "" {
				continue
			}
			name := strings.ToLower(ws.Name)
			if other := byName[name]; other != nil {
				b.errorf("Calls that differ only in case", ws.def.process.called.block.DefRange(),
					"%s and %s call pipelines, and some file systems do not tell the names of their sessions apart. Give one of them another name, or another key.", other.Name, ws.Name)
			}
			byName[name] = ws
		}
	}
}

// checkCallEffect refuses a call that must happen only once. An attempt continues the session of
// the called pipeline, in which each workstream says what running it again would do.
func (b *builder) checkCallEffect(ws *Workstream) {
	call := ws.def.block.process.call
	if call == nil || ws.Effect != Once {
		return
	}
	place := call.block.DefRange()
	if a := ws.def.block.effect; a != nil {
		place = a.exprRange()
	}
	b.errorf("Call that must happen only once", place, `A workstream that calls a pipeline cannot have effect = "once". Write it into the workstreams of %s that must happen only once, and effect = "idempotent" here.`, call.path)
}

// callInputs returns the values that an instance gives to the variables of the called pipeline.
func (b *builder) callInputs(call *callDef, of *each) map[string]Input {
	inputs := map[string]Input{}
	for _, v := range call.values {
		if declared := call.file.variable(v.name); declared != nil {
			inputs[v.name] = b.callInput(declared, v, deferredFrame(of))
		}
	}
	return inputs
}

// callInput returns the value of a variable of the called pipeline. It is unknown if it
// depends on results, and after a mistake.
func (b *builder) callInput(declared *variableBlock, v envVariable, fr frame) Input {
	unknown := Input{Value: cty.DynamicVal, Origin: "vars"}
	if !b.isChecked(v.value) {
		return unknown
	}
	value, diags := b.scope.evaluate(v.value, v.value.frameOf(processFrame(fr)), cty.DynamicPseudoType)
	value, _ = withoutMarks(value)
	if _, err := convert.Convert(value, declared.typ); err != nil || diags.HasErrors() || !value.IsWhollyKnown() {
		return unknown
	}
	return Input{Value: value, Origin: "vars"}
}

// isChecked reports whether all that an argument refers to exists.
func (b *builder) isChecked(a *argument) bool { return len(a.refs)+len(a.calls) == 0 || b.checked[a] }

// missingCallValues reports variables of the called pipeline that need a value and get none.
func (b *builder) missingCallValues(call *callDef) {
	place := call.block.DefRange()
	if call.vars != nil {
		place = call.vars.exprRange()
	}
	for _, v := range call.file.variables {
		if v.value == nil && !call.values.has(v.name) {
			b.errorf("Missing value for variable", place, "%s declares the variable %q without a default (line %d), so the call must give it a value: vars = { %s = … }.", call.path, v.name, v.block.DefRange().Start.Line, v.name)
		}
	}
}

// Called is the pipeline that a workstream runs.
type Called struct {
	File string // its file, relative to the workspace
	// Variables are the values of its variables as texts, in the form of Input.Text with
	// Expression.
	Variables map[string]string
}

// levels returns how many levels of calls there are from this one on.
func (c *callDef) levels() int {
	if c.file == nil {
		return 1
	}
	return 1 + c.file.callDepth()
}

var errUnfit = errors.New("it does not fit the type of its variable")

// setCallVariable evaluates the value of one variable of the called pipeline. Null leaves the
// variable at its default.
func (ev *evaluation) setCallVariable(call *callDef, v envVariable, value cty.Value) error {
	declared := call.file.variable(v.name)
	if declared == nil || value.IsKnown() && value.IsNull() {
		return nil
	}
	text, err := textForVariable(declared, value)
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	if ev.vars == nil {
		ev.vars, ev.varsFrom = map[string]string{}, map[string]*argument{}
	}
	ev.vars[v.name], ev.varsFrom[v.name] = text, v.value
	return nil
}

// textForVariable returns a value in the form of Input.Text with Expression.
func textForVariable(v *variableBlock, value cty.Value) (string, error) {
	if _, err := convert.Convert(value, v.typ); err != nil {
		return "", errUnfit
	}
	text := ""
	switch {
	case !value.IsWhollyKnown():
	case v.typ.IsPrimitiveType():
		var err error
		if text, err = toText(value); err != nil {
			return "", errUnfit
		}
	default:
		text = string(hclwrite.TokensForValue(value).Bytes())
	}
	if strings.ContainsRune(text, 0) {
		return "", errNUL
	}
	return text, nil
}

// shownVars returns the values that count in digests by themselves.
func (ev *evaluation) shownVars() map[string]string {
	vars := make(map[string]string, len(ev.vars))
	for name, text := range ev.vars {
		if !slices.Contains(ev.opaque, ev.varsFrom[name]) {
			vars[name] = text
		}
	}
	return vars
}

// addCallToDigest adds the called pipeline, with its files, to a digest.
func (p *processDef) addCallToDigest(h *hasher, ev *evaluation, fr frame) {
	if p.called == nil || p.called.file == nil {
		return
	}
	h.writeList("call", []string{p.called.path, p.called.file.digest()})
	for _, v := range p.called.values {
		if slices.Contains(ev.opaque, v.value) {
			p.scope.sumOpaque(h, "vars."+v.name, v.value, fr)
		}
	}
	h.writeList("vars", pairsOf(ev.shownVars()))
}

// callParts lists what addCallToDigest counts.
func (p *processDef) callParts(ev *evaluation, fr frame) []part {
	if p.called == nil || p.called.file == nil {
		return nil
	}
	parts := []part{{name: "the pipeline " + p.called.path, text: hiddenText + p.called.file.digest()}}
	for _, v := range p.called.values {
		if slices.Contains(ev.opaque, v.value) {
			parts = append(parts, p.hiddenPart("vars."+v.name, v.value, fr))
		}
	}
	return append(parts, named("vars.", ev.shownVars())...)
}

// invoked returns the call with its evaluated values, nil for nil.
func (c *callDef) invoked(ev *evaluation) *Called {
	if c == nil {
		return nil
	}
	return &Called{File: c.path, Variables: ev.vars}
}

// calledArtifacts reports called files that a workstream makes. They are read before anything
// runs.
func (b *builder) calledArtifacts() {
	for _, def := range b.blocks {
		call := def.block.process.call
		if call == nil || call.path == "" {
			continue
		}
		if makers := b.scope.makersOf(files.Call{Path: call.path}); len(makers) > 0 {
			b.errorf("Called file is an artifact", call.file.exprRange(),
				"The file %q is read before anything runs, but %s has it among its artifacts (%q). Call a file that people write, or make another one.",
				call.path, makers[0].ws.target().written(), makers[0].declared)
		}
	}
}
