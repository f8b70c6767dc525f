package functions

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// collectionFunc returns tolist, toset or tomap. cty's general conversion compares the
// type of every element with that of every other, which takes seconds for thousands of
// elements, as a for_each may have. If all elements have the same primitive type, as is
// usual, no comparison is needed.
func collectionFunc(of func(cty.Type) cty.Type) function.Function {
	general := stdlib.MakeToFunc(of(cty.DynamicPseudoType))
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true, AllowMarked: true}},
		Type: func(args []cty.Value) (cty.Type, error) {
			if elem, ok := uniformElement(args[0], of); ok {
				return of(elem), nil
			}
			return general.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
			if _, ok := uniformElement(args[0], of); !ok {
				return general.Call(args)
			}
			value, marks := args[0].Unmark()
			switch {
			case retType.IsMapType():
				return cty.MapVal(value.AsValueMap()).WithMarks(marks), nil
			case retType.IsSetType():
				return cty.SetVal(value.AsValueSlice()).WithMarks(marks), nil
			}
			return cty.ListVal(value.AsValueSlice()).WithMarks(marks), nil
		},
	})
}

// uniformElement returns the primitive type that all elements of a tuple have in common,
// or, for a map, all attributes of an object. It returns false if there is none.
func uniformElement(value cty.Value, of func(cty.Type) cty.Type) (cty.Type, bool) {
	typ := value.Type()
	if bare, _ := value.Unmark(); !bare.IsKnown() || bare.IsNull() {
		return cty.NilType, false
	}
	var elem cty.Type
	same := func(t cty.Type) bool {
		if elem == cty.NilType {
			elem = t
		}
		return t.IsPrimitiveType() && t == elem // types that are not primitive can't be compared so cheaply
	}
	switch {
	case typ.IsTupleType() && !of(cty.String).IsMapType():
		for _, t := range typ.TupleElementTypes() {
			if !same(t) {
				return cty.NilType, false
			}
		}
	case typ.IsObjectType() && of(cty.String).IsMapType():
		for _, t := range typ.AttributeTypes() {
			if !same(t) {
				return cty.NilType, false
			}
		}
	}
	return elem, elem != cty.NilType
}
