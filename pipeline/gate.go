package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/suggest"
)

// gateBlock is a gate block. Without mistakes, exactly one of process, condition, metric
// and approval is set.
type gateBlock struct {
	name         string
	block        *hclsyntax.Block
	shared       bool // declared at file level
	process      process
	condition    *argument
	errorMessage *argument
	metric       *metricBlock
	approval     *approvalBlock
	inputs       *argument
	timeout      *argument
	pause        *argument
	services     []*argument // each a reference to a service
	kind         GateKind
}

var gateSchema = &hcl.BodySchema{
	Attributes: append(attributes(processAttributes...), append(attributes("condition", "error_message", "inputs", "timeout", "pause", "services"), attributes(metricAttributes...)...)...),
	Blocks:     []hcl.BlockHeaderSchema{{Type: "approval"}},
}

func (d *decoder) decodeGate(block *hclsyntax.Block, shared bool) *gateBlock {
	g := &gateBlock{name: d.identifier(block), block: block, shared: shared}
	content := d.content(block.Body, gateSchema)
	g.process = d.decodeProcess(content, block.DefRange())
	g.condition = d.argument(content, "condition")
	g.errorMessage = d.argument(content, "error_message")
	g.metric = d.decodeMetric(content, block)
	if inner := d.single(content, "approval"); inner != nil {
		g.approval = d.decodeApproval(inner)
	}
	g.inputs = d.argument(content, "inputs")
	g.timeout = d.argument(content, "timeout")
	g.pause = d.argument(content, "pause")
	g.services = d.references(content, "services", kindService, "Invalid service reference", "service.NAME")
	g.kind = d.gateKind(g)
	return g
}

// gateKind returns the kind of a gate. It reports arguments that do not belong to the
// kind.
func (d *decoder) gateKind(g *gateBlock) GateKind {
	var given []string
	var kind GateKind
	for _, candidate := range []struct {
		kind GateKind
		text string
		is   bool
	}{
		{GateCommand, "command or script", g.process.exists()},
		{GateCondition, "condition", g.condition != nil},
		{GateMetric, "metric", g.metric != nil},
		{GateApproval, "approval", g.approval != nil},
	} {
		if candidate.is {
			given, kind = append(given, candidate.text), candidate.kind
		}
	}
	switch {
	case len(given) == 0 && (saidUnderOtherName(g.block.Body, "script") || saidUnderOtherName(g.block.Body, "approval")):
		return ""
	case len(given) != 1:
		detail := `A gate needs exactly one of "command", "script", "condition", "metric" and an approval block`
		if len(given) > 1 {
			detail += "; this one has " + strings.Join(given, " and ")
		}
		d.report("Invalid gate", detail+".", g.block.DefRange())
		return ""
	}
	d.gateExtras(g, kind)
	return kind
}

// gateExtras reports arguments that do not belong to the kind of a gate.
func (d *decoder) gateExtras(g *gateBlock, kind GateKind) {
	stray := func(name, belongs string) {
		if attr := g.block.Body.Attributes[name]; attr != nil {
			d.report("Argument without effect", fmt.Sprintf("%q has no meaning in a gate of the kind %s; it belongs to %s.", name, kind, belongs), attr.NameRange)
		}
	}
	if kind != GateCommand {
		stray("dir", "gates with a command or script")
		stray("env", "gates with a command or script")
		if len(g.services) > 0 {
			stray("services", "gates with a command or script")
		}
		stray(envFileArgument, "gates with a command or script")
		stray("timeout", "gates with a command or script, or into the approval block")
	}
	switch {
	case kind != GateCondition:
		stray("error_message", "gates with a condition")
	case g.errorMessage == nil:
		d.report("Missing required argument", `A gate with a condition needs an "error_message", which says what is wrong and what to do when it is false.`, g.block.DefRange())
	}
}

