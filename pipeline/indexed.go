package pipeline

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// indexedReference is workstream.X[expression], which is not a single traversal in HCL.
type indexedReference struct {
	key   *argument
	loops bool // key gives all keys that the variables of for expressions give, in nested lists
	rest  hcl.Traversal
	rng   hcl.Range
}

// findIndexed finds every workstream.X[expression] whose keys can be evaluated without
// results, by the offset of its beginning. If a key needs a result, the reference is one to the
// whole block.
func findIndexed(expr hclsyntax.Expression) map[int]indexedReference {
	w := &indexWalk{}
	_ = hclsyntax.Walk(expr, w) // the walk never returns diagnostics
	if w.shadowed {
		return nil // a key may refer to the variable of a for expression
	}
	return w.found
}

// indexWalk finds indexed references, and the for expressions around them.
type indexWalk struct {
	found    map[int]indexedReference
	open     []*hclsyntax.ForExpr // around the present node, the innermost last
	loops    []*hclsyntax.ForExpr // those of open whose variables the present node may use
	shadowed bool                 // a variable hides a reference
}

// Enter is called before the children of a node are visited.
func (w *indexWalk) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch node := node.(type) {
	case *hclsyntax.ForExpr:
		w.open = append(w.open, node)
		w.shadowed = w.shadowed || rootKinds[node.KeyVar] != 0 || rootKinds[node.ValVar] != 0
	case hclsyntax.ChildScope: // all of the for expression but its collection
		w.loops = append(w.loops, w.open[len(w.open)-1])
	case *hclsyntax.RelativeTraversalExpr:
		if index, ok := node.Source.(*hclsyntax.IndexExpr); ok {
			w.index(index, node.Traversal, node.Range())
		}
	case *hclsyntax.IndexExpr:
		w.index(node, nil, node.Range())
	}
	return nil
}

// Exit is called after the children of a node were visited.
func (w *indexWalk) Exit(node hclsyntax.Node) hcl.Diagnostics {
	switch node.(type) {
	case *hclsyntax.ForExpr:
		w.open = w.open[:len(w.open)-1]
	case hclsyntax.ChildScope:
		w.loops = w.loops[:len(w.loops)-1]
	}
	return nil
}

func (w *indexWalk) index(index *hclsyntax.IndexExpr, rest hcl.Traversal, rng hcl.Range) {
	coll, ok := index.Collection.(*hclsyntax.ScopeTraversalExpr)
	if !ok || coll.Traversal.RootName() != "workstream" || len(coll.Traversal) != 2 {
		return
	}
	start := coll.Range().Start.Byte
	if _, seen := w.found[start]; seen {
		return // already found as a part of a longer traversal
	}
	key, loops := index.Key, !staticKey(index.Key)
	if loops {
		key = keysOfLoops(index.Key, w.loops)
	}
	a := newArgument("key", index.Key.Range(), key, nil)
	if !staticKey(key) || loops && a.readsFiles {
		return
	}
	if w.found == nil {
		w.found = map[int]indexedReference{}
	}
	w.found[start] = indexedReference{key: a, loops: loops, rest: rest, rng: rng}
}

// keysOfLoops returns an expression for all keys that a key stands for, in nested lists: for the
// key of [for name in local.names : workstream.package[name].status] it is
// [for name in local.names : name]. It uses as few of the for expressions as it can. A condition
// that needs a result is left out, so there may be more keys than are used.
func keysOfLoops(key hclsyntax.Expression, loops []*hclsyntax.ForExpr) hclsyntax.Expression {
	for _, loop := range slices.Backward(loops) {
		if staticKey(key) {
			break
		}
		keys := *loop
		keys.KeyExpr, keys.ValExpr, keys.Group = nil, key, false
		if keys.CondExpr != nil && refersBeyond(keys.CondExpr, kindStatic) {
			keys.CondExpr = nil
		}
		key = &keys
	}
	return key
}

// staticKey reports whether an expression can be evaluated without results.
func staticKey(key hclsyntax.Expression) bool {
	for _, traversal := range hclsyntax.Variables(key) {
		if rootKinds[traversal.RootName()]&kindStatic == 0 {
			return false
		}
	}
	return true
}

// refersBeyond reports whether an expression has a reference of another kind. Variables of for
// expressions are no references.
func refersBeyond(expr hclsyntax.Expression, allowed kinds) bool {
	for _, traversal := range hclsyntax.Variables(expr) {
		if kind := rootKinds[traversal.RootName()]; kind&^allowed != 0 {
			return true
		}
	}
	return false
}
