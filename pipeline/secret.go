package pipeline

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// secretTimeout bounds the command that prints a secret, since a process waits for it.
const secretTimeout = time.Minute

// secretBlock is a secret as the file has it.
type secretBlock struct {
	name    string
	block   *hclsyntax.Block
	process process
	env     *argument
	file    *argument
	timeout *argument
}

var secretSchema = &hcl.BodySchema{Attributes: attributes("command", "script", "shell", "env", "file", "timeout")}

func (d *decoder) decodeSecret(block *hclsyntax.Block) *secretBlock {
	content := d.content(block.Body, secretSchema)
	s := &secretBlock{
		name:    d.identifier(block),
		block:   block,
		process: d.decodeProgram(content, block.DefRange()),
		env:     d.argument(content, "env"),
		file:    d.argument(content, "file"),
		timeout: d.argument(content, "timeout"),
	}
	sources := 0
	for _, given := range []bool{s.process.exists(), s.env != nil, s.file != nil} {
		if given {
			sources++
		}
	}
	if sources != 1 && !saidUnderOtherName(block.Body, "script") {
		d.report("Invalid secret", `A secret has exactly one source: "command" or "script", a process that prints it; "env", the name of an environment variable of Runner; or "file", a file that holds it.`, block.DefRange())
	}
	return s
}

// SecretSource says where the value of a secret comes from. Runner gets the value when a
// process that needs it is about to start.
type SecretSource struct {
	Name    string
	Env     string        // the name of a variable of Runner's environment; "": it is not the source
	File    string        // the path of a file, absolute or relative to the workspace; "": it is not the source
	Timeout time.Duration // of the process, if that is the source
	Range   hcl.Range

	process *processDef
}

// SecretSource returns the source of the secret with the given name, or nil.
func (p *Pipeline) SecretSource(name string) *SecretSource {
	i := slices.IndexFunc(p.SecretSources, func(s *SecretSource) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return p.SecretSources[i]
}

// Invocation evaluates the process that prints the secret. ok is false if it has another
// source.
func (s *SecretSource) Invocation() (inv Invocation, ok bool, diags hcl.Diagnostics) {
	if !s.process.exists() {
		return Invocation{}, false, nil
	}
	inv, diags = s.process.invocation(secretFrame())
	return inv, true, diags
}

// secretFrame returns the values that the process of a secret may use.
func secretFrame() frame { return frame{allow: kindVar | kindLocal | kindPipeline} }

// declareSecrets records the names of the secrets, so that expressions can refer to them.
func (b *builder) declareSecrets(blocks []*secretBlock) {
	for _, block := range blocks {
		if first := b.pipeline.SecretSource(block.name); first != nil {
			b.errorf("Duplicate secret name", block.block.LabelRanges[0], "The name %q is already taken by the secret at line %d; rename one of them.", block.name, first.Range.Start.Line)
			continue
		}
		b.pipeline.SecretSources = append(b.pipeline.SecretSources, &SecretSource{Name: block.name, Range: block.block.DefRange()})
	}
}

// buildSecrets evaluates the secrets that declareSecrets has recorded.
func (b *builder) buildSecrets(blocks []*secretBlock, defaults *defaultsDef) {
	fr := constantFrame(noEach)
	for _, block := range blocks {
		s := b.pipeline.SecretSource(block.name)
		if s.process != nil {
			continue // a duplicate
		}
		s.Env, s.File, s.Timeout = b.evalText(block.env, fr), b.evalText(block.file, fr), b.duration(block.timeout, fr)
		if s.Timeout == 0 {
			s.Timeout = secretTimeout
		}
		s.process = b.newProcessDef(block.process, defaults)
		b.checkProcess(s.process, secretFrame())
	}
}

// secretNames yields the names of the secrets.
func (p *Pipeline) secretNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range p.SecretSources {
			if !yield(s.Name) {
				return
			}
		}
	}
}

// Secrets lists the secrets that the process of the workstream needs.
func (w *Workstream) Secrets() []string { return w.def.process.secrets }

// VerifySecrets lists the secrets that the verify command needs.
func (w *Workstream) VerifySecrets() []string {
	if w.def.verify == nil {
		return nil
	}
	return w.def.verify.secrets
}

// Secrets lists the secrets that the process of the gate needs, if it has one.
func (g *Gate) Secrets() []string {
	if g.def.process == nil {
		return nil
	}
	return g.def.process.secrets
}

// Secrets lists the secrets that the process of the hook needs.
func (h *Hook) Secrets() []string { return h.def.process.secrets }

// Secrets lists the secrets that the process of the review needs.
func (r *Review) Secrets() []string { return r.process.secrets }

// secrets lists the secrets to which an argument refers.
func (a *argument) secrets() []string {
	if a.kinds&kindSecret == 0 {
		return nil
	}
	var names []string
	for _, ref := range a.refs {
		if ref.kind == kindSecret && !slices.Contains(names, ref.name) {
			names = append(names, ref.name)
		}
	}
	slices.Sort(names)
	return names
}

// secretPrefix stands before the name of a secret where sensitive variables are listed, too.
const secretPrefix = "secret."

// secretValue returns the object `secret` of the secrets to which an expression refers. A
// value that is not resolved is unknown.
func secretValue(a *argument, results *Results, v view) cty.Value {
	values := map[string]cty.Value{}
	for _, name := range a.secrets() {
		value := cty.UnknownVal(cty.String)
		switch v {
		case viewPlaceholder:
			value = placeholder(secretPrefix+name, cty.String)
		case viewUnknown:
		case viewReal:
			if text, ok := results.secret(name); ok {
				value = cty.StringVal(text)
			}
			value = value.Mark(sensitiveMark(secretPrefix + name))
		}
		values[name] = value
	}
	return cty.ObjectVal(values)
}

// secret returns the value of a secret, if it is resolved.
func (r *Results) secret(name string) (string, bool) {
	if r == nil || r.Secret == nil {
		return "", false
	}
	return r.Secret(name)
}

// unresolved lists the secrets that an argument needs and that are not resolved. If its
// value is not known, it also lists the sensitive outputs that it uses.
func (s *scope) unresolved(a *argument, results *Results, value cty.Value) []string {
	var names []string
	for _, name := range a.secrets() {
		if _, ok := results.secret(name); !ok {
			names = append(names, secretPrefix+name)
		}
	}
	if results != nil && !value.IsWhollyKnown() {
		names = append(names, s.sensitiveOutputNames(a)...)
	}
	return names
}

// sensitiveReferences returns references to what sensitiveNames lists.
func sensitiveReferences(names []string) string {
	references := make([]string, len(names))
	for i, name := range names {
		if references[i] = name; !isPlace(name) {
			references[i] = "var." + name
		}
	}
	return strings.Join(references, ", ")
}
