package pipeline

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// each holds each.key and each.value of an instance. Their object is created only when
// an expression refers to it: few do, and there may be many instances.
type each struct {
	key, value cty.Value
}

// noEach marks everything outside of for_each.
var noEach *each

func (e *each) object() cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"key": e.key, "value": e.value})
}

// expand makes the instances of a workstream block.
func (b *builder) expand(def *workstreamDef) {
	switch {
	case !def.forEach:
		def.addInstance(b, def.block.name, "", noEach)
		return
	case def.block.forEach.fromResults():
		b.expandFromResults(def)
		return
	case b.in.takenOver != nil:
		def.addInstances(b, b.in.takenOver.from.scope.blocks[def.block.name].eachOf())
		return
	}
	instances, ok := b.forEach(def.block.forEach)
	def.unknownKeys = !ok
	if !ok && b.in.Open {
		def.addInstance(b, UnexpandedName(def.block.name), "", &each{cty.UnknownVal(cty.String), cty.DynamicVal})
	}
	usable := slices.DeleteFunc(instances, func(e *each) bool { return !e.hasKey() })
	if len(usable) < len(instances) {
		b.errorf("Invalid for_each key", def.block.forEach.exprRange(), "%s", noKey)
		def.unknownKeys = true
	}
	def.addInstances(b, usable)
}

// noKey is why an element is refused.
const noKey = "A key of for_each is null or empty; keys name the instances."

// hasKey reports whether the element has a key that can name an instance.
func (e *each) hasKey() bool { return !e.key.IsNull() && e.key.AsString() != "" }

// addInstances makes an instance for each element of for_each.
func (def *workstreamDef) addInstances(b *builder, elements []*each) {
	def.byKey = make(map[string]*Workstream, len(elements))
	for _, e := range elements {
		key := e.key.AsString()
		name := def.block.name + "[" + strconv.Quote(key) + "]"
		def.byKey[key] = def.addInstance(b, name, key, e)
	}
}

// eachOf returns the elements of for_each.
func (def *workstreamDef) eachOf() []*each {
	all := make([]*each, len(def.instances))
	for i, ws := range def.instances {
		all[i] = ws.each
	}
	return all
}

// addInstance makes one instance.
func (def *workstreamDef) addInstance(b *builder, name, key string, e *each) *Workstream {
	ws := &Workstream{Name: name, Block: def.block.name, Key: key, Phase: def.phase.phase, Range: def.block.block.DefRange(), def: def, each: e}
	def.instances = append(def.instances, ws)
	if b.pipeline.byName[name] == nil {
		b.pipeline.byName[name] = ws
	}
	return ws
}

// forEach evaluates a for_each and returns its elements in order, or false if there is
// no value. It iterates over a set only once, because that sorts the set.
func (b *builder) forEach(a *argument) ([]*each, bool) {
	fr := constantFrame(noEach)
	fr.nullable, fr.partial = true, true
	if texts := b.setOfTexts(a, fr); texts != nil {
		return texts, true
	}
	value, ok := b.constant(a, fr, cty.DynamicPseudoType)
	if !ok {
		return nil, false
	}
	if mistake := unfitForEach(value); mistake != "" {
		b.errorf("Invalid for_each", a.exprRange(), "%s", mistake)
		return nil, false
	}
	if !value.IsWhollyKnown() {
		return nil, false // it depends on a value whose mistake was reported
	}
	return listElements(value), true
}

// listElements lists the elements of a value that is fit for for_each.
func listElements(value cty.Value) []*each {
	list := make([]*each, 0, value.LengthInt())
	for it := value.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		if value.Type().IsSetType() {
			key = elem
		}
		list = append(list, &each{key, elem})
	}
	return list
}

// setOfTexts evaluates for_each = toset([…]) without a cty set. Building and sorting
// that set took longer than all other work on a pipeline with thousands of instances. It
// returns nil for every expression other than a list of known texts that are not
// sensitive; the caller evaluates these in the ordinary way.
func (b *builder) setOfTexts(a *argument, fr frame) []*each {
	call, ok := a.expr.(*hclsyntax.FunctionCallExpr)
	if !ok || call.Name != "toset" || call.ExpandFinal || len(call.Args) != 1 || !b.checkArgument(a, fr) {
		return nil
	}
	list := &argument{name: a.name, nameRange: a.nameRange, expr: call.Args[0], refs: a.refs, kinds: a.kinds, calls: a.calls, readsFiles: a.readsFiles}
	value, diags := b.scope.evaluate(list, fr, cty.DynamicPseudoType)
	if typ := value.Type(); diags.HasErrors() || value.IsMarked() || !value.IsKnown() || value.IsNull() || !typ.IsTupleType() && !typ.IsListType() {
		return nil
	}
	elements := make([]*each, 0, value.LengthInt())
	for it := value.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		if elem.Type() != cty.String || elem.IsMarked() || !elem.IsKnown() || elem.IsNull() {
			return nil
		}
		elements = append(elements, &each{elem, elem})
	}
	slices.SortFunc(elements, func(x, y *each) int { return cmp.Compare(x.key.AsString(), y.key.AsString()) })
	return slices.CompactFunc(elements, func(x, y *each) bool { return x.key.AsString() == y.key.AsString() })
}

// unfitForEach returns why a value is neither a map, an object nor a set of strings, or
// "" if it is one.
func unfitForEach(value cty.Value) string {
	typ := value.Type()
	switch {
	case value.IsNull():
		return "for_each must be a map or a set of strings, not null."
	case typ.IsMapType(), typ.IsObjectType():
		return ""
	case typ.IsSetType() && (typ.ElementType() == cty.String || value.LengthInt() == 0): // an empty set is toset([])
		return ""
	case typ.IsListType(), typ.IsTupleType():
		return "for_each must be a map or a set of strings, not a list, because a list has no keys to name the instances by. For a list of strings write toset(…)."
	}
	return "for_each must be a map or a set of strings, not " + typ.FriendlyName() + "."
}
