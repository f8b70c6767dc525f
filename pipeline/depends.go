package pipeline

import (
	"math"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// references decodes an argument that is a list of references, such as
// depends_on = [workstream.WS1].
func (d *decoder) references(content *hclsyntax.Body, name string, kind kinds, summary, shape string) []*argument {
	attr, ok := content.Attributes[name]
	if !ok {
		return nil
	}
	elems, diags := hcl.ExprList(attr.Expr)
	if diags.HasErrors() {
		d.report(summary, `"`+name+`" must be a list of references: `+name+" = ["+shape+"].", attr.Expr.Range())
		return nil
	}
	var args []*argument
	for _, elem := range elems {
		a := newArgument(name, attr.NameRange, elem.(hclsyntax.Expression), d.source)
		if !a.isReference(kind) {
			d.report(summary, `Each element of "`+name+`" must be a reference, written without quotes: `+name+" = ["+shape+"].", elem.Range())
			continue
		}
		args = append(args, a)
	}
	return args
}

// dependency is an element of depends_on: a workstream, or the instances of a block that a for
// expression chooses.
type dependency struct {
	block *argument // the reference to the workstream or block
	keys  *argument // of a for expression: the same, but with the key of each instance as its value; else nil
}

func (dep *dependency) ref() reference { return dep.block.refs[0] }

// usesEach reports whether the instances of a block have different dependencies here.
func (dep *dependency) usesEach() bool {
	key := dep.keys
	if key == nil {
		key = dep.ref().keyExpr
	}
	return key != nil && key.kinds&kindEach != 0
}

// choosesInstances reports whether the element stands for instances, not for a whole block.
func (dep *dependency) choosesInstances() bool {
	return dep.keys != nil || dep.ref().hasKey || dep.ref().keyExpr != nil
}

const (
	dependencyList    = `"depends_on" must be a list of references: depends_on = [workstream.NAME].`
	dependencyElement = `Each element of "depends_on" must be a reference, written without quotes: depends_on = [workstream.NAME].`
	dependencyLoop    = `A for expression in "depends_on" must give instances: depends_on = [for key in LIST : workstream.NAME[key]].`
)

// dependencies decodes depends_on: a list of references, a for expression, or several of these
// joined with concat.
func (d *decoder) dependencies(content *hclsyntax.Body) []*dependency {
	attr, ok := content.Attributes["depends_on"]
	if !ok {
		return nil
	}
	return d.dependenciesIn(attr, attr.Expr)
}

func (d *decoder) dependenciesIn(attr *hclsyntax.Attribute, expr hclsyntax.Expression) []*dependency {
	var all []*dependency
	switch expr := withoutParentheses(expr).(type) {
	case *hclsyntax.TupleConsExpr:
		for _, elem := range expr.Exprs {
			a := newArgument(attr.Name, attr.NameRange, elem, d.source)
			if !a.isReference(kindWorkstream) {
				d.report("Invalid dependency", dependencyElement, elem.Range())
				continue
			}
			all = append(all, &dependency{block: a})
		}
	case *hclsyntax.ForExpr:
		if dep := d.dependencyLoop(attr, expr); dep != nil {
			all = append(all, dep)
		} else {
			d.report("Invalid dependency", dependencyLoop, expr.Range())
		}
	case *hclsyntax.FunctionCallExpr:
		if expr.Name != "concat" || expr.ExpandFinal {
			d.report("Invalid dependency", dependencyList, expr.Range())
			break
		}
		for _, arg := range expr.Args {
			all = append(all, d.dependenciesIn(attr, arg)...)
		}
	default:
		d.report("Invalid dependency", dependencyList, expr.Range())
	}
	return all
}

// dependencyLoop decodes [for key in LIST : workstream.NAME[key]]. It returns nil if the
// expression has another form.
func (d *decoder) dependencyLoop(attr *hclsyntax.Attribute, loop *hclsyntax.ForExpr) *dependency {
	index, ok := withoutParentheses(loop.ValExpr).(*hclsyntax.IndexExpr)
	if !ok || loop.KeyExpr != nil {
		return nil
	}
	collection, ok := index.Collection.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		return nil
	}
	block := newArgument(attr.Name, attr.NameRange, collection, d.source)
	if !block.isReference(kindWorkstream) {
		return nil
	}
	keys := *loop
	keys.ValExpr = index.Key
	return &dependency{block: block, keys: newArgument(attr.Name, attr.NameRange, &keys, d.source)}
}

