package pipeline

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/suggest"
)

// A reference to gate.NAME.inputs.X is one to what a person gave with the approval of the
// gate. It needs that the gate is judged before the expression is evaluated.

// gateOwner is a gate of one workstream block or one phase of the file.
type gateOwner struct {
	block  *gateBlock
	phase  *phaseDef
	ws     *workstreamDef // nil for a gate of a phase
	before []*gateBlock   // the gates of the same owner that are judged before it
}

// label returns the label of the gate. The workstream must not have for_each.
func (g *gateOwner) label() string {
	if g.ws != nil {
		return g.block.name + " (" + g.ws.block.name + ")"
	}
	return g.block.name + " (" + g.phase.block.name + ")"
}

func (g *gateOwner) owner() string {
	if g.ws != nil {
		return "the workstream " + g.ws.block.name
	}
	return "the phase " + g.phase.block.name
}

// asks reports whether people give inputs with the approval of the gate.
func (g *gateOwner) asks() bool { return g.block.approval != nil && len(g.block.approval.inputs) > 0 }

// declareGates records which gates the workstreams and phases have, by name.
func (b *builder) declareGates() {
	add := func(gates []*gateBlock, phase *phaseDef, ws *workstreamDef) {
		for i, block := range gates {
			b.scope.gates[block.name] = append(b.scope.gates[block.name], &gateOwner{block: block, phase: phase, ws: ws, before: gates[:i]})
		}
	}
	for _, phase := range b.phases {
		for _, def := range phase.defs {
			var gates []*gateBlock
			for _, a := range def.block.sharedGates {
				if gate := b.gates[a.refs[0].name]; gate != nil {
					gates = append(gates, gate)
				}
			}
			add(append(gates, def.block.gates...), phase, def)
		}
		add(phase.block.gates, phase, nil)
	}
}

// answering returns the gate to whose inputs a reference leads, nil if that is not certain.
func (s *scope) answering(ref reference) *gateOwner {
	var found *gateOwner
	for _, g := range s.gates[ref.name] {
		if g.asks() {
			if found != nil {
				return nil
			}
			found = g
		}
	}
	return found
}

// checkGateName checks that a reference leads to an input of a single gate.
func (b *builder) checkGateName(ref reference, failed func(summary, detail string, args ...any) *hcl.Diagnostic) *hcl.Diagnostic {
	var asking []*gateOwner
	for _, g := range b.scope.gates[ref.name] {
		if g.asks() {
			asking = append(asking, g)
		}
	}
	attr, _, hasAttr := ref.attribute()
	switch {
	case len(b.scope.gates[ref.name]) == 0:
		return failed("Unknown gate", "No workstream or phase has a gate %q.%s", ref.name, suggest.DidYouMean(ref.name, maps.Keys(b.scope.gates)))
	case len(asking) == 0:
		return failed("Invalid reference", "The gate %s has no value: only an approval with an input block has one, such as approval { input %q { type = string } }. The list \"gates\" of a workstream may name a shared gate.", ref.name, "feedback")
	case len(asking) > 1:
		return failed("Ambiguous gate", "More than one gate is called %q, in %s and in %s, so it is not certain whose inputs are meant. Rename one of them.", ref.name, asking[0].owner(), asking[1].owner())
	case asking[0].ws != nil && asking[0].ws.forEach:
		return failed("Ambiguous gate", "The gate %s asks once for each instance of the workstream %s, so it is not certain whose inputs are meant. Ask with a gate of the phase.", ref.name, asking[0].ws.block.name)
	case !hasAttr || attr != "inputs":
		return failed("Invalid reference", "A gate has inputs, and nothing else; write gate.%s.inputs.NAME.", ref.name)
	case len(ref.rest) < 2:
		return nil
	}
	names := asking[0].block.approval.inputNames()
	if name, ok := stepName(ref.rest[1]); ok && asking[0].block.approval.input(name) == nil {
		return failed("Unknown input", "The approval of the gate %s has no input %q; it has: %s.%s", ref.name, name, suggest.Listing(names), suggest.DidYouMean(name, names))
	}
	return nil
}

