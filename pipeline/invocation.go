package pipeline

import (
	"bytes"
	"errors"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/glob"
)

// These errors say why the value of a process argument is refused. They do not contain
// the value.
var (
	errEmptyCommand = errors.New("the command is empty")
	errEmptyScript  = errors.New("the script is empty")
	errNUL          = errors.New("it holds a NUL byte, which no process can receive")
	errNotText      = errors.New("a string is needed")
	errNotMap       = errors.New("a map of strings is needed, such as { NAME = \"value\" }")
	errOutside      = errors.New("it must be a path relative to the workspace, with slashes, and must not lead out of it")
	errEnvName      = errors.New("a name of an environment variable is empty or holds an equals sign or a NUL byte")
	errReservedEnv  = errors.New("names that begin with RUNNER_ are set by Runner itself")
)

// Invocation evaluates the process of the workstream. If the results lack a value that
// the expressions refer to, it returns a diagnostic.
func (w *Workstream) Invocation(r Results) (Invocation, hcl.Diagnostics) {
	if w.Unexpanded() {
		return Invocation{}, w.whyUnexpanded(r)
	}
	fr := w.evaluationFrame(&r)
	ev, diags := w.def.process.evaluate(fr)
	if diags.HasErrors() {
		return Invocation{}, diags
	}
	h := newHasher()
	h.writeList("inputs", inDigest(w.Inputs))
	h.writeList("artifacts", inDigest(w.Artifacts))
	h.writeField("effect", string(w.Effect))
	if len(w.SensitiveOutputs) > 0 { // without it, the value that stands on record is another one
		h.writeList("sensitive_outputs", sorted(w.SensitiveOutputs))
	}
	w.Isolate.addToDigest(h)
	w.def.process.addToDigest(h, ev, fr)
	diags = w.def.scope.addServices(h, w.Services, r)
	return w.def.process.invoked(ev, h), diags
}

// Verify evaluates the command that finds out whether the work of a once workstream
// happened. It returns false if the workstream has no such command.
func (w *Workstream) Verify(r Results) (Invocation, bool, hcl.Diagnostics) {
	if !w.Verifies() {
		return Invocation{}, false, nil
	}
	invocation, diags := w.def.verify.invocation(w.evaluationFrame(&r))
	return invocation, !diags.HasErrors(), diags
}

// Verifies reports whether the workstream has a verify command.
func (w *Workstream) Verifies() bool { return w.def.verify != nil && !w.Unexpanded() }

// Enabled evaluates when. If it returns false, the workstream is skipped.
func (w *Workstream) Enabled(r Results) (bool, hcl.Diagnostics) {
	if a := w.def.block.when; w.Unexpanded() && a != nil && a.kinds&kindEach != 0 {
		return true, nil // each instance decides for itself
	}
	return w.def.scope.condition(w.def.block.when, w.evaluationFrame(&r))
}

// WhenMetrics lists the metrics that `when` refers to.
func (w *Workstream) WhenMetrics() []string { return w.def.block.when.metrics() }

// metrics lists the metrics that an optional argument refers to.
func (a *argument) metrics() []string {
	if a == nil || a.kinds&kindMetric == 0 {
		return nil
	}
	var names []string
	for _, ref := range a.refs {
		if ref.kind == kindMetric && ref.name != "" && !slices.Contains(names, ref.name) {
			names = append(names, ref.name)
		}
	}
	return names
}

// NeedsResults reports whether the process or when uses a result of another workstream
// or a metric.
func (w *Workstream) NeedsResults() bool { return w.def.needsResults }

// SensitiveVariable stands in place of the digest of a sensitive variable.
const SensitiveVariable = "sensitive"

// Variables returns the digests of the variables that the process arguments, inputs and
// artifacts use: "sha256:…", or SensitiveVariable. The map must not be changed.
func (w *Workstream) Variables() map[string]string { return w.def.variableSums() }

// evaluationFrame returns the values that the expressions of the workstream may use.
func (w *Workstream) evaluationFrame(r *Results) frame {
	fr := deferredFrame(w.each)
	fr.results, fr.at = r, w.position()
	return fr
}

// invocation evaluates a process whose digest covers only the process.
func (p *processDef) invocation(fr frame) (Invocation, hcl.Diagnostics) {
	ev, diags := p.evaluate(fr)
	if diags.HasErrors() {
		return Invocation{}, diags
	}
	h := newHasher()
	p.addToDigest(h, ev, fr)
	return p.invoked(ev, h), nil
}

func (p *processDef) invoked(ev *evaluation, h *hasher) Invocation {
	return Invocation{
		Command: ev.arguments(), Call: p.called.invoked(ev), Dir: ev.dir, Env: ev.env, Task: ev.task, Definition: h.sum(), Range: p.subject(),
		Hidden: ev.hidden, Unresolved: ev.unresolved, EnvFileError: ev.envFileError,
	}
}

// subject returns the range in the file of the program of a command, or of the lines of
// a script. The lines of a heredoc begin after its marker.
func (p *process) subject() hcl.Range {
	if p.command != nil {
		if list, ok := withoutParentheses(p.command.expr).(*hclsyntax.TupleConsExpr); ok && len(list.Exprs) > 0 {
			return list.Exprs[0].Range()
		}
		return p.command.exprRange()
	}
	if p.call != nil {
		return p.call.block.DefRange()
	}
	if p.script == nil {
		return p.rng
	}
	rng := p.script.exprRange()
	if bytes.HasPrefix(p.script.source, []byte("<<")) {
		rng.Start.Line, rng.Start.Column = rng.Start.Line+1, 1
	}
	return rng
}

// condition evaluates an optional when.
func (s *scope) condition(a *argument, fr frame) (bool, hcl.Diagnostics) {
	if a == nil {
		return true, nil
	}
	value, diags := s.evaluate(a, fr, cty.Bool)
	if diags.HasErrors() {
		return false, diags
	}
	value, _ = withoutMarks(value)
	if value.IsNull() || !value.IsKnown() {
		return false, hcl.Diagnostics{{
			Severity: hcl.DiagError,
			Summary:  "Incorrect value type",
			Detail:   "The condition must be true or false, not null.",
			Subject:  a.exprRange().Ptr(),
		}}
	}
	return value.True(), nil
}

// addToDigest adds a process to a digest: opaque arguments by their tokens, other
// arguments by their values.
func (p *processDef) addToDigest(h *hasher, ev *evaluation, fr frame) {
	visible := func(a *argument) bool {
		if !slices.Contains(ev.opaque, a) {
			return true
		}
		p.scope.sumOpaque(h, a.name, a, fr)
		return false
	}
	if p.command != nil && visible(p.command) {
		h.writeList("command", ev.command)
	}
	if p.script != nil {
		if visible(p.script) {
			h.writeField("script", ev.script)
		}
		if p.shell == nil || visible(p.shell) {
			h.writeList("shell", ev.shell)
		}
	}
	if ev.dirFrom != nil && visible(ev.dirFrom) && ev.dir != "" {
		h.writeField("dir", ev.dir)
	}
	if p.task != nil && visible(p.task) {
		h.writeField("task", ev.task)
	}
	p.addEnvToDigest(h, ev, fr)
	p.addCallToDigest(h, ev, fr)
}

func sorted(list []string) []string {
	if slices.IsSorted(list) {
		return list
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// inDigest returns a list of globs in the form that digests count. It sorts the list,
// unless the list has an exclusion and its order matters.
func inDigest(globs []string) []string {
	if slices.ContainsFunc(globs, glob.IsExclusion) {
		return globs
	}
	return sorted(globs)
}
