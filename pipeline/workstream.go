package pipeline

import (
	"cmp"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// workstreamBlock is a workstream as the file has it.
type workstreamBlock struct {
	name          string
	block         *hclsyntax.Block
	process       process
	title         *argument
	description   *argument
	forEach       *argument
	maxElements   *argument
	when          *argument
	dependsOn     []*dependency
	outcome       outcomeArguments
	allowFailure  *argument
	inputs        *argument
	artifacts     *argument
	timeout       *argument
	effect        *argument
	verify        *argument
	onGateFailure *argument
	cache         *argument
	report        *argument
	agent         *argument // a reference to an agent
	retry         *retryBlock
	mutates       *argument
	protect       *protectBlock
	isolate       *isolateBlock
	services      []*argument // each a reference to a service
	sharedGates   []*argument // each a reference to a gate
	gates         []*gateBlock

	sensitiveOutputs *argument
}

var workstreamSchema = &hcl.BodySchema{
	Attributes: append(attributes(processAttributes...), attributes("title", "description", "for_each", "max_elements", "when", "depends_on", "run_on", "allow_failure", "fail_fast",
		"inputs", "artifacts", "timeout", "effect", "verify", "on_gate_failure", "cache", "report", "agent", "task", "mutates", "services", "gates", "sensitive_outputs")...),
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "call"},
		{Type: "retry"},
		{Type: "protect"},
		{Type: "isolate"},
		{Type: "gate", LabelNames: []string{"name"}},
	},
}

func (d *decoder) decodeWorkstream(block *hclsyntax.Block) *workstreamBlock {
	w := &workstreamBlock{name: d.identifier(block), block: block}
	content := d.content(block.Body, workstreamSchema)
	w.process = d.decodeProcess(content, block.DefRange())
	w.agent, w.process.task = d.argument(content, "agent"), d.argument(content, "task")
	if w.process.call = d.decodeCall(d.single(content, "call")); w.process.call != nil {
		d.checkNotWithCall(content)
	}
	if !w.process.exists() && w.agent == nil && !saidUnderOtherName(block.Body, "script") {
		d.report("Missing command", `A workstream needs a "command" or a "script".`, block.DefRange())
	}
	w.title = d.argument(content, "title")
	w.description = d.argument(content, "description")
	w.forEach = d.argument(content, "for_each")
	if w.maxElements = d.argument(content, "max_elements"); w.maxElements != nil && !w.forEach.fromResults() {
		d.report("Limit without results", `"max_elements" limits a for_each that uses results, such as toset(jsondecode(workstream.split.outputs.names)). Remove it.`, w.maxElements.nameRange)
	}
	w.when = d.argument(content, "when")
	w.dependsOn = d.dependencies(content)
	w.outcome = outcomeArguments{runOn: d.argument(content, "run_on"), failFast: d.argument(content, "fail_fast")}
	w.allowFailure = d.argument(content, "allow_failure")
	w.inputs = d.argument(content, "inputs")
	w.artifacts = d.argument(content, "artifacts")
	w.timeout = d.argument(content, "timeout")
	w.effect = d.argument(content, "effect")
	w.verify = d.argument(content, "verify")
	w.onGateFailure = d.argument(content, "on_gate_failure")
	w.cache = d.argument(content, "cache")
	w.report = d.argument(content, "report")
	w.sensitiveOutputs = d.argument(content, "sensitive_outputs")
	w.retry = d.decodeRetry(d.single(content, "retry"))
	w.mutates = d.argument(content, "mutates")
	w.protect = d.decodeProtect(d.single(content, "protect"))
	w.isolate = d.decodeIsolate(d.single(content, "isolate"))
	w.services = d.references(content, "services", kindService, "Invalid service reference", "service.NAME")
	w.sharedGates = d.references(content, "gates", kindGate, "Invalid gate reference", "gate.NAME")
	for _, inner := range content.Blocks {
		if inner.Type == "gate" {
			w.gates = append(w.gates, d.decodeGate(inner, false))
		}
	}
	return w
}