// checkAnswers checks that every gate whose inputs an argument uses is certain to be judged
// at a position. It returns the labels of these gates.
func (b *builder) checkAnswers(a *argument, pos position) []string {
	if a == nil || a.kinds&kindGate == 0 || !b.checked[a] {
		return nil
	}
	var labels []string
	for _, ref := range a.refs {
		if ref.kind != kindGate {
			continue
		}
		g := b.scope.answering(ref)
		if reason := pos.comesAfter(g); reason != "" {
			b.errorf("Answer of a gate that is not judged earlier", ref.rng, "%s", reason)
			continue
		}
		if label := g.label(); !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// comesAfter returns why a gate is not certain to be judged at a position, or "" if it is
// certain.
func (pos position) comesAfter(g *gateOwner) string {
	number := g.phase.phase.Number
	switch {
	case number < pos.phase.Number:
		return ""
	case number > pos.phase.Number:
		return fmt.Sprintf("The gate %s belongs to the later phase %q, so %s cannot use its inputs.", g.label(), g.phase.block.name, pos.describe())
	case pos.gate != nil && pos.ofOwner(g):
		if pos.gate == g.block || !slices.Contains(pos.earlier, g.block) {
			return fmt.Sprintf("The gate %s is not judged before this one. Move it before this one, or refer to a gate of an earlier phase.", g.label())
		}
		return ""
	case pos.ws != nil && g.ws == pos.ws.def:
		return fmt.Sprintf("The gate %s is judged when the workstream has run, so %s cannot use its inputs. Refer to a gate of an earlier phase.", g.label(), pos.describe())
	case g.ws == nil:
		return fmt.Sprintf("The gate %s is judged when all workstreams of its phase have completed, so %s cannot use its inputs. Refer to a gate of an earlier phase.", g.label(), pos.describe())
	}
	return strings.Replace(pos.reaches(target{def: g.ws}), " its result", " the inputs of its gate", 1)
}

// ofOwner reports whether a gate has the same owner as the gate of the position.
func (pos position) ofOwner(g *gateOwner) bool {
	if pos.ws == nil {
		return g.ws == nil
	}
	return g.ws == pos.ws.def
}

// gateValue returns the object `gate`. It holds the gates to which the expression refers.
func (s *scope) gateValue(a *argument, fr frame) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	gates := map[string]cty.Value{}
	for _, ref := range a.refs {
		g := s.answering(ref)
		if ref.kind != kindGate || g == nil {
			continue
		}
		gates[ref.name] = g.block.approval.unknownAnswers()
		if fr.results == nil {
			continue
		}
		switch answer, ok := fr.results.answer(g.label()); {
		case ok:
			gates[ref.name] = g.block.approval.answers(answer)
		case !fr.results.Open:
			diags = append(diags, &hcl.Diagnostic{
				Severity: hcl.DiagError, Summary: "Result not available",
				Detail: fmt.Sprintf("The gate %s has no answer: it has not passed.", g.label()), Subject: ref.rng.Ptr(),
			})
		}
	}
	return cty.ObjectVal(gates), diags
}

// answer returns the answer to an approval.
func (r *Results) answer(label string) (Answer, bool) {
	if r.Answer == nil {
		return Answer{}, false
	}
	return r.Answer(label)
}

// missingAnswers explains a failed evaluation: the expression names inputs that were not
// given.
func (s *scope) missingAnswers(a *argument, fr frame) hcl.Diagnostics {
	var diags hcl.Diagnostics
	for name, ref := range s.inputsOf(a) {
		label := s.answering(ref).label()
		answer, ok := fr.results.answer(label)
		if _, given := answer.Inputs[name]; ok && !given {
			diags = append(diags, missingAnswer(label, name, answer, ref))
		}
	}
	return diags
}

// inputsOf yields the inputs that an argument names, and the references to them.
func (s *scope) inputsOf(a *argument) iter.Seq2[string, reference] {
	return func(yield func(string, reference) bool) {
		for _, ref := range a.refs {
			if ref.kind != kindGate || len(ref.rest) < 2 || s.answering(ref) == nil {
				continue
			}
			if name, ok := stepName(ref.rest[1]); ok && !yield(name, ref) {
				return
			}
		}
	}
}
