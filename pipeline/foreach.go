package pipeline

import (
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// each is what each.key and each.value mean in an instance. The object is made
// when an expression refers to it: not many do, and there may be many instances.
type each struct {
	key, value cty.Value
}

// noEach is the each of everything outside of for_each.
var noEach *each

func (e *each) object() cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"key": e.key, "value": e.value})
}

// expand makes the instances of a workstream block.
func (b *builder) expand(def *workstreamDef) {
	if !def.forEach {
		def.add(b, def.block.name, "", noEach)
		return
	}
	def.byKey = map[string]*Workstream{}
	value, ok := b.forEach(def.block.forEach)
	if !ok {
		def.unknownKeys = true
		return
	}
	isSet := value.Type().IsSetType()
	for it := value.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		if isSet {
			key = elem
		}
		if key.IsNull() || key.AsString() == "" {
			b.errorf("Invalid for_each key", def.block.forEach.rng(), "A key of for_each is null or empty; keys name the instances.")
			def.unknownKeys = true
			continue
		}
		name := def.block.name + "[" + strconv.Quote(key.AsString()) + "]"
		def.byKey[key.AsString()] = def.add(b, name, key.AsString(), &each{key, elem})
	}
}

// add makes one instance.
func (def *workstreamDef) add(b *builder, name, key string, e *each) *Workstream {
	ws := &Workstream{Name: name, Block: def.block.name, Key: key, Phase: def.phase.phase, Range: def.block.block.DefRange, def: def, each: e}
	def.instances = append(def.instances, ws)
	if b.pipeline.byName[name] == nil {
		b.pipeline.byName[name] = ws
	}
	return ws
}

// forEach evaluates a for_each to a map, an object or a set of strings.
func (b *builder) forEach(a *argument) (cty.Value, bool) {
	fr := constantFrame(noEach)
	fr.nullable = true
	value, ok := b.constant(a, fr, cty.DynamicPseudoType)
	if !ok {
		return value, false
	}
	typ := value.Type()
	invalid := func(detail string) (cty.Value, bool) {
		b.errorf("Invalid for_each", a.rng(), "%s", detail)
		return value, false
	}
	switch {
	case value.IsNull():
		return invalid("for_each must be a map or a set of strings, not null.")
	case typ.IsMapType(), typ.IsObjectType():
		return value, true
	case typ.IsSetType() && typ.ElementType() == cty.String:
		return value, true
	case typ.IsSetType() && value.LengthInt() == 0:
		return value, true // toset([])
	case typ.IsListType(), typ.IsTupleType():
		return invalid("for_each must be a map or a set of strings, not a list, because a list has no keys to name the instances by. For a list of strings write toset(…).")
	}
	return invalid("for_each must be a map or a set of strings, not " + typ.FriendlyName() + ".")
}
