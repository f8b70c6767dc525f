package pipeline

import (
	"cmp"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/suggest"
)

// pipelineBlock is the pipeline block as the file has it.
type pipelineBlock struct {
	block      *hclsyntax.Block
	id         string
	title      *argument
	kind       *argument // type
	document   *argument
	timeout    *argument
	outputs    *argument
	results    variables // the elements of outputs
	defaults   *defaultsBlock
	budget     *budgetBlock
	review     *reviewBlock
	issue      *issueBlock
	agents     []*agentBlock
	savepoints []*savepointBlock
	services   []*serviceBlock
	secrets    []*secretBlock
	hooks      []*hookBlock
	phases     []*phaseBlock
}

var pipelineSchema = &hcl.BodySchema{
	Attributes: attributes("title", "type", "document", "timeout", "outputs"),
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "defaults"},
		{Type: "budget"},
		{Type: "review"},
		{Type: "issue"},
		{Type: "agent", LabelNames: []string{"name"}},
		{Type: "savepoint", LabelNames: []string{"name"}},
		{Type: "service", LabelNames: []string{"name"}},
		{Type: "secret", LabelNames: []string{"name"}},
		{Type: "hook"},
		{Type: "phase", LabelNames: []string{"name"}},
	},
}

func (d *decoder) decodePipeline(block *hclsyntax.Block) *pipelineBlock {
	content := d.content(d.withoutHookLabels(block.Body), pipelineSchema)
	p := &pipelineBlock{
		block:    block,
		id:       block.Labels[0],
		title:    d.argument(content, "title"),
		kind:     d.argument(content, "type"),
		document: d.argument(content, "document"),
		timeout:  d.argument(content, "timeout"),
	}
	if p.outputs = d.argument(content, "outputs"); p.outputs != nil {
		p.results = d.elements(p.outputs)
	}
	p.defaults = d.decodeDefaults(d.single(content, "defaults"))
	p.budget = d.decodeBudget(d.single(content, "budget"))
	p.review = d.decodeReview(d.single(content, "review"))
	p.issue = d.decodeIssue(d.single(content, "issue"))
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "agent":
			p.agents = append(p.agents, d.decodeAgent(inner))
		case "savepoint":
			p.savepoints = append(p.savepoints, d.decodeSavepoint(inner))
		case "service":
			p.services = append(p.services, d.decodeService(inner))
		case "secret":
			p.secrets = append(p.secrets, d.decodeSecret(inner))
		case "hook":
			p.hooks = append(p.hooks, d.decodeHook(inner))
		case "phase":
			p.phases = append(p.phases, d.decodePhase(inner))
		}
	}
	if len(p.phases) == 0 && !saidUnderOtherName(block.Body, "phase") {
		d.report("Missing phase", "A pipeline has at least one phase block, and a phase at least one workstream.", block.DefRange())
	}
	return p
}

// headerFrame is for the arguments of the pipeline block itself.
var headerFrame = frame{allow: kindVar | kindLocal}

// constantFrame is for constant arguments. They may use each in a for_each.
func constantFrame(e *each) frame {
	fr := frame{allow: kindVar | kindLocal | kindPipeline, each: e}
	if e != noEach {
		fr.allow |= kindEach
	}
	return fr
}

// deferredFrame is for deferred arguments.
func deferredFrame(e *each) frame {
	fr := constantFrame(e)
	fr.allow |= kindDeferred
	return fr
}

func (b *builder) pipelineBlock(block *pipelineBlock) {
	p := b.pipeline
	p.ID, p.Range = cmp.Or(b.in.SessionID, block.id), block.block.DefRange()
	if b.in.SessionID == "" {
		b.checkID(block)
	}
	b.header(block)
	p.Timeout = b.duration(block.timeout, headerFrame)
	p.Budget = b.budget(block.budget, headerFrame)
	b.declare(block)
	b.declareGates()
	for _, def := range b.blocks {
		b.expand(def)
	}
	b.declareSecrets(block.secrets)
	b.defaults = b.buildDefaults(block.defaults, noDefaults())
	b.buildAgents(slices.Concat(block.agents, b.file.agents))
	buildSavepoints(b, block.savepoints)
	b.buildServices(block.services, b.defaults)
	b.buildSecrets(block.secrets, b.defaults.within(secretFrame()))
	p.Review = b.review(block.review, b.defaults)
	p.Issue = b.issue(block.issue, b.defaults.within(issueFrame()))
	b.resolveDependencies()
	b.declareArtifacts()
	b.declareSensitiveOutputs() // depends_on, which was checked before, reads no outputs
	for _, phase := range b.phases {
		b.buildPhase(phase)
	}
	b.buildHooks(block.hooks, b.defaults)
	b.buildOutputs(block.outputs, block.results)
	for _, phase := range b.phases {
		b.overlaps(phase)
		exclusive(b, phase.phase.Workstreams)
		b.unstableInputs(phase)
	}
	b.callsApart()
	b.unmatchedInputs()
	if !b.diags.HasErrors() {
		b.pipeline.PossiblePatterns = possiblePatterns(b.artifactBeginnings())
	}
	b.unusedGates()
	b.unusedAgents()
	b.unusedServices()
	b.unusedSecrets()
}

