package pipeline

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/files"
)

// argument is an expression of the file, with the references and calls in it. Parse
// makes it once, and all instances and evaluations share it.
type argument struct {
	name      string
	nameRange hcl.Range
	expr      hclsyntax.Expression
	source    []byte // of the expression
	refs      []reference
	kinds     kinds // of all refs together
	calls     []*hclsyntax.FunctionCallExpr

	objects    []*hclsyntax.ObjectConsExpr
	readsFiles bool     // one of the calls is of a function that reads files
	texts      []string // the texts of a list of literal texts, which need no evaluation; nil for other expressions

	sumOnce sync.Once
	sum     string // set by tokenSum
}

func newArgument(name string, nameRange hcl.Range, expr hclsyntax.Expression, src []byte) *argument {
	a := &argument{name: name, nameRange: nameRange, expr: expr}
	if rng := expr.Range(); rng.CanSliceBytes(src) {
		a.source = rng.SliceBytes(src)
	}
	if a.texts = literalTexts(expr); a.texts != nil {
		return a // it refers to nothing
	}
	refers := false
	// The visitor never returns diagnostics.
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		switch node := node.(type) {
		case *hclsyntax.FunctionCallExpr:
			a.calls = append(a.calls, node)
			a.readsFiles = a.readsFiles || files.Provides(node.Name)
		case *hclsyntax.ScopeTraversalExpr:
			refers = true
		case *hclsyntax.ObjectConsExpr:
			a.objects = append(a.objects, node)
		}
		return nil
	})
	if refers {
		a.refs = findReferences(expr)
	}
	for _, ref := range a.refs {
		a.kinds |= ref.kind
	}
	return a
}

// literalTexts returns the elements of a list of quoted texts without anything to
// evaluate, as in most commands and globs. It returns nil for any other expression.
func literalTexts(expr hclsyntax.Expression) []string {
	list, ok := expr.(*hclsyntax.TupleConsExpr)
	if !ok {
		return nil
	}
	texts := make([]string, len(list.Exprs))
	for i, elem := range list.Exprs {
		template, ok := elem.(*hclsyntax.TemplateExpr)
		if !ok || !template.IsStringLiteral() {
			return nil
		}
		value := template.Parts[0].(*hclsyntax.LiteralValueExpr).Val
		if value.Type() != cty.String || !value.IsKnown() || value.IsNull() {
			return nil
		}
		texts[i] = value.AsString()
	}
	return texts
}

// exprRange is the range of the expression.
func (a *argument) exprRange() hcl.Range { return a.expr.Range() }

// element returns the range of element i of a list that the file writes out with n
// elements. For any other expression it returns the range of the whole expression.
func (a *argument) element(i, n int) hcl.Range {
	if list, ok := withoutParentheses(a.expr).(*hclsyntax.TupleConsExpr); ok && len(list.Exprs) == n {
		return list.Exprs[i].Range()
	}
	return a.exprRange()
}

func withoutParentheses(expr hclsyntax.Expression) hclsyntax.Expression {
	for {
		outer, ok := expr.(*hclsyntax.ParenthesesExpr)
		if !ok {
			return expr
		}
		expr = outer.Expression
	}
}

// tokenSum is the digest of the expression's tokens, so that neither
// whitespace nor comments count.
func (a *argument) tokenSum() string {
	a.sumOnce.Do(func() { a.sum = a.sumTokens() })
	return a.sum
}

func (a *argument) sumTokens() string {
	h := sha256.New()
	tokens, _ := hclsyntax.LexExpression(a.source, "", hcl.InitialPos)
	for _, token := range tokens {
		if token.Type == hclsyntax.TokenComment || token.Type == hclsyntax.TokenNewline || token.Type == hclsyntax.TokenEOF {
			continue
		}
		// A hash never fails to write.
		_, _ = fmt.Fprintf(h, "%d:%d:%s", token.Type, len(token.Bytes), token.Bytes)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