// isReference reports whether the expression is a single reference of the given kind, to
// a whole workstream or gate and not to an attribute of one.
func (a *argument) isReference(kind kinds) bool {
	switch a.expr.(type) {
	case *hclsyntax.ScopeTraversalExpr, *hclsyntax.IndexExpr:
	default:
		return false
	}
	return len(a.refs) > 0 && a.refs[0].kind == kind && a.refs[0].name != "" && len(a.refs[0].rest) == 0 &&
		(len(a.refs) == 1 || a.refs[0].keyExpr != nil)
}

// resolveDependencies resolves the depends_on of all blocks. Each block is resolved after the
// blocks that it depends on: first between blocks, then between instances. In both it finds
// cycles, and the depth of each workstream in its phase.
func (b *builder) resolveDependencies() {
	for _, def := range b.blocks {
		b.blockEdges(def)
	}
	w := &cycleWalk{b: b, state: map[*workstreamDef]int{}}
	for _, def := range b.blocks {
		w.visitBlock(def)
	}
}

// blockEdges records the blocks that a block depends on.
func (b *builder) blockEdges(def *workstreamDef) {
	def.uniform = true
	for _, dep := range def.block.dependsOn {
		ref := dep.ref()
		fr := constantFrame(noEach)
		if def.forEach {
			fr.allow |= kindEach
		}
		known := dep.keys == nil || b.checkArgument(dep.keys, fr)
		fr.allow |= kindWorkstream
		if !b.checkArgument(dep.block, fr) || !known {
			continue
		}
		def.uniform = def.uniform && !dep.usesEach()
		other := b.scope.blocks[ref.name]
		switch {
		case dep.keys != nil && !other.forEach:
			b.errorf("Invalid reference", ref.rng, "The workstream %s has no for_each, so it has no instances to choose from; write workstream.%s.", ref.name, ref.name)
		case other == def && dep.choosesInstances():
			def.ownEdges, def.uniform = true, false
		case other == def:
			b.errorf("Dependency on itself", ref.rng, "The workstream %s cannot depend on itself. Remove it from its depends_on.", def.block.name)
		case other.phase.phase.Number > def.phase.phase.Number:
			b.errorf("Dependency on a later phase", ref.rng, "%s is in phase %q, which runs after phase %q. Move one of the two workstreams, or reorder the phases.",
				ref.source(), other.phase.phase.Name, def.phase.phase.Name)
		default:
			def.edges = append(def.edges, other)
		}
	}
}

// cycleWalk is a depth-first walk over the blocks, which finds cycles and
// the depth of each block in its phase.
type cycleWalk struct {
	b     *builder
	state map[*workstreamDef]int
	path  []*workstreamDef
}

func (w *cycleWalk) visitBlock(def *workstreamDef) {
	switch w.state[def] {
	case visited:
		return
	case visiting:
		start := slices.Index(w.path, def)
		names := make([]string, 0, len(w.path)-start+1)
		for _, on := range append(slices.Clone(w.path[start:]), def) {
			names = append(names, "workstream."+on.block.name)
		}
		w.b.cycle(def, names)
		return
	}
	w.state[def] = visiting
	w.path = append(w.path, def)
	def.batch = 1
	for _, other := range def.edges {
		w.visitBlock(other)
		if other.phase == def.phase {
			def.batch = max(def.batch, other.lastBatch+1)
		}
	}
	w.path = w.path[:len(w.path)-1]
	w.state[def] = visited
	w.b.instanceEdges(def)
	w.b.setBatches(def)
}

// cycle reports workstreams that wait for each other.
func (b *builder) cycle(def *workstreamDef, names []string) {
	b.errorf("Dependency cycle", def.block.block.DefRange(), "These workstreams wait for each other: %s. Remove one of the dependencies.", strings.Join(names, " → "))
}

// instanceEdges sets the dependencies of every instance. If all instances of a block
// have the same dependencies, they share one list.
func (b *builder) instanceEdges(def *workstreamDef) {
	b.forEachEdges(def)
	var targets []target
	var names []string
	for i, ws := range def.instances {
		if i == 0 || !def.uniform {
			targets = b.dependencies(def, ws)
			names = withInstances(nil, targets)
		}
		ws.deps, ws.DependsOn = targets, names
	}
}