// gateDef is a gate that can be evaluated.
type gateDef struct {
	block   *gateBlock
	scope   *scope
	process *processDef
	each    *each        // what its expressions see as each, noEach if nothing
	earlier []*gateBlock // the gates of the same owner that are judged before it
}

// owner is the workstream or phase of a gate.
type owner struct {
	phase *Phase
	ws    *Workstream
	fr    frame
}

// workstreamGates creates the gates of an instance: shared gates in the order of the
// argument "gates", then the gates in the block in the order of the file.
func (b *builder) workstreamGates(def *workstreamDef, ws *Workstream, defaults *defaultsDef) {
	fr := deferredFrame(ws.each)
	var shared []*gateBlock
	for _, a := range def.block.sharedGates {
		name := a.refs[0].name
		gate := b.gates[name]
		if gate == nil {
			b.errorf("Unknown gate", a.exprRange(), "The file declares no gate %q at its top level.%s", name, suggest.DidYouMean(name, maps.Keys(b.gates)))
			continue
		}
		b.used.gates[name] = true
		shared = append(shared, gate)
	}
	ws.Gates = b.ownGates(def.block.gates, shared, owner{phase: ws.Phase, ws: ws, fr: fr}, defaults)
}

// ownGates creates the shared gates and the other gates of one owner.
func (b *builder) ownGates(own, shared []*gateBlock, o owner, defaults *defaultsDef) []*Gate {
	if len(own)+len(shared) == 0 {
		return nil
	}
	gates := make([]*Gate, 0, len(own)+len(shared))
	taken := make(map[string]bool, cap(gates))
	all := slices.Concat(shared, own)
	for i, block := range all {
		if taken[block.name] {
			b.errorf("Duplicate gate", block.block.LabelRanges[0], "There is more than one gate %q in %s, its own and the shared ones taken together. Rename or remove one of them.", block.name, o.describe())
			continue
		}
		taken[block.name] = true
		gates = append(gates, b.buildGate(block, all[:i], o, defaults))
	}
	return gates
}

func (o owner) describe() string {
	if o.ws != nil {
		return "the workstream " + o.ws.Block
	}
	return "the phase " + o.phase.Name
}

// buildGate creates a gate of an owner, which judges the gates in earlier before it.
func (b *builder) buildGate(block *gateBlock, earlier []*gateBlock, o owner, defaults *defaultsDef) *Gate {
	fr := o.fr
	if block.shared {
		// A shared gate must mean the same for every workstream that uses it.
		fr.each, fr.allow, defaults = noEach, fr.allow&^kindEach, b.defaults
	}
	fixed := constantFrame(fr.each)
	g := &Gate{
		Name: block.name, Kind: block.kind, Phase: o.phase, Workstream: o.ws, Range: block.block.DefRange(),
		Inputs: b.evalGlobs(block.inputs, fixed),
		Pause:  b.boolean(block.pause, fixed),
		def:    &gateDef{block: block, scope: b.scope, each: fr.each, earlier: earlier},
	}
	g.InputPatterns = b.patterns(block.inputs, g.Inputs)
	switch block.kind {
	case GateCommand:
		if g.Timeout = b.duration(block.timeout, fixed); g.Timeout == 0 {
			g.Timeout = defaults.timeout
		}
		if b.processes[block] == nil {
			b.processes[block] = b.newProcessDef(block.process, defaults)
		}
		g.def.process = b.processes[block]
		b.checkProcess(g.def.process, processFrame(fr))
		g.Services = b.neededServices(block.services, g.def.process)
		for a := range g.def.process.arguments {
			b.checkOrder(a, fr, g.position())
			b.checkAnswers(a, g.position())
		}
	case GateCondition:
		b.checkDeferred(block.condition, fr, cty.Bool, g.position())
		b.checkDeferred(block.errorMessage, fr, cty.String, g.position())
	case GateMetric:
		g.Metric = b.metric(block.metric, fixed)
	case GateApproval:
		g.Approval = b.approval(block.approval, fixed)
	}
	return g
}

