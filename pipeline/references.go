package pipeline

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// kinds is a set of kinds of reference.
type kinds uint16

const (
	kindVar kinds = 1 << iota
	kindLocal
	kindEach
	kindPipeline
	kindWorkstream
	kindMetric
	kindRun
	kindIteration
	kindIssue
	kindAgent     // allowed only in the argument "agent", which is not evaluated
	kindGate      // also in the argument "gates", which is not evaluated
	kindService   // in processes, and in the argument "services", which is not evaluated
	kindSavepoint // allowed only in the argument "savepoints", which is not evaluated
	kindSecret    // allowed only in arguments of processes
	kindInvalid   // an unknown name
)

// kindDeferred are the kinds whose values are known only during the run.
const kindDeferred = kindWorkstream | kindMetric | kindRun | kindIteration | kindGate | kindIssue

// kindStatic are the kinds that are allowed in a key of workstream.X[…].
const kindStatic = kindVar | kindLocal | kindEach | kindPipeline

var rootKinds = map[string]kinds{
	"var": kindVar, "local": kindLocal, "each": kindEach, "pipeline": kindPipeline,
	"workstream": kindWorkstream, "metric": kindMetric, "run": kindRun, "iteration": kindIteration, "issue": kindIssue, "agent": kindAgent, "gate": kindGate, "savepoint": kindSavepoint, "service": kindService, "secret": kindSecret,
}

// reference is a reference to a value in an expression.
type reference struct {
	kind      kinds
	name      string        // the name after the root, as in var.NAME; "" if it is missing or not allowed
	rest      hcl.Traversal // the steps after the name and, for a workstream, the key
	key       string        // of workstream.X["key"]
	hasKey    bool
	keyExpr   *argument // of workstream.X[expression]
	traversal hcl.Traversal
	rng       hcl.Range
}

// source returns the reference as an author would write it, without the steps in rest.
func (r reference) source() string {
	if r.name == "" {
		return r.traversal.RootName()
	}
	s := r.traversal.RootName() + "." + r.name
	switch {
	case r.hasKey:
		return fmt.Sprintf("%s[%q]", s, r.key)
	case r.keyExpr != nil:
		return s + "[…]"
	}
	return s
}

// attribute returns the first step after name and key, if there is one.
func (r reference) attribute() (string, hcl.Range, bool) {
	if len(r.rest) == 0 {
		return "", r.rng, false
	}
	name, _ := stepName(r.rest[0])
	return name, r.rest[0].SourceRange(), true
}

// findReferences lists the references in an expression, in source order.
func findReferences(expr hclsyntax.Expression) []reference {
	indexed := findIndexed(expr)
	var refs []reference
	for _, traversal := range hclsyntax.Variables(expr) {
		ref := newReference(traversal)
		if ix, ok := indexed[ref.rng.Start.Byte]; ok && ref.kind == kindWorkstream && len(traversal) == 2 {
			ref.keyExpr = newArgument("key", ix.key.Range(), ix.key, nil)
			ref.rest = ix.rest
			ref.rng = hcl.RangeBetween(ref.rng, ix.rng)
		}
		refs = append(refs, ref)
	}
	return refs
}

func newReference(traversal hcl.Traversal) reference {
	ref := reference{traversal: traversal, rng: traversal.SourceRange(), kind: kindInvalid}
	if kind, ok := rootKinds[traversal.RootName()]; ok {
		ref.kind = kind
	}
	if len(traversal) < 2 {
		return ref
	}
	attr, isAttr := traversal[1].(hcl.TraverseAttr)
	switch {
	case isAttr:
		ref.name = attr.Name
	case ref.kind == kindMetric:
		// Metrics are named by programs, so their names need not be identifiers.
		ref.name, _ = stepName(traversal[1])
	default:
		return ref
	}
	ref.rest = traversal[2:]
	if ref.kind == kindWorkstream && len(ref.rest) > 0 {
		if index, ok := ref.rest[0].(hcl.TraverseIndex); ok {
			ref.key, ref.hasKey = stepName(index)
			ref.rest = ref.rest[1:]
		}
	}
	return ref
}

// stepName returns the name of an attribute or of a constant key.
func stepName(step hcl.Traverser) (string, bool) {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String && step.Key.IsKnown() && !step.Key.IsNull() {
			return step.Key.AsString(), true
		}
		if step.Key.Type() == cty.Number && step.Key.IsKnown() && !step.Key.IsNull() {
			return step.Key.AsBigFloat().Text('f', -1), true
		}
	}
	return "", false
}

// indexedReference is workstream.X[expression], which is not a single traversal in HCL.
type indexedReference struct {
	key  hclsyntax.Expression
	rest hcl.Traversal
	rng  hcl.Range
}

// findIndexed finds every workstream.X[expression] whose key can be evaluated without
// results, by the offset of its beginning. If the key uses another value, such as a
// result or the variable of a for expression, the reference is one to the whole block.
func findIndexed(expr hclsyntax.Expression) map[int]indexedReference {
	var found map[int]indexedReference
	shadowed := false
	// The visitor never returns diagnostics.
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		if loop, ok := node.(*hclsyntax.ForExpr); ok {
			shadowed = shadowed || rootKinds[loop.KeyVar] != 0 || rootKinds[loop.ValVar] != 0
		}
		var rest hcl.Traversal
		rng := node.Range()
		relative, ok := node.(*hclsyntax.RelativeTraversalExpr)
		if ok {
			node, rest = relative.Source, relative.Traversal
		}
		index, ok := node.(*hclsyntax.IndexExpr)
		if !ok || !staticKey(index.Key) {
			return nil
		}
		coll, ok := index.Collection.(*hclsyntax.ScopeTraversalExpr)
		if !ok || coll.Traversal.RootName() != "workstream" || len(coll.Traversal) != 2 {
			return nil
		}
		start := coll.Range().Start.Byte
		if _, seen := found[start]; seen {
			return nil // already found as a part of a longer traversal
		}
		if found == nil {
			found = map[int]indexedReference{}
		}
		found[start] = indexedReference{key: index.Key, rest: rest, rng: rng}
		return nil
	})
	if shadowed {
		return nil // a key may refer to the variable of the for expression
	}
	return found
}

func staticKey(key hclsyntax.Expression) bool {
	for _, traversal := range hclsyntax.Variables(key) {
		if rootKinds[traversal.RootName()]&kindStatic == 0 {
			return false
		}
	}
	return true
}

// rootNames lists the roots of references, for messages.
func rootNames() string {
	return strings.Join([]string{"var", "local", "each", "pipeline", "workstream", "metric", "gate", "issue", "service", "run", "secret"}, ", ")
}