func (b *builder) dependencies(def *workstreamDef, ws *Workstream) []target {
	var targets []target
	if def.unexpanded {
		targets = slices.Clone(def.over)
	}
	for _, dep := range def.block.dependsOn {
		other := b.scope.blocks[dep.ref().name]
		if !b.checked[dep.block] || other == nil || other != def && !slices.Contains(def.edges, other) || other == def && !dep.choosesInstances() {
			continue
		}
		if dep.keys != nil {
			targets = append(targets, b.chosenInstances(dep, other, ws)...)
			continue
		}
		t, ok, diags := b.scope.target(dep.ref(), constantFrame(ws.each))
		b.addDiagnostics(diags)
		if ok {
			targets = append(targets, t)
		}
	}
	return targets
}

// chosenInstances returns the instances of a block that a for expression chooses.
func (b *builder) chosenInstances(dep *dependency, of *workstreamDef, ws *Workstream) []target {
	keys := b.stringList(dep.keys, constantFrame(ws.each))
	var targets []target
	for i, key := range keys {
		if of.unknownKeys || slices.Contains(keys[:i], key) {
			continue
		}
		instance := of.byKey[key]
		if instance == nil {
			b.addDiagnostics(hcl.Diagnostics{of.noInstance(key, dep.keys.exprRange())})
			continue
		}
		targets = append(targets, target{def: of, instance: instance})
	}
	return targets
}

// setBatches sets the batch of each instance of a block: behind the instances of the same block
// that it depends on. It reports instances that wait for each other.
func (b *builder) setBatches(def *workstreamDef) {
	def.lastBatch = def.batch
	state := map[*Workstream]int{}
	var path []*Workstream
	var visit func(ws *Workstream)
	visit = func(ws *Workstream) {
		switch state[ws] {
		case visited:
			return
		case visiting:
			var names []string
			for _, on := range append(slices.Clone(path[slices.Index(path, ws):]), ws) {
				names = append(names, "workstream."+on.Name)
			}
			b.cycle(def, names)
			return
		}
		state[ws] = visiting
		path = append(path, ws)
		ws.Batch = def.batch
		for _, dep := range ws.deps {
			if dep.def == def && dep.instance != nil {
				visit(dep.instance)
				ws.Batch = max(ws.Batch, dep.instance.Batch+1)
			}
		}
		def.lastBatch = max(def.lastBatch, ws.Batch)
		path = path[:len(path)-1]
		state[ws] = visited
	}
	for _, ws := range def.instances {
		if !def.ownEdges {
			ws.Batch = def.batch
			continue
		}
		visit(ws)
	}
}

// position is a moment of the run at which an expression is evaluated. It tells which
// results are certain to be known then.
type position struct {
	phase     *Phase
	ws        *Workstream  // nil: the start of the phase
	gate      *gateBlock   // the gate of ws or phase that is judged, nil if it is none
	earlier   []*gateBlock // the gates that are judged before that gate
	inclusive bool         // after ws has completed; if ws is nil, after the whole phase
	forEach   bool         // a for_each that uses results, at the start of the phase
	what      string       // for messages: "the workstream "
	name      string       // of the workstream or phase, for messages
}

// position is the start of the workstream.
func (w *Workstream) position() position {
	return position{phase: w.Phase, ws: w, what: "the workstream ", name: w.Name}
}

// position is the moment before the phase starts, when its when is evaluated.
func (p *Phase) position() position {
	return position{phase: p, what: "the phase ", name: p.Name}
}

// position is the moment after the workstream or phase of the gate has completed.
func (g *Gate) position() position {
	pos := g.Phase.position()
	if g.Workstream != nil {
		pos = position{phase: g.Phase, ws: g.Workstream, what: "a gate of the workstream ", name: g.Workstream.Name}
	}
	pos.inclusive, pos.gate, pos.earlier = true, g.def.block, g.def.earlier
	return pos
}

func (pos position) describe() string { return pos.what + pos.name }

// checkOrder checks that every workstream that an argument refers to is certain to have
// completed at a position. It returns these workstreams.
func (b *builder) checkOrder(a *argument, fr frame, pos position) []target {
	b.checkIteration(a, pos)
	if a == nil || a.kinds&kindWorkstream == 0 && !a.readsFiles {
		return nil
	}
	targets := b.checkReads(a, pos)
	for _, ref := range a.refs {
		if ref.kind != kindWorkstream || (ref.keyExpr != nil || ref.loopKeys != nil) && !b.checked[a] {
			continue
		}
		named, complete, diags := b.scope.targets(ref, fr)
		b.addDiagnostics(diags)
		walk := pos.walkTo(named...)
		for _, t := range named {
			if !t.def.forEach {
				t.instance = nil
			}
			switch reason := pos.reachesOn(walk, t); {
			case reason == "":
				targets = append(targets, t)
			case complete:
				b.errorf("Result of a workstream that does not run earlier", ref.rng, "%s", reason)
			}
		}
	}
	return targets
}

