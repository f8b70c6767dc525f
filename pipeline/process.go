package pipeline

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// defaultShell runs a script where neither it nor the defaults name a shell.
var defaultShell = []string{"sh", "-euc"}

// process is what workstreams, gates and hooks have in common: a command or a
// script, and where it runs. All of it is evaluated when it is needed, so that
// it may use the results of earlier workstreams.
type process struct {
	command *argument
	script  *argument
	shell   *argument
	dir     *argument
	env     *argument
	rng     hcl.Range
}

// processAttributes are the arguments of a process.
var processAttributes = []string{"command", "script", "shell", "dir", "env"}

// decodeProcess reads the arguments of a process, and checks that they fit
// together. Whether there must be one is for the caller to say.
func (d *decoder) decodeProcess(content *hcl.BodyContent, rng hcl.Range) process {
	p := process{
		command: d.argument(content, "command"),
		script:  d.argument(content, "script"),
		shell:   d.argument(content, "shell"),
		dir:     d.argument(content, "dir"),
		env:     d.argument(content, "env"),
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

func (p *process) exists() bool { return p.command != nil || p.script != nil }

// arguments lists those that are given.
func (p *process) arguments() []*argument {
	var given []*argument
	for _, a := range []*argument{p.command, p.script, p.shell, p.dir, p.env} {
		if a != nil {
			given = append(given, a)
		}
	}
	return given
}

// processDef is a process that can be evaluated.
type processDef struct {
	process
	scope *scope
	// fixed evaluates what means the same at all times and in all instances, once.
	// nil: it may not.
	fixed func() (*evaluation, hcl.Diagnostics)
}

// newProcessDef takes the shell from the defaults where a script has none.
func (b *builder) newProcessDef(p process, defaults *defaultsDef) *processDef {
	if p.script != nil && p.shell == nil {
		p.shell = defaults.shell
	}
	def := &processDef{process: p, scope: b.scope}
	if p.isFixed() {
		def.fixed = sync.OnceValues(func() (*evaluation, hcl.Diagnostics) { return def.evaluateIn(constantFrame(noEach)) })
	}
	return def
}

// isFixed reports whether a process means the same at all times and in all
// instances. What a function gives may depend on files.
func (p *process) isFixed() bool {
	return !slices.ContainsFunc(p.arguments(), func(a *argument) bool {
		return a.kinds&(kindEach|kindDeferred) != 0 || len(a.calls) > 0
	})
}

// evaluation is an evaluated process, with what its digest needs.
type evaluation struct {
	command []string
	shell   []string
	script  string
	dir     string
	env     map[string]string
	opaque  []*argument // count by their tokens, not by their values
}

// read evaluates one argument. What is unknown is checked as far as its type
// allows.
func (p *processDef) read(ev *evaluation, a *argument, fr frame, diags *hcl.Diagnostics, use func(cty.Value) error) {
	if a == nil {
		return
	}
	value, more := p.scope.value(a, fr, cty.DynamicPseudoType)
	if more.HasErrors() {
		*diags = append(*diags, more...)
		return
	}
	value, marked := plain(value)
	if fr.results != nil && a.kinds&kindDeferred != 0 && !value.IsWhollyKnown() {
		// An unknown part reads as "", which must never become a command.
		*diags = append(*diags, &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: "Value not known",
			Detail: fmt.Sprintf("The value of %q depends on something that has not happened yet.", a.name), Subject: a.rng().Ptr(),
		})
		return
	}
	if marked || a.kinds&kindRun != 0 {
		ev.opaque = append(ev.opaque, a)
	}
	if err := use(value); err != nil {
		*diags = append(*diags, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Incorrect value type",
			Detail:   fmt.Sprintf("The value of %q is not suitable: %s.", a.name, err),
			Subject:  a.rng().Ptr(),
		})
	}
}

// evaluate reads the whole process. The evaluation must not be changed.
func (p *processDef) evaluate(fr frame) (*evaluation, hcl.Diagnostics) {
	if p.fixed != nil {
		return p.fixed()
	}
	return p.evaluateIn(fr)
}

func (p *processDef) evaluateIn(fr frame) (*evaluation, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	ev := &evaluation{}
	p.read(ev, p.command, fr, &diags, func(v cty.Value) (err error) { ev.command, err = commandOf(v); return err })
	if p.script != nil {
		ev.shell = defaultShell
		p.read(ev, p.script, fr, &diags, func(v cty.Value) (err error) { ev.script, err = scriptOf(v); return err })
		p.read(ev, p.shell, fr, &diags, func(v cty.Value) (err error) { ev.shell, err = commandOf(v); return err })
	}
	p.read(ev, p.dir, fr, &diags, func(v cty.Value) (err error) { ev.dir, err = dirOf(v); return err })
	p.read(ev, p.env, fr, &diags, func(v cty.Value) (err error) { ev.env, err = envOf(v); return err })
	return ev, diags
}

// argv is the process as a list of arguments.
func (ev *evaluation) argv() []string {
	if ev.command != nil {
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
	if value.IsKnown() && len(list) == 0 {
		return nil, errEmptyCommand
	}
	known := value.IsWhollyKnown()
	for i, arg := range list {
		if strings.ContainsRune(arg, 0) {
			return nil, errNUL
		}
		if known && i == 0 && arg == "" {
			return nil, errEmptyCommand
		}
	}
	return list, nil
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

func dirOf(value cty.Value) (string, error) {
	if value.IsNull() {
		return "", nil
	}
	text, err := toText(value)
	switch {
	case err != nil:
		return "", errNotText
	case text == "." || text == "":
		return "", nil
	case !inside(text):
		return "", errOutside
	}
	return path.Clean(text), nil
}

func envOf(value cty.Value) (map[string]string, error) {
	typ := value.Type()
	isMap := typ.IsMapType() || typ.IsObjectType()
	switch {
	case value.IsNull():
		return nil, nil
	case !value.IsKnown():
		if typ != cty.DynamicPseudoType && !isMap {
			return nil, errNotMap
		}
		return nil, nil
	case !isMap:
		return nil, errNotMap
	}
	env := make(map[string]string, value.LengthInt())
	for it := value.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		name := key.AsString()
		if err := checkEnvName(name); err != nil {
			return nil, err
		}
		if elem.IsKnown() && elem.IsNull() {
			continue // as if it were not there
		}
		text, err := toText(elem)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("%s: %w", name, errNUL)
		}
		env[name] = text
	}
	return env, nil
}

func checkEnvName(name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return errEnvName
	case strings.HasPrefix(name, "RUNNER_"):
		return fmt.Errorf("%s: %w", name, errReservedEnv)
	}
	return nil
}
