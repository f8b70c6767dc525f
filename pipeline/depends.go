package pipeline

import (
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

// resolveDependencies resolves the depends_on of all blocks. It begins with dependencies
// between blocks, in which it finds cycles, and continues with those between instances.
func (b *builder) resolveDependencies() {
	for _, def := range b.blocks {
		b.blockEdges(def)
	}
	w := &cycleWalk{b: b, state: map[*workstreamDef]int{}}
	for _, def := range b.blocks {
		w.visitBlock(def)
	}
	for _, def := range b.blocks {
		b.instanceEdges(def)
	}
}

// blockEdges records the blocks that a block depends on.
func (b *builder) blockEdges(def *workstreamDef) {
	def.uniform = true
	for _, a := range def.block.dependsOn {
		ref := a.refs[0]
		fr := constantFrame(noEach)
		fr.allow |= kindWorkstream
		if def.forEach {
			fr.allow |= kindEach
		}
		if !b.checkArgument(a, fr) {
			continue
		}
		other := b.scope.blocks[ref.name]
		switch {
		case other == def:
			b.errorf("Dependency on itself", ref.rng, "The workstream %s cannot depend on itself. Remove it from its depends_on.", def.block.name)
		case other.phase.phase.Number > def.phase.phase.Number:
			b.errorf("Dependency on a later phase", ref.rng, "%s is in phase %q, which runs after phase %q. Move one of the two workstreams, or reorder the phases.",
				ref.source(), other.phase.phase.Name, def.phase.phase.Name)
		default:
			def.edges = append(def.edges, other)
			if ref.keyExpr != nil && ref.keyExpr.kinds&kindEach != 0 {
				def.uniform = false
			}
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
		w.b.errorf("Dependency cycle", def.block.block.DefRange(), "These workstreams wait for each other: %s. Remove one of the dependencies.", strings.Join(names, " → "))
		return
	}
	w.state[def] = visiting
	w.path = append(w.path, def)
	def.batch = 1
	for _, other := range def.edges {
		w.visitBlock(other)
		if other.phase == def.phase {
			def.batch = max(def.batch, other.batch+1)
		}
	}
	w.path = w.path[:len(w.path)-1]
	w.state[def] = visited
}

// instanceEdges sets the dependencies of every instance. If all instances of a block
// have the same dependencies, they share one list.
func (b *builder) instanceEdges(def *workstreamDef) {
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
	for _, a := range def.block.dependsOn {
		if !b.checked[a] || !slices.Contains(def.edges, b.scope.blocks[a.refs[0].name]) {
			continue
		}
		t, ok, diags := b.scope.target(a.refs[0], constantFrame(ws.each))
		b.addDiagnostics(diags)
		if ok {
			targets = append(targets, t)
		}
	}
	return targets
}

// position is a moment of the run at which an expression is evaluated. It tells which
// results are certain to be known then.
type position struct {
	phase     *Phase
	ws        *Workstream  // nil: the start of the phase
	gate      *gateBlock   // the gate of ws or phase that is judged, nil if it is none
	earlier   []*gateBlock // the gates that are judged before that gate
	inclusive bool         // after ws has completed; if ws is nil, after the whole phase
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
		if ref.kind != kindWorkstream || ref.keyExpr != nil && !b.checked[a] {
			continue
		}
		t, ok, diags := b.scope.target(ref, fr)
		b.addDiagnostics(diags)
		if !ok {
			continue
		}
		if !t.def.forEach {
			t.instance = nil
		}
		if reason := pos.reaches(t); reason != "" {
			b.errorf("Result of a workstream that does not run earlier", ref.rng, "%s", reason)
			continue
		}
		targets = append(targets, t)
	}
	return targets
}

// reaches returns why a target is not certain to have completed at a position, or "" if
// it is certain.
func (pos position) reaches(t target) string {
	failed := func(detail ...string) string { return strings.Join(detail, "") }
	other := t.def.phase.phase
	switch {
	case other.Number < pos.phase.Number:
		return ""
	case other.Number > pos.phase.Number:
		return failed(t.written(), " is in the later phase \"", other.Name, "\", so ", pos.describe(), " cannot use its result.")
	case pos.ws == nil && pos.inclusive:
		return ""
	case pos.ws == nil:
		return failed(t.written(), " is in this very phase, so its result is not there when it is decided whether ", pos.describe(), " runs. Refer to an earlier phase.")
	case t.def == pos.ws.def && (pos.inclusive && (t.instance == nil && !t.def.forEach || t.instance == pos.ws)):
		return ""
	case t.def == pos.ws.def:
		return failed("T", pos.describe()[1:], " cannot use its own result or that of another instance of the same block. The workstream's own gates can use its own.")
	case pos.ws.waitsFor(t):
		return ""
	}
	return failed("It is not certain that ", t.written(), " has completed before ", pos.describe(), " starts. Add ", t.written(), " to depends_on of ", pos.ws.Block, ".")
}

// MayRunWith reports whether two workstreams of a phase may run at the same time.
func (w *Workstream) MayRunWith(other *Workstream) bool {
	return w != other && !w.waitsFor(other.target()) && !other.waitsFor(w.target())
}

// waitsFor reports whether the workstream waits for the target through depends_on, directly
// or through other workstreams.
func (w *Workstream) waitsFor(t target) bool {
	queue := slices.Clone(w.deps)
	seen := map[target]bool{}
	for len(queue) > 0 {
		dep := queue[0]
		queue = queue[1:]
		if dep.def == t.def && (dep.instance == nil || dep.instance == t.instance) {
			return true
		}
		if seen[dep] || dep.def.phase != t.def.phase || dep.def.batch <= t.def.batch {
			continue
		}
		seen[dep] = true
		for i, ws := range dep.instances() {
			if i == 0 || !dep.def.uniform {
				queue = append(queue, ws.deps...)
			}
		}
	}
	return false
}
