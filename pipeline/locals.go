package pipeline

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// localDef is one named value of a locals block.
type localDef struct {
	name  string
	value *argument
}

func (d *decoder) decodeLocals(block *hclsyntax.Block) []*localDef {
	_, diags := block.Body.JustAttributes()
	d.diags = append(d.diags, diags...)
	var defs []*localDef
	for _, attr := range block.Body.Attributes {
		defs = append(defs, &localDef{name: attr.Name, value: d.newArgument(attr)})
	}
	slices.SortFunc(defs, func(a, b *localDef) int { return a.value.nameRange.Start.Byte - b.value.nameRange.Start.Byte })
	return defs
}

// orderLocals sorts locals so that each comes after the locals that it refers to. It
// reports cycles and leaves out the locals on a cycle.
func (b *builder) orderLocals() []*localDef {
	byName := map[string]*localDef{}
	for _, def := range b.file.locals {
		if byName[def.name] == nil {
			byName[def.name] = def
		}
	}
	w := &localWalk{b: b, byName: byName, state: map[string]int{}}
	for _, def := range b.file.locals {
		if byName[def.name] == def {
			w.visitLocal(def)
		}
	}
	return w.order
}

const (
	unvisited = iota
	visiting
	visited
	onCycle
)

// localWalk is a depth-first walk over the locals.
type localWalk struct {
	b      *builder
	byName map[string]*localDef
	state  map[string]int
	path   []string
	order  []*localDef
}

// visitLocal reports whether the value of the local can be evaluated.
func (w *localWalk) visitLocal(def *localDef) bool {
	switch w.state[def.name] {
	case visited:
		return true
	case onCycle:
		return false
	case visiting:
		start := slices.Index(w.path, def.name)
		cycle := append(slices.Clone(w.path[start:]), def.name)
		w.b.errorf("Cycle of locals", def.value.nameRange, "The value of %s depends on itself: %s. Break the cycle.",
			"local."+def.name, "local."+strings.Join(cycle, " → local."))
		return false
	}
	w.state[def.name] = visiting
	w.path = append(w.path, def.name)
	usable := true
	for _, ref := range def.value.refs {
		if next := w.byName[ref.name]; ref.kind == kindLocal && next != nil && !w.visitLocal(next) {
			usable = false
		}
	}
	w.path = w.path[:len(w.path)-1]
	if !usable {
		w.state[def.name] = onCycle
		return false
	}
	w.state[def.name] = visited
	w.order = append(w.order, def)
	return true
}

// evaluateLocals evaluates all locals, and records the variables that each uses.
func (b *builder) evaluateLocals() {
	for _, def := range b.file.locals {
		b.scope.locals[def.name] = &local{def: def, value: cty.DynamicVal}
	}
	for _, def := range b.orderLocals() {
		l := b.scope.locals[def.name]
		l.variables = b.scope.variablesOf(def.value)
		b.scope.order = append(b.scope.order, l)
		if value, ok := b.evaluate(def.value, frame{allow: kindVar | kindLocal, nullable: true}, cty.DynamicPseudoType); ok {
			l.value = value
		}
	}
	b.scope.setLocals()
}

// local is an evaluated local.
type local struct {
	def       *localDef
	value     cty.Value
	variables []string // all variables that it uses, also through other locals; sorted
}

// variablesOf lists the variables that arguments use, also through locals.
func (s *scope) variablesOf(arguments ...*argument) []string {
	names := map[string]bool{}
	for _, a := range arguments {
		if a == nil {
			continue
		}
		for _, ref := range a.refs {
			switch {
			case ref.kind == kindVar && s.variables[ref.name] != nil:
				names[ref.name] = true
			case ref.kind == kindLocal && s.locals[ref.name] != nil:
				for _, name := range s.locals[ref.name].variables {
					names[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