// workstreamDef holds the state that the instances of a workstream block share.
type workstreamDef struct {
	block   *workstreamBlock
	phase   *phaseDef
	scope   *scope
	agent   *agentDef // nil: there is none
	process *processDef
	verify  *processDef

	// verifyCommand has only the command of verify; process checks dir and env.
	verifyCommand *processDef

	forEach         bool
	unknownKeys     bool // the evaluation of for_each failed, or waits for results
	unexpanded      bool // for_each waits for results, or gave instances that were refused
	maxElements     int
	elements        *fanOut    // of a for_each that uses results; nil: not known
	over            []target   // whose results for_each uses
	calledArtifacts [][]string // those of the instances, as far as they do not depend on each
	overAnswers     []string   // the labels of gates whose answers for_each uses
	overNames       []string   // the instances of over, and overAnswers
	instances       []*Workstream
	byKey           map[string]*Workstream
	edges           []*workstreamDef // blocks that it depends on
	ownEdges        bool             // instances depend on other instances of the block
	uniform         bool             // all instances have the same dependencies
	batch           int              // of the first instances, from 1
	lastBatch       int              // of the last ones
	needsResults    bool

	sensitiveOutputs []string

	variablesOnce sync.Once
	variables     map[string]string // set by variableSums
}

// processArguments returns the arguments that decide what the process does.
func (def *workstreamDef) processArguments() []*argument {
	return append(slices.Collect(def.process.arguments), def.block.inputs, def.block.artifacts)
}

// variableSums returns the digests of the variables that the processArguments use.
func (def *workstreamDef) variableSums() map[string]string {
	def.variablesOnce.Do(func() {
		def.variables = map[string]string{}
		for _, name := range def.scope.variablesOf(def.processArguments()...) {
			def.variables[name] = def.scope.variables[name].sum
		}
	})
	return def.variables
}

// needsResults reports whether an optional argument uses a result of a workstream or a
// metric. A path made from run.* or issue.* counts too, because it may be the path of an
// artifact.
func (a *argument) needsResults() bool {
	return a != nil && (a.kinds&(kindWorkstream|kindMetric|kindGate) != 0 || a.readsFiles && a.kinds&(kindRun|kindIssue) != 0)
}

// workstreams evaluates the instances of a block.
func (b *builder) workstreams(def *workstreamDef, defaults *defaultsDef) {
	block := def.block
	def.agent = b.agentOf(block)
	def.process = b.newProcessDef(block.process.withAgent(def.agent), defaults)
	b.checkAgent(def)
	if block.verify != nil {
		def.verify = b.newProcessDef(process{command: block.verify, dirs: def.process.dirs, env: def.process.env}, nil)
		def.verifyCommand = b.newProcessDef(process{command: block.verify}, nil)
	}
	def.needsResults = def.unexpanded || block.when.needsResults() || block.verify.needsResults()
	for a := range def.process.arguments {
		def.needsResults = def.needsResults || a.needsResults()
	}
	for _, ws := range def.instances {
		b.workstream(def, ws, defaults)
		def.phase.phase.Workstreams = append(def.phase.phase.Workstreams, ws)
	}
	if len(def.instances) == 0 {
		// Nothing runs, but an unknown instance shows the mistakes of the block.
		stand := b.standIn(def)
		stand.deps = b.dependencies(def, stand)
		b.artifacts(stand)
		b.workstream(def, stand, defaults)
	}
	b.checkCall(def, b.standIn(def))
}

// standIn returns an instance that stands for all instances of a block: what differs between
// them is unknown.
func (b *builder) standIn(def *workstreamDef) *Workstream {
	ws := &Workstream{Name: def.block.name, Block: def.block.name, Phase: def.phase.phase, Range: def.block.block.DefRange(), def: def, each: noEach}
	if def.forEach {
		ws.each = &each{cty.UnknownVal(cty.String), cty.DynamicVal}
	}
	return ws
}