// header evaluates what pipeline.* stands for.
func (b *builder) header(block *pipelineBlock) {
	p := b.pipeline
	p.Title = b.evalText(block.title, headerFrame)
	if p.Title == "" {
		p.Title = p.ID
	}
	p.Type = b.evalText(block.kind, headerFrame)
	p.Document = b.evalPath(block.document, headerFrame)
	for name, value := range map[string]string{"id": p.ID, "title": p.Title, "type": p.Type, "document": p.Document} {
		b.scope.header[name] = cty.StringVal(value)
	}
	b.scope.setHeader()
}

func (b *builder) checkID(block *pipelineBlock) {
	pattern := b.in.IDPattern
	if pattern == nil {
		pattern = regexp.MustCompile(anchored(defaultIDPattern))
	}
	rule := "match the pattern " + withoutAnchors(pattern)
	if pattern.String() == anchored(defaultIDPattern) {
		rule = "be PRD- and three digits or more, such as PRD-009"
	}
	if !pattern.MatchString(block.id) {
		b.errorf("Invalid PRD id", block.block.LabelRanges[0], "The id %q of the pipeline must %s. To allow other names, %s", block.id, rule, IDPatternAdvice)
	}
}

// withoutAnchors returns a pattern as configured, without the anchors that were added to
// it.
func withoutAnchors(pattern *regexp.Regexp) string {
	inner, anchoredBefore := strings.CutPrefix(pattern.String(), "^(?:")
	inner, anchoredAfter := strings.CutSuffix(inner, ")$")
	if !anchoredBefore || !anchoredAfter {
		return pattern.String()
	}
	return inner
}

// IDPatternAdvice says how to allow other ids.
const IDPatternAdvice = `set id_pattern in runner.yaml: id_pattern: "[a-z][a-z0-9-]*"`

// declare records the names of all phases and workstreams, which share one namespace.
// Later steps can then resolve references in any order.
func (b *builder) declare(block *pipelineBlock) {
	workstreams := 0
	for _, pb := range block.phases {
		workstreams += len(pb.workstreams)
	}
	names := make(map[string]*hclsyntax.Block, len(block.phases)+workstreams)
	enter := func(name string, block *hclsyntax.Block) bool {
		if first := names[name]; first != nil {
			b.errorf("Duplicate "+block.Type+" name", block.LabelRanges[0], "The name %q is already taken by the %s at line %d. Phases and workstreams share one namespace; rename one of them.", name, first.Type, first.LabelRanges[0].Start.Line)
			return false
		}
		names[name] = block
		return true
	}
	for i, pb := range block.phases {
		def := &phaseDef{block: pb, phase: &Phase{Name: pb.name, Number: i + 1, Range: pb.block.DefRange()}}
		enter(pb.name, pb.block)
		b.phases = append(b.phases, def)
		b.pipeline.Phases = append(b.pipeline.Phases, def.phase)
	}
	b.scope.blocks = make(map[string]*workstreamDef, workstreams)
	b.pipeline.byName = make(map[string]*Workstream, workstreams)
	b.blocks = make([]*workstreamDef, 0, workstreams)
	for _, phase := range b.phases {
		for _, wb := range phase.block.workstreams {
			def := &workstreamDef{block: wb, phase: phase, scope: b.scope, forEach: wb.forEach != nil}
			if enter(wb.name, wb.block) || b.scope.blocks[wb.name] == nil { // if a phase has the name, references mean the workstream
				b.scope.blocks[wb.name] = def
			}
			phase.defs = append(phase.defs, def)
			b.blocks = append(b.blocks, def)
		}
	}
}

// oneOf evaluates an argument whose value must be one of a few words.
func oneOf[T ~string](b *builder, a *argument, fr frame, fallback T, words ...T) T {
	if a == nil {
		return fallback
	}
	value, ok := b.constant(a, fr, cty.String)
	if !ok {
		return fallback
	}
	given := T(value.AsString())
	names := func(yield func(string) bool) {
		for _, word := range words {
			if !yield(string(word)) {
				return
			}
		}
	}
	for _, word := range words {
		if given == word {
			return word
		}
	}
	b.errorf("Invalid value for argument", a.exprRange(), "%q cannot be %q; it is one of: %s.%s", a.name, string(given), suggest.Listing(iter.Seq[string](names)), suggest.DidYouMean(string(given), names))
	return fallback
}