// walkTo returns a walk to targets, for reachesOn. It is nil at the start or end of a phase.
func (pos position) walkTo(targets ...target) *waitWalk {
	if pos.ws == nil {
		return nil
	}
	return pos.ws.walkTo(targets...)
}

// reaches returns why a target is not certain to have completed at a position, or "" if
// it is certain.
func (pos position) reaches(t target) string { return pos.reachesOn(pos.walkTo(t), t) }

// reachesOn is reaches for one of the targets of a walk.
func (pos position) reachesOn(walk *waitWalk, t target) string {
	failed := func(detail ...string) string { return strings.Join(detail, "") }
	other := t.def.phase.phase
	switch {
	case other.Number < pos.phase.Number:
		return ""
	case other.Number > pos.phase.Number:
		return failed(t.written(), " is in the later phase \"", other.Name, "\", so ", pos.describe(), " cannot use its result.")
	case pos.ws == nil && pos.inclusive:
		return ""
	case pos.ws == nil && pos.forEach:
		return failed(t.written(), " is in this very phase, and ", pos.describe(), " is evaluated when the phase begins. Move ", pos.name, " to a later phase.")
	case pos.ws == nil:
		return failed(t.written(), " is in this very phase, so its result is not there when it is decided whether ", pos.describe(), " runs. Refer to an earlier phase.")
	case t.def == pos.ws.def && (pos.inclusive && (t.instance == nil && !t.def.forEach || t.instance == pos.ws)):
		return ""
	case walk.finds(t):
		return ""
	case t.def == pos.ws.def && t.instance == nil && t.def.forEach:
		return failed(t.written(), " stands for all instances of the block here, and ", pos.describe(), " belongs to one of them. It can use the results of instances on which that one depends, by keys that are known without a result: ", t.written(), "[\"KEY\"].")
	case t.def == pos.ws.def && (t.instance == nil || t.instance == pos.ws):
		return failed("T", pos.describe()[1:], " cannot use its own result. Its own gates can.")
	}
	return failed("It is not certain that ", t.written(), " has completed before ", pos.describe(), " starts. Add ", t.written(), " to depends_on of ", pos.ws.Block, ".")
}

// MayRunWith reports whether two workstreams of a phase may run at the same time.
func (w *Workstream) MayRunWith(other *Workstream) bool {
	return w != other && !w.waitsFor(other.target()) && !other.waitsFor(w.target())
}

// batch returns the batch of the target, that of its last instance if it is a whole block.
func (t target) batch() int {
	if t.instance != nil {
		return t.instance.Batch
	}
	return t.def.lastBatch
}

// waitsFor reports whether the workstream waits for the target through depends_on, directly
// or through other workstreams.
func (w *Workstream) waitsFor(t target) bool { return w.walkTo(t).finds(t) }

// waitWalk is a breadth-first walk from a workstream over those that it waits for in its phase.
// It goes on where it was when it looks for another target, so that looking for many takes no
// longer than one walk.
type waitWalk struct {
	phase *phaseDef
	batch int      // the first batch of the targets: only larger ones wait for them
	queue []target // dependencies to look at
	seen  map[target]bool
	steps int // how many dependencies it has looked at
}

// walkTo begins a walk that can find the given targets.
func (w *Workstream) walkTo(targets ...target) *waitWalk {
	walk := &waitWalk{phase: w.def.phase, batch: math.MaxInt, queue: slices.Clip(w.deps), seen: map[target]bool{}}
	for _, t := range targets {
		if t.def.phase == walk.phase {
			walk.batch = min(walk.batch, t.batch())
		}
	}
	return walk
}

// finds reports whether the workstream waits for the target.
func (walk *waitWalk) finds(t target) bool {
	whole := target{def: t.def}
	for !walk.seen[t] && !walk.seen[whole] {
		if len(walk.queue) == 0 {
			return false
		}
		walk.step()
	}
	return true
}

// step looks at one dependency.
func (walk *waitWalk) step() {
	dep := walk.queue[0]
	walk.queue = walk.queue[1:]
	walk.steps++
	if walk.seen[dep] {
		return
	}
	walk.seen[dep] = true
	if dep.def.phase != walk.phase || dep.batch() <= walk.batch {
		return
	}
	for i, ws := range dep.instances() {
		if i == 0 || !dep.def.uniform {
			walk.queue = append(walk.queue, ws.deps...)
		}
	}
}