// workstream evaluates one instance.
func (b *builder) workstream(def *workstreamDef, ws *Workstream, defaults *defaultsDef) {
	block, fr := def.block, constantFrame(ws.each)
	b.current = ws
	defer func() { b.current = nil }()
	if ws.Title = b.evalText(block.title, fr); ws.Title == "" {
		ws.Title = ws.Name
	}
	ws.Description = b.evalText(block.description, fr)
	if call := def.process.called; call != nil {
		ws.Calls, ws.CallLevels = call.path, call.levels()
	}
	ws.Inputs = b.evalGlobs(block.inputs, fr)
	ws.InputPatterns = b.patterns(block.inputs, ws.Inputs)
	ws.Timeout, ws.TaskBy = b.duration(block.timeout, fr), TaskOnStdin
	if agent := def.agent; agent != nil {
		ws.Agent, ws.TaskBy = agent.agent, agent.taskBy
		ws.Timeout = cmp.Or(ws.Timeout, b.duration(agent.block.timeout, constantFrame(noEach)))
	}
	ws.Timeout = cmp.Or(ws.Timeout, defaults.timeout)
	ws.Effect = b.effect(block.effect, fr, defaults.effect)
	b.checkCallEffect(ws)
	b.workstreamOutcome(ws, fr)
	ws.Retry = b.workstreamRetry(block, defaults, ws, fr)
	buildProtect(b, ws, fr)
	buildIsolate(b, ws, fr)
	ws.RerunOnGateFailure = rerunOnGateFailure(b, ws, fr)
	if ws.Cache = b.boolean(block.cache, fr); ws.Cache && ws.Effect != Pure {
		b.errorf("Cache of a workstream that is not pure", block.cache.exprRange(), `cache = true takes the outputs and artifacts of an earlier run in place of a new one, so there must be nothing else that a run does. Say so with effect = "pure", or remove "cache".`)
	}
	ws.ReportsOnStdout = oneOf(b, block.report, fr, "file", "file", "stdout") == "stdout"
	b.checkSensitiveOutputs(ws)
	b.checkWorkstreamProcess(def, ws)
	b.workstreamGates(def, ws, defaults)
	b.checkIsolatedGates(ws)
}

// rerunOnGateFailure evaluates on_gate_failure. After a rollback, and without a work tree,
// there is nothing left that a gate could judge again.
func rerunOnGateFailure(b *builder, ws *Workstream, fr frame) bool {
	a, fallback := ws.def.block.onGateFailure, "judge"
	rollsBack := ws.Protect != nil && !ws.Protect.KeepOnFailure && ws.Effect != Once
	isolated := ws.Isolate != nil && ws.Effect != Once
	if rollsBack || isolated {
		fallback = "rerun"
	}
	rerun := oneOf(b, a, fr, fallback, "judge", "rerun") == "rerun"
	switch {
	case rerun && ws.Effect == Once:
		b.errorf("Rerun of a once workstream", a.exprRange(), `A workstream with effect = "once" is never run again by itself, so on_gate_failure cannot be "rerun".`)
	case !rerun && isolated:
		b.errorf("Judgement without a work tree", a.exprRange(), `If a gate fails, nothing comes back from the work tree of the workstream, so there is nothing that on_gate_failure = "judge" could judge again. Remove "on_gate_failure".`)
	case !rerun && rollsBack:
		b.errorf("Judgement after a rollback", a.exprRange(), `If a gate fails, what the workstream changed in the scope of "protect" is taken back, so there is nothing that on_gate_failure = "judge" could judge again. Remove "on_gate_failure", or write on_failure = "keep" into the protect block.`)
	}
	return rerun
}

