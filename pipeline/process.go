package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/glob"
)

// defaultShell runs a script if neither the script nor the defaults name a shell.
var defaultShell = []string{"sh", "-euc"}

// process is the part that workstreams, gates and hooks have in common: a command or a
// script, and where it runs. A workstream may have a call of a pipeline instead. Its arguments are deferred, so they may use results of
// earlier workstreams.
type process struct {
	command *argument
	script  *argument
	call    *callBlock
	shell   *argument
	dirs    []*argument // the first that is not null counts
	env     variables
	task    *argument // a text for the process
	rng     hcl.Range
}

// processAttributes are the arguments of a process.
var processAttributes = []string{"command", "script", "shell", "dir", "env", envFileArgument}

// decodeProcess decodes the arguments of a process and checks that they fit together.
// The caller checks whether a process is required.
func (d *decoder) decodeProcess(content *hclsyntax.Body, rng hcl.Range) process {
	p := d.decodeProgram(content, rng)
	d.decodeSurroundings(&p, content)
	return p
}

// decodeProgram decodes the arguments of a process that say what it runs.
func (d *decoder) decodeProgram(content *hclsyntax.Body, rng hcl.Range) process {
	p := process{
		command: d.argument(content, "command"),
		script:  d.argument(content, "script"),
		shell:   d.argument(content, "shell"),
		rng:     rng,
	}
	if p.command != nil && p.script != nil {
		d.report("Command and script", `Give either "command", a list that is run without a shell, or "script", a text for a shell, but not both.`, p.script.nameRange)
	}
	if p.shell != nil && p.script == nil {
		d.report("Shell without script", `"shell" says what runs a "script"; a "command" is run without one. Remove it, or put the shell into the command.`, p.shell.nameRange)
	}
	return p
}

// decodeSurroundings decodes the arguments of a process that it may inherit: where it runs,
// and its variables.
func (d *decoder) decodeSurroundings(p *process, content *hclsyntax.Body) {
	if dir := d.argument(content, "dir"); dir != nil {
		p.dirs = []*argument{dir}
	}
	p.env = d.variables(content)
}

func (p *process) exists() bool { return p.command != nil || p.script != nil || p.call != nil }

// inherit returns the process with what it does not say itself: the directory, the shell of
// a script, and variables.
func (p process) inherit(from process) process {
	if p.script != nil && p.shell == nil {
		p.shell = from.shell
	}
	if n := len(p.dirs); n == 0 || p.dirs[n-1].mayBeNull() {
		p.dirs = slices.Concat(p.dirs, from.dirs)
	}
	p.env = p.env.over(from.env)
	return p
}

// mayBeNull reports whether the value of an argument can be null, as that of a text in
// quotes cannot.
func (a *argument) mayBeNull() bool {
	_, text := withoutParentheses(a.expr).(*hclsyntax.TemplateExpr)
	return !text
}

// arguments iterates over the arguments that are given.
func (p *process) arguments(yield func(*argument) bool) {
	for _, a := range [...]*argument{p.command, p.script, p.shell, p.task} {
		if a != nil && !yield(a) {
			return
		}
	}
	for _, a := range p.dirs {
		if !yield(a) {
			return
		}
	}
	for _, v := range p.env {
		if !yield(v.value) {
			return
		}
	}
	if p.call == nil {
		return
	}
	for _, v := range p.call.values {
		if !yield(v.value) {
			return
		}
	}
}

// processDef is a process that can be evaluated.
type processDef struct {
	process
	scope   *scope
	called  *callDef // nil: it calls no pipeline
	uniform bool     // the same for all instances
	fixed   bool     // the same for all instances, at all times
	checked bool     // already evaluated by the builder
	secrets []string // that it needs, sorted

	// A fixed process is evaluated once.
	once      sync.Once
	evaluated *evaluation
	diags     hcl.Diagnostics
}

// newProcessDef returns a process that can be evaluated. It inherits from the defaults, if
// there are any.
func (b *builder) newProcessDef(p process, defaults *defaultsDef) *processDef {
	if defaults != nil && p.exists() && p.call == nil {
		p = p.inherit(defaults.process)
	}
	def := &processDef{process: p, scope: b.scope, called: b.newCallDef(p.call), uniform: true, fixed: true}
	for a := range p.arguments {
		def.uniform = def.uniform && a.kinds&kindEach == 0
		// The value of a function may depend on files.
		def.fixed = def.fixed && a.kinds&(kindEach|kindDeferred|kindService|kindSecret) == 0 && len(a.calls) == 0 && a.name != envFileArgument
		def.secrets = appendNew(def.secrets, a.secrets())
	}
	slices.Sort(def.secrets)
	return def
}

