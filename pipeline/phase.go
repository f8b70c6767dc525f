package pipeline

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// phaseBlock is a phase as the file has it.
type phaseBlock struct {
	name        string
	block       *hclsyntax.Block
	title       *argument
	maxParallel *argument
	when        *argument
	outcome     outcomeArguments
	defaults    *defaultsBlock
	repeat      *repeatBlock
	budget      *budgetBlock
	workstreams []*workstreamBlock
	gates       []*gateBlock
}

var phaseSchema = &hcl.BodySchema{
	Attributes: attributes("title", "max_parallel", "when", "run_on", "fail_fast"),
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "defaults"},
		{Type: "repeat"},
		{Type: "budget"},
		{Type: "workstream", LabelNames: []string{"name"}},
		{Type: "gate", LabelNames: []string{"name"}},
	},
}

func (d *decoder) decodePhase(block *hclsyntax.Block) *phaseBlock {
	p := &phaseBlock{name: d.identifier(block), block: block}
	content := d.content(block.Body, phaseSchema)
	p.title = d.argument(content, "title")
	p.maxParallel = d.argument(content, "max_parallel")
	p.when = d.argument(content, "when")
	p.outcome = outcomeArguments{runOn: d.argument(content, "run_on"), failFast: d.argument(content, "fail_fast")}
	p.defaults = d.decodeDefaults(d.single(content, "defaults"))
	p.budget = d.decodeBudget(d.single(content, "budget"))
	p.repeat = d.decodeRepeat(d.single(content, "repeat"))
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "workstream":
			p.workstreams = append(p.workstreams, d.decodeWorkstream(inner))
		case "gate":
			p.gates = append(p.gates, d.decodeGate(inner, false))
		}
	}
	if len(p.workstreams) == 0 && !saidUnderOtherName(block.Body, "workstream") {
		d.report("Missing workstream", "A phase has at least one workstream block.", block.DefRange())
	}
	return p
}

// phaseDef is a phase that is being built.
type phaseDef struct {
	block *phaseBlock
	phase *Phase
	defs  []*workstreamDef
}

// deferred is a condition that is evaluated during the run.
type deferred struct {
	condition *argument
	scope     *scope
}

// buildPhase evaluates a phase and everything in it.
func (b *builder) buildPhase(def *phaseDef) {
	phase, block := def.phase, def.block
	fr := constantFrame(noEach)
	defaults := b.buildDefaults(block.defaults, b.defaults)
	phase.Title = b.evalText(block.title, fr)
	if phase.Title == "" {
		phase.Title = phase.Name
	}
	if n, ok := b.integer(block.maxParallel, fr, 1); ok {
		phase.MaxParallel = n
	}
	b.phaseOutcome(def)
	phase.when = &deferred{condition: block.when, scope: b.scope}
	b.checkDeferred(block.when, deferredFrame(noEach), cty.Bool, phase.position())
	phase.Budget = b.budget(block.budget, fr)
	phase.Repeat = b.buildRepeat(def)
	for _, ws := range def.defs {
		b.workstreams(ws, defaults)
	}
	b.checkRepeat(def)
	defer b.checkAfterFailures(phase)
	phase.Gates = b.ownGates(block.gates, nil, owner{phase: phase, fr: deferredFrame(noEach)}, defaults)
}

// Enabled evaluates when. If it returns false, the phase is skipped.
func (p *Phase) Enabled(r Results) (bool, hcl.Diagnostics) {
	fr := deferredFrame(noEach)
	fr.results, fr.at = &r, p.position()
	return p.when.scope.condition(p.when.condition, fr)
}

// WhenMetrics lists the metrics that when refers to.
func (p *Phase) WhenMetrics() []string { return p.when.condition.metrics() }