func (b *builder) workstreamRetry(block *workstreamBlock, defaults *defaultsDef, ws *Workstream, fr frame) Retry {
	retry := b.buildRetry(block.retry, defaults.retry, fr)
	if ws.Effect != Once {
		return retry
	}
	if block.retry != nil && retry.Attempts > 1 && block.retry.attempts != nil {
		b.errorf("Retry of a once workstream", block.retry.attempts.exprRange(), `A workstream with effect = "once" is never run again by itself, so it has one attempt. Remove "attempts", or choose another effect.`)
	}
	retry.Attempts = 1
	return retry
}

// checkWorkstreamProcess checks the deferred arguments, and records the workstreams
// whose results they use.
func (b *builder) checkWorkstreamProcess(def *workstreamDef, ws *Workstream) {
	fr, pos := deferredFrame(ws.each), ws.position()
	b.checkProcess(def.process, processFrame(fr))
	ws.Services = b.neededServices(def.block.services, def.process)
	if def.verify != nil {
		b.checkProcess(def.verifyCommand, fr)
	}
	if def.block.when != nil {
		b.evaluateOnce(def.block.when, fr, cty.Bool)
	}
	ws.Upstream = ws.DependsOn
	var upstream []target
	for a := range def.process.arguments {
		upstream = append(upstream, b.checkOrder(a, fr, pos)...)
	}
	for a := range def.process.arguments {
		ws.Answers = appendNew(ws.Answers, b.checkAnswers(a, pos))
	}
	for _, a := range []*argument{def.block.verify, def.block.when} {
		ws.Answers = appendNew(ws.Answers, b.checkAnswers(a, pos))
	}
	if def.unexpanded {
		ws.Answers = appendNew(ws.Answers, def.overAnswers)
	}
	upstream = append(upstream, b.checkOrder(def.block.verify, fr, pos)...)
	upstream = append(upstream, b.checkOrder(def.block.when, fr, pos)...)
	ws.Upstream = withInstances(ws.DependsOn, upstream)
	def.needsResults = def.needsResults || len(upstream) > 0 // also those whose artifacts functions read
}

// appendNew appends the names in more that the list lacks.
func appendNew(list, more []string) []string {
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// withInstances adds the instances of targets to names, without duplicates. If there is
// nothing to add, it returns the same list, because instances share it.
func withInstances(names []string, targets []target) []string {
	if len(targets) == 0 {
		return names
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		seen[name] = true
	}
	joined := names[:len(names):len(names)]
	for _, t := range targets {
		for _, ws := range t.instances() {
			if !seen[ws.Name] {
				seen[ws.Name] = true
				joined = append(joined, ws.Name)
			}
		}
	}
	return joined
}

// checkProcess evaluates a process as far as its values are known before anything runs.
func (b *builder) checkProcess(p *processDef, fr frame) {
	ok := true
	for a := range p.arguments {
		ok = b.checkArgument(a, a.frameOf(fr)) && ok
	}
	if !ok || p.uniform && p.checked || !p.exists() {
		return
	}
	p.checked = true
	for a := range p.arguments {
		delete(b.read, a) // forget the files that another instance reads
	}
	ev, diags := p.evaluate(fr)
	b.addDiagnostics(diags)
	for _, file := range ev.envFiles {
		b.envFiles[file.path] = true
	}
	for a := range p.arguments {
		b.emptyFilesets(a, fr)
	}
}

// evaluateOnce evaluates an argument as far as its values are known before anything
// runs. If the argument does not differ between instances, it does so once.
func (b *builder) evaluateOnce(a *argument, fr frame, want cty.Type) {
	if _, done := b.constants[a]; done && a.kinds&kindEach == 0 {
		return
	}
	delete(b.read, a) // forget the files that another instance reads
	value, ok := b.evaluate(a, fr, want)
	b.constants[a] = constant{}
	if ok && value.IsKnown() && value.IsNull() {
		b.errorf("Incorrect value type", a.exprRange(), "The value of %q must not be null.", a.name)
	}
}