// evaluation is an evaluated process, with the information that its digest needs.
type evaluation struct {
	command  []string
	shell    []string
	script   string
	dir      string
	dirFrom  *argument // nil: no argument says it
	env      map[string]string
	envFrom  map[string]*argument // the argument that says each variable, also one that is left out
	task     string
	vars     map[string]string // of the called pipeline
	varsFrom map[string]*argument
	opaque   []*argument // arguments that count by their tokens, not by their values

	unresolved []string // the secrets and sensitive outputs that have no value

	envFiles     []envFile
	envFileError *EnvFileError // why a dotenv file can't be used
	hidden       []Secret      // sensitive values from these files
}

// evaluateArgument evaluates one argument and passes the value to use. It checks unknown
// values as far as their types allow.
func (p *processDef) evaluateArgument(ev *evaluation, a *argument, fr frame, diags *hcl.Diagnostics, use func(cty.Value) error) {
	if a == nil {
		return
	}
	value, more := p.scope.evaluate(a, fr, cty.DynamicPseudoType)
	if more.HasErrors() {
		*diags = append(*diags, more...)
		return
	}
	value, marked := withoutMarks(value)
	unresolved := p.scope.unresolved(a, fr.results, value)
	ev.unresolved = appendNew(ev.unresolved, unresolved)
	if fr.results != nil && a.kinds&(kindDeferred|kindService) != 0 && len(unresolved) == 0 && !value.IsWhollyKnown() {
		// An unknown part would become "", which must never be run.
		*diags = append(*diags, &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: "Value not known",
			Detail: fmt.Sprintf("The value of %q depends on something that has not happened yet.", a.name), Subject: a.exprRange().Ptr(),
		})
		return
	}
	if marked || a.kinds&(kindRun|kindIteration|kindService|kindSecret) != 0 || len(p.scope.sensitiveOutputNames(a)) > 0 {
		ev.opaque = append(ev.opaque, a)
	}
	if err := use(value); err != nil {
		*diags = append(*diags, a.unsuitable(err))
	}
}

// readCommand evaluates an argument that holds a program and its arguments.
func (p *processDef) readCommand(ev *evaluation, a *argument, fr frame, diags *hcl.Diagnostics, argv *[]string) {
	if a == nil || a.texts == nil {
		p.evaluateArgument(ev, a, fr, diags, func(v cty.Value) (err error) { *argv, err = commandOf(v); return err })
		return
	}
	if err := checkCommand(a.texts, true); err != nil {
		*diags = append(*diags, a.unsuitable(err))
		return
	}
	*argv = a.texts
}

// unsuitable returns the error for an argument with a value that can't be used.
func (a *argument) unsuitable(err error) *hcl.Diagnostic {
	detail := fmt.Sprintf("The value of %q is not suitable: %s.", a.name, err)
	switch {
	case errors.Is(err, errNotList):
		detail += a.asList()
	case errors.Is(err, errNotText) && a.name == "script" && isTuple(a.expr):
		detail += " Write the lines into one text, script = <<-EOT … EOT, or a program and its arguments into command = [\"PROGRAM\", \"ARGUMENT\"]."
	}
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Incorrect value type",
		Detail:   detail,
		Subject:  a.exprRange().Ptr(),
	}
}

func isTuple(expr hclsyntax.Expression) bool {
	_, ok := withoutParentheses(expr).(*hclsyntax.TupleConsExpr)
	return ok
}

// asList explains how to write a text of the file as a list, or returns "" if the
// argument is not a text. It shows only the source, never the value.
func (a *argument) asList() string {
	template, ok := withoutParentheses(a.expr).(*hclsyntax.TemplateExpr)
	if !ok || len(a.source) == 0 || bytes.ContainsRune(a.source, '\n') {
		return ""
	}
	start := a.expr.Range().Start.Byte
	text := string(a.source[template.Range().Start.Byte-start : template.Range().End.Byte-start])
	switch a.name {
	case "command":
		return fmt.Sprintf(" Write script = %s for a shell, or without one command = %s.", text, wordList(template, text))
	case "verify", "shell":
		return fmt.Sprintf(" Write %s = %s.", a.name, wordList(template, text))
	}
	return fmt.Sprintf(" Write %s = [%s].", a.name, text)
}