// checkDeferred checks an optional deferred argument.
func (b *builder) checkDeferred(a *argument, fr frame, want cty.Type, pos position) {
	if a == nil {
		return
	}
	b.evaluateOnce(a, fr, want)
	b.checkOrder(a, fr, pos)
	b.checkAnswers(a, pos)
}

// evaluationFrame returns the values that the expressions of the gate may use.
func (g *Gate) evaluationFrame(r *Results) frame {
	fr := deferredFrame(g.def.each)
	fr.results, fr.at = r, g.position()
	return fr
}

// Invocation evaluates the process of a command gate. The Definition in the result is
// that of the gate.
func (g *Gate) Invocation(r Results) (Invocation, hcl.Diagnostics) {
	if g.def.process == nil {
		return Invocation{}, hcl.Diagnostics{{
			Severity: hcl.DiagError, Summary: "Gate without command",
			Detail: fmt.Sprintf("The gate %s is a %s gate and runs no process.", g.Label(), g.Kind), Subject: g.Range.Ptr(),
		}}
	}
	fr := g.evaluationFrame(&r)
	ev, diags := g.def.process.evaluate(fr)
	if diags.HasErrors() {
		return Invocation{}, diags
	}
	h := g.hasher()
	g.def.process.addToDigest(h, ev, fr)
	diags = g.def.scope.addServices(h, g.Services, r)
	return g.def.process.invoked(ev, h), diags
}

// Condition evaluates a condition gate. The message is empty if the condition is true.
func (g *Gate) Condition(r Results) (ok bool, message string, diags hcl.Diagnostics) {
	fr := g.evaluationFrame(&r)
	ok, diags = g.def.scope.condition(g.def.block.condition, fr)
	if ok || diags.HasErrors() {
		return ok, "", diags
	}
	value, diags := g.def.scope.evaluate(g.def.block.errorMessage, fr, cty.String)
	switch {
	case diags.HasErrors():
		return false, "", diags
	case value.ContainsMarked():
		return false, "The condition is false. Its error_message is not shown, because it holds a sensitive value.", nil
	case value.IsNull():
		return false, "The condition is false.", nil
	}
	return false, value.AsString(), nil
}

// Definition returns the digest of the gate: of its process, metric rule or approval, or
// of its condition and the values that the condition refers to.
func (g *Gate) Definition(r Results) (string, hcl.Diagnostics) {
	if g.Kind == GateCommand {
		invocation, diags := g.Invocation(r)
		return invocation.Definition, diags
	}
	h := g.hasher()
	switch g.Kind {
	case GateCondition:
		fr := g.evaluationFrame(&r)
		if _, diags := g.def.scope.context(g.def.block.condition, fr, viewPlaceholder); diags.HasErrors() {
			return "", diags
		}
		h.writeString(g.def.block.condition.tokenSum())
		h.writeList("sensitive", g.def.scope.sensitiveNames(g.def.block.condition))
		h.writeList("locals", g.def.scope.sensitiveLocals(g.def.block.condition))
		g.def.scope.sumReferences(h, g.def.block.condition, fr)
	case GateMetric:
		g.Metric.addToDigest(h)
	case GateApproval:
		g.Approval.addToDigest(h)
	case GateCommand: // above
	}
	return h.sum(), nil
}

// Metrics lists the metrics on which the verdict depends.
func (g *Gate) Metrics() []string {
	switch g.Kind {
	case GateCommand:
		var names []string
		for a := range g.def.process.arguments {
			names = append(names, a.metrics()...)
		}
		return names
	case GateCondition:
		return g.def.block.condition.metrics()
	case GateMetric:
		return []string{g.Metric.Name}
	case GateApproval:
	}
	return nil
}

// hasher begins a digest with the values that gates of all kinds have.
func (g *Gate) hasher() *hasher {
	h := newHasher()
	h.writeField("gate", string(g.Kind))
	h.writeList("inputs", inDigest(g.Inputs))
	return h
}
