package pipeline

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// declareSensitiveOutputs evaluates which outputs are sensitive. It runs before the builder
// checks the references of processes.
func (b *builder) declareSensitiveOutputs() {
	for _, def := range b.blocks {
		a := def.block.sensitiveOutputs
		if a == nil {
			continue
		}
		def.sensitiveOutputs = b.stringList(a, constantFrame(noEach))
		b.pipeline.sensitiveOutputs = b.pipeline.sensitiveOutputs || len(def.sensitiveOutputs) > 0
		for i, name := range def.sensitiveOutputs {
			if !isPlainIdentifier(name) || name == "summary" || name == "location" {
				b.errorf("Invalid output name", a.element(i, len(def.sensitiveOutputs)), "%q cannot be the name of an output. Names have letters, digits, _ and -, and begin with a letter or _; summary and location are no outputs.", name)
			}
		}
	}
}

// checkSensitiveOutputs checks that a workstream with sensitive outputs can run again: their
// values are not stored, so that is the only way to get them again.
func (b *builder) checkSensitiveOutputs(ws *Workstream) {
	a := ws.def.block.sensitiveOutputs
	if ws.SensitiveOutputs = ws.def.sensitiveOutputs; len(ws.SensitiveOutputs) == 0 {
		return
	}
	const notStored = "The values of sensitive outputs are not stored, and a run that needs them again runs the workstream again"
	if ws.Effect == Once {
		b.errorf("Sensitive output of a once workstream", a.exprRange(), `%s. So it cannot have effect = "once". Let a workstream of its own get the value.`, notStored)
	}
	if ws.Cache {
		b.errorf("Cache of sensitive outputs", a.exprRange(), `%s. So its results cannot be reused: remove "cache".`, notStored)
	}
}

// sensitiveAmong lists those of the names that a reference to a workstream reads as outputs.
func (r reference) sensitiveAmong(names []string) []string {
	if len(r.rest) == 0 {
		return names
	}
	if attr, _ := stepName(r.rest[0]); attr != "outputs" {
		return nil
	}
	if len(r.rest) == 1 {
		return names
	}
	name, ok := stepName(r.rest[1])
	switch {
	case !ok:
		return names
	case slices.Contains(names, name):
		return []string{name}
	}
	return nil
}

// sensitiveOutputs lists the sensitive outputs to which a reference leads.
func (s *scope) sensitiveOutputs(ref reference) []string {
	def := s.blocks[ref.name]
	if ref.kind != kindWorkstream || def == nil || len(def.sensitiveOutputs) == 0 {
		return nil
	}
	return ref.sensitiveAmong(def.sensitiveOutputs)
}

// outputPlace names an output of a workstream, as an expression does.
func outputPlace(workstream, name string) string {
	return "workstream." + workstream + ".outputs." + name
}

// sensitiveOutputNames lists the sensitive outputs that an expression uses, sorted.
func (s *scope) sensitiveOutputNames(a *argument) []string {
	if a.kinds&kindWorkstream == 0 {
		return nil
	}
	var names []string
	for _, ref := range a.refs {
		for _, name := range s.sensitiveOutputs(ref) {
			names = appendNew(names, []string{outputPlace(ref.name, name)})
		}
	}
	slices.Sort(names)
	return names
}

// checkSensitiveOutput refuses a sensitive output where it is needed before a process
// starts. In a run that continues a session, it may not be known by then.
func (b *builder) checkSensitiveOutput(a *argument, ref reference, fr frame) *hcl.Diagnostic {
	names := b.scope.sensitiveOutputs(ref)
	if len(names) == 0 || fr.allow&kindSecret != 0 {
		return nil
	}
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Sensitive output not allowed",
		Detail:   "The sensitive output " + names[0] + " of " + ref.name + " is not stored, so it is known only when a process is about to start. It can stand only in arguments of processes, such as env, command and script, and not in \"" + a.name + "\".",
		Subject:  ref.rng.Ptr(),
	}
}

// outputsValue returns the outputs of a completed instance. Sensitive ones are marked, and
// unknown if the results do not have their values.
func (w *Workstream) outputsValue(result Result, v view) cty.Value {
	if len(result.Outputs) == 0 {
		return cty.MapValEmpty(cty.String)
	}
	values := make(map[string]cty.Value, len(result.Outputs))
	for name, text := range result.Outputs {
		values[name] = cty.StringVal(text)
		if !slices.Contains(w.SensitiveOutputs, name) {
			continue
		}
		place := outputPlace(w.Block, name)
		held, ok := result.Sensitive[name]
		switch {
		case v == viewPlaceholder:
			values[name] = placeholder(place, cty.String)
		case v == viewUnknown || !ok:
			values[name] = cty.UnknownVal(cty.String)
		default:
			values[name] = cty.StringVal(held)
		}
		if v == viewReal {
			values[name] = values[name].Mark(sensitiveMark(place))
		}
	}
	return cty.MapVal(values)
}

// SensitiveNeed is a sensitive output that a process needs.
type SensitiveNeed struct{ Workstream, Output string }

// SensitiveNeeds lists the sensitive outputs that the processes of the workstream need.
func (w *Workstream) SensitiveNeeds() []SensitiveNeed {
	fr := w.evaluationFrame(nil)
	needs := w.def.process.sensitiveNeeds(fr)
	if w.def.verify != nil {
		needs = append(needs, w.def.verify.sensitiveNeeds(fr)...)
	}
	return needs
}

// SensitiveNeeds lists the sensitive outputs that the process of the gate needs.
func (g *Gate) SensitiveNeeds() []SensitiveNeed {
	if g.def.process == nil {
		return nil
	}
	return g.def.process.sensitiveNeeds(g.evaluationFrame(nil))
}

// SensitiveNeeds lists the sensitive outputs that the process of the hook needs.
func (h *Hook) SensitiveNeeds() []SensitiveNeed {
	return h.def.process.sensitiveNeeds(hookFrame(h.On))
}

func (p *processDef) sensitiveNeeds(fr frame) []SensitiveNeed {
	var needs []SensitiveNeed
	for a := range p.arguments {
		for _, ref := range a.refs {
			names := p.scope.sensitiveOutputs(ref)
			if len(names) == 0 {
				continue
			}
			named, _, _ := p.scope.targets(ref, fr) // the builder has reported mistakes
			for ws := range allInstances(named) {
				for _, name := range names {
					needs = append(needs, SensitiveNeed{ws.Name, name})
				}
			}
		}
	}
	return needs
}

// isPlace reports whether the name of a sensitive value is a reference, and not the name of
// a variable.
func isPlace(name string) bool { return strings.Contains(name, ".") }
