package pipeline

import (
	"fmt"
	"slices"
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

// Following returns the names that can follow the beginning of a reference, whatever the file declares: those that follow its
// root, or, with behindName, those that follow the name of a declaration.
func Following(root string, behindName bool) []string {
	if behindName {
		switch root {
		case "workstream":
			return []string{"outputs", "artifacts", "status"}
		case "service":
			return []string{"port"}
		case "gate":
			return []string{"inputs"}
		}
		return nil
	}
	switch root {
	case "each":
		return []string{"key", "value"}
	case "pipeline":
		return []string{"id", "title", "type", "document"}
	case "run":
		return []string{"session", "attempt", "resumed"}
	case "iteration":
		return []string{"index"}
	case "issue":
		return []string{"number", "title", "body", "labels", "assignees"}
	}
	return nil
}

// Roots returns what a reference in an argument can begin with, sorted. Agents and savepoints can be named only where they are
// chosen.
func Roots(argument string) []string {
	only := map[string]string{"agent": "agent", "savepoint": "savepoints"}
	var roots []string
	for root := range rootKinds {
		if only[root] == "" || only[root] == argument {
			roots = append(roots, root)
		}
	}
	slices.Sort(roots)
	return roots
}

// reference is a reference to a value in an expression.
type reference struct {
	kind      kinds
	name      string        // the name after the root, as in var.NAME; "" if it is missing or not allowed
	rest      hcl.Traversal // the steps after the name and, for a workstream, the key
	key       string        // of workstream.X["key"]
	hasKey    bool
	keyExpr   *argument // of workstream.X[expression]
	loopKeys  *argument // of workstream.X[expression] with variables of for expressions: all keys, in nested lists
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
	case r.keyExpr != nil, r.loopKeys != nil:
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
			ref.rest = ix.rest
			if ix.loops {
				ref.loopKeys = ix.key
			} else {
				ref.keyExpr = ix.key
			}
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

// rootNames lists the roots of references, for messages.
func rootNames() string {
	return strings.Join([]string{"var", "local", "each", "pipeline", "workstream", "metric", "gate", "issue", "service", "run", "secret"}, ", ")
}