// wordList returns a command line as a list of its words. For a line with characters
// that are special in shells, it returns a list to fill in.
func wordList(template *hclsyntax.TemplateExpr, source string) string {
	if !template.IsStringLiteral() || strings.ContainsAny(source, "\\'|&;<>()$`*?[#~=%!{}") {
		return `["PROGRAM", "ARGUMENT"]`
	}
	return `["` + strings.Join(strings.Fields(strings.Trim(source, `"`)), `", "`) + `"]`
}

// evaluate evaluates the process. Callers must not change the result.
func (p *processDef) evaluate(fr frame) (*evaluation, hcl.Diagnostics) {
	if !p.fixed {
		return p.evaluateIn(fr)
	}
	p.once.Do(func() { p.evaluated, p.diags = p.evaluateIn(constantFrame(noEach)) })
	return p.evaluated, p.diags
}

func (p *processDef) evaluateIn(fr frame) (*evaluation, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	ev := &evaluation{}
	p.readCommand(ev, p.command, fr, &diags, &ev.command)
	if p.script != nil {
		ev.shell = defaultShell
		p.evaluateArgument(ev, p.script, fr, &diags, func(v cty.Value) (err error) { ev.script, err = scriptOf(v); return err })
		p.readCommand(ev, p.shell, fr, &diags, &ev.shell)
	}
	for _, a := range p.dirs {
		p.evaluateArgument(ev, a, fr, &diags, func(v cty.Value) (err error) {
			if !v.IsNull() {
				ev.dirFrom = a
			}
			ev.dir, err = directoryOf(v)
			return err
		})
		if ev.dirFrom != nil {
			break
		}
	}
	for _, v := range p.env {
		if v.isFile() {
			p.readEnvFiles(ev, v.value, fr, &diags)
			continue
		}
		p.evaluateArgument(ev, v.value, fr, &diags, func(value cty.Value) error { return ev.setVariables(v, value) })
	}
	if p.called != nil && p.called.file != nil {
		for _, v := range p.called.values {
			p.evaluateArgument(ev, v.value, fr, &diags, func(value cty.Value) error { return ev.setCallVariable(p.called, v, value) })
		}
	}
	p.evaluateArgument(ev, p.task, fr, &diags, func(v cty.Value) (err error) { ev.task, err = taskOf(v); return err })
	return ev, diags
}

// arguments returns the program and its arguments.
func (ev *evaluation) arguments() []string {
	if ev.command != nil || ev.shell == nil {
		return ev.command
	}
	argv := make([]string, 0, len(ev.shell)+1)
	return append(append(argv, ev.shell...), ev.script)
}

func commandOf(value cty.Value) ([]string, error) {
	list, err := toStrings(value)
	if err != nil {
		return nil, fmt.Errorf("a list of strings is needed, but %w", err)
	}
	if !value.IsKnown() {
		return list, nil
	}
	if err := checkCommand(list, value.IsWhollyKnown()); err != nil {
		return nil, err
	}
	return list, nil
}

// checkCommand refuses arguments with which no process can start. If not all are known,
// unknown ones are "".
func checkCommand(argv []string, known bool) error {
	switch {
	case len(argv) == 0 || known && argv[0] == "":
		return errEmptyCommand
	case slices.ContainsFunc(argv, func(arg string) bool { return strings.ContainsRune(arg, 0) }):
		return errNUL
	}
	return nil
}

func scriptOf(value cty.Value) (string, error) {
	text, err := toText(value)
	switch {
	case err != nil:
		return "", errNotText
	case strings.ContainsRune(text, 0):
		return "", errNUL
	case value.IsKnown() && strings.TrimSpace(text) == "":
		return "", errEmptyScript
	}
	return text, nil
}

func directoryOf(value cty.Value) (string, error) {
	if value.IsNull() {
		return "", nil
	}
	text, err := toText(value)
	switch {
	case err != nil:
		return "", errNotText
	case text == "." || text == "":
		return "", nil
	case !glob.Inside(text):
		return "", errOutside
	}
	return path.Clean(text), nil
}
