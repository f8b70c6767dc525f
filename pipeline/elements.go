package pipeline

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A for_each may use results of earlier phases. Its elements are known once these results
// are. Until then the block has one instance, NAME[…], which is unexpanded and stands for
// all of them. WithElements evaluates such a for_each, and builds the pipeline with the
// instances that it gives.

// defaultMaxElements is the default of max_elements.
const defaultMaxElements = 10_000

// fromResults reports whether a for_each uses results.
func (a *argument) fromResults() bool { return a != nil && a.kinds&kindDeferred != 0 }

// fanOut holds the elements of a for_each that uses results.
type fanOut struct {
	each []*each
	sum  string // the digest of the keys and values
	// refused holds the mistakes of the instances, if they can't be used. The block stays
	// unexpanded then.
	refused hcl.Diagnostics
}

func newFanOut(list []*each) *fanOut {
	h := sha256.New()
	for _, e := range list {
		fmt.Fprintf(h, "%s %s\n", sumValue(e.key), sumValue(e.value))
	}
	return &fanOut{each: list, sum: fmt.Sprintf("%x", h.Sum(nil))}
}

// sameFanOut reports whether two for_each have the same elements; nil is unexpanded.
func sameFanOut(x, y *fanOut) bool {
	if x == nil || y == nil {
		return x == y
	}
	return x.sum == y.sum
}

// takenOver says what a pipeline takes over from the one that it replaces, so that only the
// instances of some blocks differ.
type takenOver struct {
	from     *Pipeline
	elements map[string]*fanOut // by block; without an entry the block is unexpanded
}

// takeOver takes over what does not follow from the blocks that are evaluated again: variables
// and locals, the sensitive values among them, and what called pipelines have of these.
func (b *builder) takeOver(from *Pipeline) {
	b.scope.takeOver(from.scope)
	b.pipeline.Secrets, b.pipeline.Called = slices.Clone(from.Secrets), from.Called
	for _, file := range from.EnvFiles {
		b.envFiles[file] = true
	}
}

// WithElements evaluates each for_each that uses results, in the phases that within accepts,
// and returns the pipeline with the instances that they give. A block whose for_each can't be
// evaluated yet is unexpanded. If that changes nothing, the result is p.
//
// Instances that would be a mistake of the pipeline are refused: the block is unexpanded, and
// Invocation returns the mistake. The error says that the file can't be evaluated any more,
// because a file that it reads has changed.
func (p *Pipeline) WithElements(r Results, within func(*Phase) bool) (*Pipeline, error) {
	next := make(map[string]*fanOut)
	changed := false
	for _, def := range p.fannedOut {
		was := p.elements[def.block.name]
		is := was
		if within(def.phase.phase) {
			is, _ = def.evaluateElements(r)
		}
		changed = changed || !sameFanOut(was, is)
		if is != nil {
			next[def.block.name] = is
		}
	}
	if !changed {
		return p, nil
	}
	if built, diags := p.rebuilt(next); !diags.HasErrors() {
		return built, nil
	}
	return p.withUsable(next)
}

// withUsable adds the elements of one block after the other, and refuses those with which the
// pipeline has a mistake.
func (p *Pipeline) withUsable(wanted map[string]*fanOut) (*Pipeline, error) {
	usable := make(map[string]*fanOut, len(wanted))
	best, diags := p.rebuilt(usable)
	if diags.HasErrors() {
		return nil, fmt.Errorf("evaluate %s again: %w", p.Source, diags)
	}
	for _, def := range p.fannedOut {
		name := def.block.name
		found := wanted[name]
		if found == nil {
			continue
		}
		usable[name] = found
		built, diags := p.rebuilt(usable)
		if diags.HasErrors() {
			usable[name] = &fanOut{sum: found.sum, refused: diags}
			if built, diags = p.rebuilt(usable); diags.HasErrors() {
				return nil, fmt.Errorf("evaluate %s again: %w", p.Source, diags)
			}
		}
		best = built
	}
	return best, nil
}

// rebuilt builds the pipeline again, with other elements. Everything else keeps its value,
// also where the file reads other files.
func (p *Pipeline) rebuilt(elements map[string]*fanOut) (*Pipeline, hcl.Diagnostics) {
	in := p.inputs
	in.Matches = nil // the user has been warned
	in.takenOver = &takenOver{from: p, elements: elements}
	built, diags := p.file.Pipeline(in)
	if built != nil {
		built.inputs.Matches = p.inputs.Matches
	}
	return built, diags
}

// Expanded returns how many instances each block of a phase has whose for_each uses results, if
// these are known.
func (p *Pipeline) Expanded(phase *Phase) map[string]int {
	counts := make(map[string]int)
	for _, def := range p.fannedOut {
		if def.phase.phase == phase && !def.unexpanded {
			counts[def.block.name] = len(def.instances)
		}
	}
	return counts
}

// keepElements keeps the elements with which the pipeline was built, for the next one that is
// built from it. That one is independent of what this one has taken over.
func (p *Pipeline) keepElements() {
	p.elements = make(map[string]*fanOut, len(p.fannedOut))
	for _, def := range p.fannedOut {
		if def.elements != nil {
			p.elements[def.block.name] = def.elements
		}
	}
	p.inputs.takenOver = nil
}

