package pipeline

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"prdrunner/pipeline/files"
	"prdrunner/pipeline/functions"
)

// view is one of three ways to evaluate expressions over sensitive values.
type view int

const (
	// viewReal has all values as they are.
	viewReal view = iota
	// viewUnknown has sensitive variables as unknown values. An error in this view does
	// not depend on the values, so its message may be shown.
	viewUnknown
	// viewPlaceholder has a fixed value of the right type for every sensitive variable and
	// for run.*. It is used for digests.
	viewPlaceholder
)

// scope holds the values of the whole pipeline. After the pipeline is built it is
// immutable and safe for concurrent use.
type scope struct {
	files     *files.Workspace
	functions map[string]function.Function
	variables map[string]*variable
	locals    map[string]*local
	order     []*local // each comes after the locals that it refers to
	header    map[string]cty.Value
	blocks    map[string]*workstreamDef
	gates     map[string][]*gateOwner // by name
	services  map[string]*Service
	artifacts func() []*artifactGlob       // the artifacts of all workstreams, sorted by prefix
	linked    func() []*artifactGlob       // artifact globs and the files that they match through links, at the time of the first call
	onRead    func(*fileReads, files.Call) // called for each call while the pipeline is built

	sealed bool // all locals have values
	real   *hcl.EvalContext
	views  [3]func() *hcl.EvalContext // made at first use
}

func newScope(workspace *files.Workspace) *scope {
	s := &scope{
		files:     workspace,
		functions: functions.Standard(),
		variables: map[string]*variable{},
		locals:    map[string]*local{},
		header:    map[string]cty.Value{},
		blocks:    map[string]*workstreamDef{},
		gates:     map[string][]*gateOwner{},
		services:  map[string]*Service{},
	}
	maps.Copy(s.functions, workspace.Functions(functions.Standard(), nil))
	for _, v := range []view{viewUnknown, viewPlaceholder} {
		s.views[v] = sync.OnceValue(func() *hcl.EvalContext { return s.otherView(v) })
	}
	return s
}

// setVariables makes the variables visible, after all have values.
func (s *scope) setVariables() {
	values := make(map[string]cty.Value, len(s.variables))
	for name, v := range s.variables {
		values[name] = v.value
	}
	s.real = &hcl.EvalContext{Functions: s.functions, Variables: map[string]cty.Value{"var": cty.ObjectVal(values)}}
}

// setLocals makes the locals visible, after all have values.
func (s *scope) setLocals() {
	values := make(map[string]cty.Value, len(s.locals))
	for name, l := range s.locals {
		values[name] = l.value
	}
	s.real.Variables["local"] = cty.ObjectVal(values)
	s.sealed = true
}

// takeOver takes over the values of variables and locals.
func (s *scope) takeOver(from *scope) {
	s.variables, s.locals, s.order = from.variables, from.locals, from.order
	s.setVariables()
	s.setLocals()
}

// setHeader makes pipeline.* visible.
func (s *scope) setHeader() {
	s.real.Variables["pipeline"] = cty.ObjectVal(s.header)
}

// rootContext returns the context with all values of the file.
func (s *scope) rootContext(v view) *hcl.EvalContext {
	if v == viewReal {
		return s.real
	}
	if !s.sealed {
		return s.otherView(v)
	}
	return s.views[v]()
}

// otherView returns a context in which sensitive variables are unknown or placeholders.
// It evaluates the sensitive locals again with these.
func (s *scope) otherView(v view) *hcl.EvalContext {
	vars := make(map[string]cty.Value, len(s.variables))
	for name, variable := range s.variables {
		switch {
		case !variable.sensitive:
			vars[name] = variable.value
		case v == viewPlaceholder:
			vars[name] = placeholder("var."+name, variable.block.typ.WithoutOptionalAttributesDeep())
		default:
			vars[name] = cty.UnknownVal(variable.block.typ.WithoutOptionalAttributesDeep())
		}
	}
	ctx := &hcl.EvalContext{Functions: s.functions, Variables: map[string]cty.Value{"var": cty.ObjectVal(vars)}}
	locals := make(map[string]cty.Value, len(s.locals))
	for name, l := range s.locals {
		locals[name] = l.value
	}
	for _, l := range s.order {
		if !s.isSensitive(l.variables) {
			continue
		}
		inner := ctx.NewChild()
		inner.Variables = map[string]cty.Value{"local": localObject(l.def.value, locals)}
		value, diags := l.def.value.expr.Value(inner)
		if diags.HasErrors() {
			value = cty.DynamicVal
		}
		locals[l.def.name] = value
	}
	ctx.Variables["local"] = cty.ObjectVal(locals)
	ctx.Variables["pipeline"] = cty.ObjectVal(s.header)
	return ctx
}

// localObject returns an object of the locals to which an expression refers.
func localObject(a *argument, values map[string]cty.Value) cty.Value {
	needed := map[string]cty.Value{}
	for _, ref := range a.refs {
		if value, ok := values[ref.name]; ok && ref.kind == kindLocal {
			needed[ref.name] = value
		}
	}
	return cty.ObjectVal(needed)
}

func (s *scope) isSensitive(variables []string) bool {
	for _, name := range variables {
		if s.variables[name].sensitive {
			return true
		}
	}
	return false
}

