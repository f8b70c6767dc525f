package pipeline

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// repeatBlock is a repeat block of a phase as the file has it.
type repeatBlock struct {
	block *hclsyntax.Block
	until *argument
	max   *argument
}

var repeatSchema = &hcl.BodySchema{
	Attributes: append(attributes("until"), hcl.AttributeSchema{Name: "max", Required: true}),
}

func (d *decoder) decodeRepeat(block *hclsyntax.Block) *repeatBlock {
	if block == nil {
		return nil
	}
	content := d.content(block.Body, repeatSchema)
	return &repeatBlock{block: block, until: d.argument(content, "until"), max: d.argument(content, "max")}
}

// Repeat says how often a phase runs its workstreams.
type Repeat struct {
	Max   int // the largest number of iterations
	Range hcl.Range

	until *deferred
	at    position
}

// buildRepeat evaluates the repeat block of a phase.
func (b *builder) buildRepeat(def *phaseDef) *Repeat {
	block := def.block.repeat
	if block == nil {
		return nil
	}
	at := def.phase.position()
	at.inclusive = true
	repeat := &Repeat{Range: block.block.DefRange(), until: &deferred{condition: block.until, scope: b.scope}, at: at}
	repeat.Max, _ = b.integer(block.max, constantFrame(noEach), 1)
	return repeat
}

// checkRepeat checks what stands inside a phase that repeats. Its workstreams are built by
// then.
func (b *builder) checkRepeat(def *phaseDef) {
	repeat := def.phase.Repeat
	if repeat == nil {
		return
	}
	b.checkDeferred(repeat.until.condition, deferredFrame(noEach), cty.Bool, repeat.at)
	for _, ws := range def.phase.Workstreams {
		if ws.Effect == Once {
			b.errorf("Once workstream in a phase that repeats", ws.Range, `The workstream %s has effect = "once", so it must not run in each iteration. Move it to another phase, or choose another effect.`, ws.Name)
		}
	}
}

// Satisfied evaluates until at the end of an iteration. Without until it is true: the
// iteration is the last one if everything in it has passed.
func (r *Repeat) Satisfied(results Results) (bool, hcl.Diagnostics) {
	fr := deferredFrame(noEach)
	fr.results, fr.at = &results, r.at
	return r.until.scope.condition(r.until.condition, fr)
}

// UntilMetrics lists the metrics that until refers to.
func (r *Repeat) UntilMetrics() []string { return r.until.condition.metrics() }

// Until returns the source of until, "" if there is none.
func (r *Repeat) Until() string {
	if r.until.condition == nil {
		return ""
	}
	return strings.Join(strings.Fields(string(r.until.condition.source)), " ")
}

// checkIteration reports a reference to iteration.* outside of a phase that repeats.
func (b *builder) checkIteration(a *argument, pos position) {
	if a == nil || a.kinds&kindIteration == 0 || pos.phase.Repeat != nil {
		return
	}
	for _, ref := range a.refs {
		if ref.kind == kindIteration {
			b.errorf("Reference outside repeat", ref.rng, "iteration.index exists only in a phase with a repeat block.")
		}
	}
}

// iterationValue returns the value of iteration.* at a position. Like run.*, it never counts
// in a digest.
func iterationValue(results *Results, at position, v view) cty.Value {
	index := cty.UnknownVal(cty.Number)
	switch {
	case v == viewPlaceholder:
		index = cty.NumberIntVal(1)
	case results != nil && at.phase != nil:
		index = cty.NumberIntVal(int64(results.iteration(at.phase.Name)))
	}
	return cty.ObjectVal(map[string]cty.Value{"index": index})
}

// iteration returns the number of the iteration of a phase, from 1.
func (r *Results) iteration(phase string) int {
	if r.Iteration == nil {
		return 1
	}
	return max(1, r.Iteration(phase))
}