// evaluateElements evaluates the for_each.
func (def *workstreamDef) evaluateElements(r Results) (*fanOut, hcl.Diagnostics) {
	a := def.block.forEach
	fr := forEachFrame()
	fr.results, fr.at = &r, def.forEachPosition()
	value, diags := def.scope.evaluate(a, fr, cty.DynamicPseudoType)
	if diags.HasErrors() {
		return nil, diags
	}
	mistake := ""
	switch {
	case containsMarked(value):
		return nil, hcl.Diagnostics{sensitiveNotAllowed("the keys and values of for_each", a.exprRange())}
	case !value.IsWhollyKnown():
		mistake = "The elements of for_each are not known: a result that it uses is not there yet."
	default:
		mistake = unfitForEach(value)
	}
	if mistake == "" && value.LengthInt() > def.maxElements {
		mistake = fmt.Sprintf("for_each has %d elements, and at most %d are allowed. If that many are right, set max_elements.", value.LengthInt(), def.maxElements)
	}
	if mistake != "" {
		return nil, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Invalid for_each", Detail: mistake, Subject: a.exprRange().Ptr()}}
	}
	list := listElements(value)
	if slices.ContainsFunc(list, func(e *each) bool { return !e.hasKey() }) {
		return nil, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Invalid for_each key", Detail: noKey, Subject: a.exprRange().Ptr()}}
	}
	return newFanOut(list), nil
}

// forEachFrame is for a for_each that uses results.
func forEachFrame() frame {
	fr := constantFrame(noEach)
	fr.allow |= kindWorkstream | kindGate
	return fr
}

// forEachPosition is the beginning of the phase, when its for_each is evaluated.
func (def *workstreamDef) forEachPosition() position {
	return position{phase: def.phase.phase, forEach: true, what: "the for_each of ", name: def.block.name}
}

// expandFromResults makes the instances of a block whose for_each uses results.
func (b *builder) expandFromResults(def *workstreamDef) {
	def.maxElements = defaultMaxElements
	if n, ok := b.integer(def.block.maxElements, constantFrame(noEach), 1); ok {
		def.maxElements = n
	}
	b.pipeline.fannedOut = append(b.pipeline.fannedOut, def)
	var found *fanOut
	if b.in.takenOver != nil {
		found = b.in.takenOver.elements[def.block.name]
	}
	if found == nil || found.refused != nil {
		def.unknownKeys, def.unexpanded, def.elements = true, true, found
		def.addInstance(b, UnexpandedName(def.block.name), "", &each{cty.UnknownVal(cty.String), cty.DynamicVal})
		return
	}
	def.elements = found
	def.addInstances(b, found.each)
}

// forEachEdges finds the results that the for_each of a block uses.
func (b *builder) forEachEdges(def *workstreamDef) {
	a := def.block.forEach
	fr := forEachFrame()
	if !a.fromResults() || !b.checkArgument(a, fr) {
		return
	}
	if a.readsFiles {
		b.errorf("Files in for_each", a.exprRange(), `A for_each that uses results can't read files too, since files may change between two runs and results on record do not. Use workstream.NAME.artifacts, the list of the paths that a workstream has made, or write what for_each needs to an output.`)
		return
	}
	if value, ok := b.evaluate(a, fr, cty.DynamicPseudoType); ok && (value.IsKnown() || value.Type() != cty.DynamicPseudoType && !value.Type().IsSetType()) {
		if mistake := unfitForEach(value); mistake != "" {
			b.errorf("Invalid for_each", a.exprRange(), "%s", mistake)
		}
	}
	pos := def.forEachPosition()
	def.over = b.checkOrder(a, fr, pos)
	def.overAnswers = b.checkAnswers(a, pos)
	def.overNames = appendNew(withInstances(nil, def.over), def.overAnswers)
}

// UnexpandedName is the name of the instance that stands for all instances of a block that are
// not known yet.
func UnexpandedName(block string) string { return block + "[…]" }

// Unexpanded reports whether the instance stands for all instances of a block whose for_each
// uses results, because these are not known yet. It never runs.
func (w *Workstream) Unexpanded() bool { return w.def.unexpanded }

// ForEachOver lists the workstreams, and the labels of gates, whose results the for_each of
// the block uses. They do not count in the digest of an instance: an instance runs again only
// if its own element changes.
// An unexpanded instance has them among its Upstream and Answers.
func (w *Workstream) ForEachOver() []string {
	if w.def.unexpanded {
		return nil
	}
	return w.def.overNames
}

// whyUnexpanded returns the mistake because of which the block has no instances.
func (w *Workstream) whyUnexpanded(r Results) hcl.Diagnostics {
	if w.def.elements != nil {
		return w.def.elements.refused
	}
	_, diags := w.def.evaluateElements(r)
	if !diags.HasErrors() { // the caller has newer results than the pipeline
		diags = hcl.Diagnostics{{
			Severity: hcl.DiagError, Summary: "Result not available", Subject: w.def.block.forEach.exprRange().Ptr(),
			Detail: fmt.Sprintf("The instances of %s are known when its phase begins.", w.Block),
		}}
	}
	return diags
}