// sensitiveNames lists the sensitive variables that an expression uses, also through
// locals, and references to secrets and sensitive outputs.
func (s *scope) sensitiveNames(a *argument) []string {
	if a.kinds&(kindVar|kindLocal|kindSecret|kindWorkstream) == 0 {
		return nil
	}
	var names []string
	for _, name := range s.variablesOf(a) {
		if s.variables[name].sensitive {
			names = append(names, name)
		}
	}
	for _, name := range a.secrets() {
		names = append(names, secretPrefix+name)
	}
	return append(names, s.sensitiveOutputNames(a)...)
}

// frame describes what an expression may use in addition to the values of the file.
type frame struct {
	allow     kinds      // the kinds of reference that are allowed
	noResults string     // why a process, which may use run, can't use results; "" if it can
	each      *each      // noEach outside of for_each
	results   *Results   // nil: results are unknown
	at        position   // the position in the run; only for expressions that may use results
	reads     *fileReads // records the files that functions read; may be nil
	nullable  bool       // null is a value, not an error
	partial   bool       // unknown elements are allowed, because the caller checks for them
}

// context is the evaluation context of one expression in one view.
func (s *scope) context(a *argument, fr frame, v view) (*hcl.EvalContext, hcl.Diagnostics) {
	root := s.rootContext(v)
	needs := a.kinds & (kindEach | kindDeferred | kindService | kindSecret)
	// Until all locals have values, an expression sees only those to which it refers. The
	// other views have all locals already.
	needsLocals := !s.sealed && v == viewReal && a.kinds&kindLocal != 0
	if needs == 0 && !needsLocals && fr.reads == nil {
		return root, nil
	}
	ctx := root.NewChild()
	if fr.reads != nil {
		ctx.Functions = s.files.Functions(s.functions, fr.reads)
	}
	ctx.Variables = make(map[string]cty.Value, 2)
	if needsLocals {
		values := make(map[string]cty.Value, len(a.refs))
		for _, ref := range a.refs {
			if l := s.locals[ref.name]; l != nil && ref.kind == kindLocal {
				values[ref.name] = l.value
			}
		}
		ctx.Variables["local"] = cty.ObjectVal(values)
	}
	if fr.each != noEach {
		ctx.Variables["each"] = fr.each.object()
	}
	return ctx, s.addResults(ctx, a, fr, v)
}

// evaluate evaluates an expression. Its diagnostics never hold sensitive values.
func (s *scope) evaluate(a *argument, fr frame, want cty.Type) (cty.Value, hcl.Diagnostics) {
	value, diags := s.valueIn(a, fr, want, viewReal)
	if !diags.HasErrors() {
		return value, nil
	}
	if _, unavailable := s.context(a, fr, viewReal); !unavailable.HasErrors() {
		if missing := s.missingOutputs(a, fr); missing.HasErrors() { // they hold names, and no values
			return cty.UnknownVal(want), missing
		}
	}
	if names := s.sensitiveNames(a); len(names) > 0 {
		_, safe := s.valueIn(a, fr, want, viewUnknown)
		diags = withhold(diags, safe, names)
	}
	return cty.UnknownVal(want), diags
}

func (s *scope) valueIn(a *argument, fr frame, want cty.Type, v view) (cty.Value, hcl.Diagnostics) {
	fr.reads = s.readsOf(a, fr)
	ctx, diags := s.context(a, fr, v)
	if diags.HasErrors() {
		return cty.UnknownVal(want), diags
	}
	value, diags := a.expr.Value(ctx)
	if fr.reads != nil && fr.reads.missing.HasErrors() {
		diags = fr.reads.missing // also if try() has caught the error
	}
	if diags.HasErrors() {
		return cty.UnknownVal(want), diags
	}
	if want == cty.DynamicPseudoType || value.Type() == want {
		return value, nil
	}
	converted, err := convert.Convert(value, want)
	if err != nil {
		return cty.UnknownVal(want), hcl.Diagnostics{{
			Severity:    hcl.DiagError,
			Summary:     "Incorrect value type",
			Detail:      fmt.Sprintf("The value of %q is not suitable: %s.", a.name, convertReason(err)),
			Subject:     a.exprRange().Ptr(),
			Expression:  a.expr,
			EvalContext: ctx,
		}}
	}
	return converted, nil
}

// convertReason returns the message of a conversion error, with the path in the value.
func convertReason(err error) string {
	var path strings.Builder
	if pathErr, ok := err.(cty.PathError); ok { //nolint:errorlint // Convert returns it unwrapped
		for _, step := range pathErr.Path {
			switch step := step.(type) {
			case cty.GetAttrStep:
				path.WriteString("." + step.Name)
			case cty.IndexStep:
				path.WriteString("[…]")
			}
		}
	}
	if path.Len() > 0 {
		return "at " + path.String() + ": " + err.Error()
	}
	return err.Error()
}

// sumValue returns the digest of a value, which must be wholly known and unmarked.
func sumValue(value cty.Value) string {
	data, err := ctyjson.Marshal(value, value.Type())
	if err != nil {
		// Only capsules and unknown values fail. No expression returns a capsule.
		data = []byte(value.GoString())
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
}
